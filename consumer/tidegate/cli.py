"""The command line: `tidegate ledger show|check` and `tidegate send`.

Rules: secrets come from the environment, never from arguments, which other users of a machine can
read; what is wrong is one line on standard error. Exit codes: 0 all is well, 1 `check` found
something, 2 the command cannot be carried out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from urllib.parse import urlsplit

from azure.eventhub.aio import EventHubConsumerClient
from azure.eventhub.exceptions import EventHubError

from tidegate import commands as group_commands
from tidegate.ledger.access import API_VERSION, BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames
from tidegate.ledger.survey import Finding, Range, findings, rows, table
from tidegate.model import Listing, PartitionId
from tidegate.ports import LedgerError, List
from tidegate.sending import command as send
from tidegate.settings import EVENTS_SECRET, SettingsError

LEDGER_SECRET = "TIDEGATE_LEDGER_CONNECTION_STRING"

_LEDGER_HELP = f"""\
the container's URL, such as https://NAME.blob.core.windows.net/CONTAINER, reached with the identity
of this machine; or the container's name alone, with the account's connection string in
{LEDGER_SECRET}"""
_GROUP_HELP = (
    "host/hub/group as the ledger has them, such as NAME.servicebus.windows.net/telemetry/$Default"
)


class UsageError(Exception):
    """The command cannot be carried out as it was written."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tidegate", description="Consumer groups that share a ledger."
    )
    commands = top.add_subparsers(dest="command", required=True)
    send.add_to(commands)
    group_commands.add_to(commands)
    ledger = commands.add_parser("ledger", help="look at a group's ledger")
    actions = ledger.add_subparsers(dest="action", required=True)
    for name, text in (
        ("show", "print owners, epochs, ages and positions"),
        ("check", "the same, and what is wrong with what to do; exit code 1 if anything is"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("--ledger", required=True, help=_LEDGER_HELP)
        action.add_argument("--group", required=True, metavar="HOST/HUB/GROUP", help=_GROUP_HELP)
        action.add_argument(
            "--api-version", metavar="DATE", help="a storage API version for an older cloud"
        )
    return top


def blob_settings(ledger: str, api_version: str | None, secret: str | None) -> BlobSettings:
    """Where the ledger is. Raises UsageError or SettingsError."""
    version = api_version or API_VERSION
    if "://" not in ledger:
        if not secret:
            raise UsageError(
                f"--ledger {ledger}: set {LEDGER_SECRET} to the account's connection string, or "
                "give the container's whole URL"
            )
        return BlobSettings(ledger, connection_string=secret, api_version=version).checked()
    url = urlsplit(ledger)
    container = url.path.strip("/")
    if not container or "/" in container:
        raise UsageError(f"--ledger {ledger}: the path of the URL names one container")
    account = f"{url.scheme}://{url.netloc}" + (f"?{url.query}" if url.query else "")
    return BlobSettings(container, account_url=account, api_version=version).checked()


def group_names(text: str) -> GroupNames:
    parts = text.split("/")
    if len(parts) != 3:
        raise UsageError(f"--group {text}: write {_GROUP_HELP}")
    return GroupNames(*parts)


async def read_listing(settings: BlobSettings, names: GroupNames) -> Listing:
    ledger = BlobLedger(settings, names)
    try:
        found = await ledger.perform(List())
    finally:
        await ledger.close()
    if not isinstance(found, Listing):
        raise TypeError(f"a listing gave {found!r:.80}")
    return found


async def read_ranges(connection_string: str, names: GroupNames) -> dict[PartitionId, Range]:
    """What the hub still has of each partition."""
    client = EventHubConsumerClient.from_connection_string(
        connection_string, consumer_group=names.group, eventhub_name=names.hub
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


def told(listing: Listing, found: list[Finding]) -> str:
    """What `check` says beneath the table."""
    alive = sum(member.is_alive for member in listing.members.values())
    if not found:
        return f"{alive} members alive; nothing is wrong"
    lines = [f"{alive} members alive; {len(found)} findings:"]
    for finding in found:
        lines.append(f"  {finding.kind}: {finding.where}: {finding.what}")
        lines.append(f"    -> {finding.remedy}")
    return "\n".join(lines)


async def ledger_command(arguments: argparse.Namespace) -> int:
    names = group_names(arguments.group)
    secret = os.environ.get(LEDGER_SECRET)
    settings = blob_settings(arguments.ledger, arguments.api_version, secret)
    listing = await read_listing(settings, names)
    events = os.environ.get(EVENTS_SECRET)
    ranges = await read_ranges(events, names) if events else {}
    if not listing.ownerships and not listing.checkpoints and not listing.members:
        print(f"nothing in the ledger is of the group {arguments.group}")
        return 1 if arguments.action == "check" else 0
    print(table(rows(listing, ranges)))
    if not events:
        print(f"lag is unknown: set {EVENTS_SECRET} to the hub's connection string to see it")
    if arguments.action == "show":
        return 0
    found = findings(listing, ranges)
    print(told(listing, found))
    return 1 if found else 0


def main() -> None:
    arguments = parser().parse_args()
    if arguments.command == "send":
        sys.exit(send.run(arguments, os.environ))
    if arguments.command in group_commands.NAMES:
        sys.exit(group_commands.run(arguments, os.environ))
    try:
        sys.exit(asyncio.run(ledger_command(arguments)))
    except (UsageError, SettingsError, LedgerError) as error:
        print(f"tidegate: {error}", file=sys.stderr)
    except EventHubError as error:
        print(f"tidegate: the hub cannot be asked: {error.message}", file=sys.stderr)
    sys.exit(2)
