"""`tidegate ledger show|check`: looks at a group's ledger, and changes nothing.

Rules: secrets come from the environment, never from arguments, which other users of a machine can
read. `show` is one listing; `check` reads each checkpoint as well, because a listing has no states.
Without the hub's connection string, and where the hub cannot be asked, all but the lag is told.
Exit codes: 0 all is well, 1 `check` found something, 2 the command cannot be carried out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace

from azure.eventhub.aio import EventHubConsumerClient
from azure.eventhub.exceptions import EventHubError

from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.findings import Range, Ranges, findings
from tidegate.ledger.layout import API_VERSION, GroupNames
from tidegate.ledger.survey import as_document, tables, told
from tidegate.model import Checkpoint, Flaw, Listing, PartitionId
from tidegate.ports import LedgerError, List, ReadCheckpoint, Refusal
from tidegate.settings import EVENTS_SECRET, SettingsError, split_url

LEDGER_SECRET = "TIDEGATE_LEDGER_CONNECTION_STRING"

_LEDGER_HELP = f"""\
the container's URL, such as https://NAME.blob.core.windows.net/CONTAINER, reached with the identity
of this machine; or the container's name alone, with the account's connection string in
{LEDGER_SECRET}"""
_GROUP_HELP = (
    "host/hub/group as the ledger has them, such as NAME.servicebus.windows.net/telemetry/$Default"
)
_SECRETS_HELP = f"""\
Secrets come from the environment: {LEDGER_SECRET} for the ledger, and {EVENTS_SECRET} for the hub,
which is asked for what lag needs to be known.
Exit codes: 0 all is well, 1 `check` found something, 2 the command cannot be carried out."""
# Checkpoints that are read at the same time.
_AT_ONCE = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `tidegate ledger` takes."""
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in (
        ("show", "print owners, epochs, ages and positions"),
        ("check", "print them, and what is wrong with what to do; exit code 1 if anything is"),
    ):
        action = actions.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}. Nothing is changed.",
            epilog=_SECRETS_HELP,
        )
        action.add_argument("--ledger", required=True, help=_LEDGER_HELP)
        action.add_argument("--group", required=True, metavar="HOST/HUB/GROUP", help=_GROUP_HELP)
        action.add_argument("--json", action="store_true", help="print one JSON document")
        action.add_argument(
            "--api-version", metavar="DATE", help="a storage API version for an older cloud"
        )


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Carries it out; what is wrong is one line on standard error."""
    try:
        return asyncio.run(_look(arguments, environment))
    except (SettingsError, LedgerError) as error:
        print(f"tidegate: {error}", file=sys.stderr)
        return 2


async def _look(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    names = group_names(arguments.group)
    secret = environment.get(LEDGER_SECRET)
    settings = blob_settings(arguments.ledger, arguments.api_version, secret)
    is_check = arguments.action == "check"
    listing = await read_listing(settings, names, is_whole=is_check)
    if not any((listing.ownerships, listing.checkpoints, listing.members, listing.flaws)):
        raise LedgerError(
            Refusal.MISSING,
            f"nothing in container '{settings.container}' is of the group {arguments.group}. "
            "Is the host as the ledger has it, with its port where it has one?",
        )
    ranges = await _ranges(environment.get(EVENTS_SECRET), names)
    found = findings(listing, ranges) if is_check else []
    if arguments.json:
        document = as_document(arguments.group, listing, ranges, found)
        print(json.dumps(document, indent=2))
    else:
        print(tables(listing, ranges))
        if is_check:
            print(f"\n{told(found)}")
    return 1 if found else 0


def blob_settings(ledger: str, api_version: str | None, secret: str | None) -> BlobSettings:
    """Where the ledger is. Raises SettingsError."""
    version = api_version or API_VERSION
    if "://" not in ledger:
        if not secret:
            raise SettingsError(
                f"--ledger {ledger}: set {LEDGER_SECRET} to the account's connection string, or "
                "give the container's whole URL"
            )
        return BlobSettings(ledger, connection_string=secret, api_version=version).checked()
    url = split_url(ledger, "--ledger")
    account, _, container = url.path.strip("/").rpartition("/")
    is_emulator = url.port is not None
    if not container or "/" in account or (account and not is_emulator):
        raise SettingsError(
            f"--ledger {url.netloc}{url.path}: the path of the URL names one container"
        )
    where = "/".join(filter(None, (f"{url.scheme}://{url.netloc}", account)))
    query = f"?{url.query}" if url.query else ""
    return BlobSettings(container, account_url=where + query, api_version=version).checked()


def group_names(text: str) -> GroupNames:
    """Raises SettingsError."""
    parts = text.split("/")
    if len(parts) != 3:
        raise SettingsError(f"--group {text}: write {_GROUP_HELP}")
    if not parts[2]:
        # A shell takes $Default for a variable of its own, which is empty.
        raise SettingsError(f"--group {text}: no consumer group: in a shell write '{text}$Default'")
    return GroupNames(*parts)


async def read_listing(settings: BlobSettings, names: GroupNames, *, is_whole: bool) -> Listing:
    """A listing; `is_whole` with the state of each checkpoint. Raises LedgerError."""
    ledger = BlobLedger(settings, names)
    try:
        listing = await ledger.perform(List())
        assert isinstance(listing, Listing)
        return await _with_states(ledger, listing) if is_whole else listing
    finally:
        await ledger.close()


async def _with_states(ledger: BlobLedger, listing: Listing) -> Listing:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def read(partition: PartitionId) -> Checkpoint | Flaw | None:
        async with gate:
            try:
                found = await ledger.perform(ReadCheckpoint(partition))
            except LedgerError as error:
                if error.refusal is not Refusal.INVALID:
                    raise
                return Flaw(f"checkpoint/{partition}", str(error), partition)
        assert found is None or isinstance(found, Checkpoint)
        return found

    whole = await asyncio.gather(*map(read, listing.checkpoints))
    return replace(
        listing,
        checkpoints={found.partition: found for found in whole if isinstance(found, Checkpoint)},
        flaws=(*listing.flaws, *(found for found in whole if isinstance(found, Flaw))),
    )


async def _ranges(connection_string: str | None, names: GroupNames) -> Ranges:
    """What the hub still has of each partition; nothing, and why, where it cannot be asked."""
    if not connection_string:
        print(
            f"tidegate: lag is unknown: set {EVENTS_SECRET} to the hub's connection string",
            file=sys.stderr,
        )
        return {}
    try:
        return await _read_ranges(connection_string, names)
    except EventHubError as error:
        said = str(error.message).splitlines()[0]
        print(f"tidegate: lag is unknown: the hub cannot be asked: {said}", file=sys.stderr)
    except ValueError:  # its text may quote the string
        print(f"tidegate: lag is unknown: {EVENTS_SECRET} is no connection string", file=sys.stderr)
    return {}


async def _read_ranges(connection_string: str, names: GroupNames) -> dict[PartitionId, Range]:
    client = EventHubConsumerClient.from_connection_string(
        connection_string, consumer_group=names.group, eventhub_name=names.hub, retry_total=1
    )
    async with client:
        found = {}
        for partition in await client.get_partition_ids():
            facts = await client.get_partition_properties(partition)
            found[partition] = Range(
                int(facts["beginning_sequence_number"]),
                int(facts["last_enqueued_sequence_number"]) + 1,
            )
        return found
