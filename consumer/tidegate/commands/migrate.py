"""`tidegate migrate`: positions from a change feed processor's leases to a ledger, and back.

Rules: secrets come from the environment, never from arguments, which other users of a machine can
read. All is looked at before anything is written, and read again afterwards. What stands in the way
is said at once, all of it, and nothing was written then. Exit codes: 0 it is done, 1 it was not or
not all of it, 2 and 78 it cannot be carried out as it was asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from tidegate.commands import wiring
from tidegate.commands.codes import Code
from tidegate.commands.ledgers import LeasePlace
from tidegate.commands.sources import account_of
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.dialects import (
    Boundary,
    Dialect,
    Document,
    nothing_of,
    with_etag,
    with_owner,
)
from tidegate.ledger.cosmos.leases import Processor, ProcessorLeases
from tidegate.ledger.cosmos.leases_seen import Leases
from tidegate.ledger.cosmos.migration import (
    Allowed,
    MigrationRefused,
    ToLeases,
    check_written,
    shown_rows,
    to_leases,
    to_ledger,
)
from tidegate.ledger.cosmos.refusals import Spot, refusal_of
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.cosmos.sharing import EXPIRY_S
from tidegate.ledger.packing import Unreadable
from tidegate.model import Checkpoint, Listing, PartitionId
from tidegate.ports import Ledger, LedgerError, List, ReadCheckpoint, Refusal
from tidegate.settings import SettingsError
from tidegate.sources.cosmos.settings import FeedMode

LEASES_SECRET = "TIDEGATE_LEASES_CONNECTION_STRING"

_WAYS = ("from-leases", "to-leases")
_EPILOG = f"""\
The connection string of the account with the lease container comes from the environment:
{LEASES_SECRET}. Without it, and without --endpoint, it is the account of the source."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `tidegate migrate` takes."""
    parser.description = (
        "Moves the positions of a .NET or Java change feed processor into a group's ledger, or a "
        "group's positions into the leases of such a processor. Nothing is read again."
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("way", choices=_WAYS, help="from the processor's leases to the group's ledger, or back")
    add("file", type=Path, metavar="GROUP.YAML", help="the group file, with source.cosmos")
    add("--database", required=True, help="the database of the lease container")
    add("--container", required=True, help="the lease container")
    add(
        "--prefix",
        default="",
        help="the processor's name: processorName in .NET, leasePrefix in Java",
    )
    add(
        "--dialect",
        choices=[str(each) for each in Dialect],
        help="how the leases are written; needed with to-leases, else seen from the leases",
    )
    add("--endpoint", help="the account, reached with the identity of this machine")
    add("--dry-run", action="store_true", help="say what would be done, and do nothing")
    add("--even-if-alive", action="store_true", help="although somebody still reads")
    add("--overwrite", action="store_true", help="over positions that stand there already")
    add("--without-state", action="store_true", help="with to-leases: leave states behind")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Raises SettingsError, LedgerError."""
    setup = wiring.set_up(arguments.file, environment, runs_code=False)
    feed = setup.group.spec.source.cosmos
    if feed is None:
        raise SettingsError(f"{arguments.file}: spec.source.cosmos is missing: leases are of that")
    if feed.mode is not FeedMode.LATEST_VERSION:
        raise SettingsError(
            f"spec.source.cosmos.mode: positions of {feed.mode} cannot be moved. Start the one "
            "that is to read on before you stop the other; what both handle meanwhile comes twice."
        )
    if isinstance(setup.ledger, LeasePlace) and setup.ledger.processor is not None:
        raise SettingsError(
            "spec.ledger.cosmos.dialect: this group shares its leases with the processor, so there "
            "is nothing to move. Name another ledger."
        )
    leases = _settings(arguments, setup, environment)
    try:
        return asyncio.run(_migrate(arguments, setup, leases))
    except MigrationRefused as refused:
        print(f"tidegate: {refused}", file=sys.stderr)
        return Code.FAILED
    except Unreadable as problem:
        raise LedgerError(
            Refusal.INVALID,
            f"a lease was changed meanwhile and cannot be read: {problem}. Stop whoever runs, and "
            "see what stands there with --dry-run.",
        ) from None
    except (SettingsError, LedgerError):
        raise
    except Exception as problem:
        raise refusal_of(problem, Spot.of(leases), is_read=False) from None


def _settings(
    arguments: argparse.Namespace, setup: wiring.Setup, environment: Mapping[str, str]
) -> CosmosSettings:
    secret = environment.get(LEASES_SECRET, "")
    settings = CosmosSettings(arguments.database, arguments.container)
    if secret:
        if arguments.endpoint:
            raise SettingsError(f"--endpoint: {LEASES_SECRET} is set; give one of the two")
        return replace(settings, connection_string=secret).checked()
    if arguments.endpoint:
        return replace(settings, endpoint=arguments.endpoint).checked()
    endpoint, key = account_of(setup.address, setup.account_key)
    return replace(settings, endpoint=endpoint, account_key=key).checked()


async def _migrate(
    arguments: argparse.Namespace, setup: wiring.Setup, settings: CosmosSettings
) -> int:
    source = setup.group.spec.source.cosmos
    assert source is not None
    endpoint, key = account_of(setup.address, setup.account_key)
    monitored = CosmosSettings(
        source.database, source.container, endpoint=endpoint, account_key=key
    )
    async with AsyncExitStack() as stack:
        items = LeaseContainer(settings)
        stack.push_async_callback(items.close)
        ledger = wiring.new_ledger(setup, is_member=False)
        stack.push_async_callback(ledger.close)
        leases = await _opened(arguments, items, monitored)
        if arguments.way == "to-leases":
            return await _to_leases(arguments, ledger, leases)
        return await _from_leases(arguments, ledger, leases)


async def _opened(
    arguments: argparse.Namespace, items: LeaseContainer, monitored: CosmosSettings
) -> ProcessorLeases:
    """The leases, in the dialect that was said or is seen. Raises LedgerError, SettingsError."""
    asked = Dialect(arguments.dialect) if arguments.dialect else None
    first = asked or Dialect.NET_EPK
    leases = ProcessorLeases(items, Processor(first, monitored, arguments.prefix))
    found = await leases.survey()
    if not found.leases and arguments.way == "from-leases":
        said = nothing_of(found, arguments.prefix, leases.of)
        raise LedgerError(Refusal.MISSING, str(said))
    dialect = asked or found.dialect
    if dialect is None:
        raise SettingsError("--dialect is needed: it cannot be seen from the leases")
    if dialect is not first:
        leases = ProcessorLeases(items, Processor(dialect, monitored, arguments.prefix))
    await leases.open()
    return leases


def _allowed(arguments: argparse.Namespace) -> Allowed:
    return Allowed(arguments.even_if_alive, arguments.overwrite, arguments.without_state)


async def _from_leases(
    arguments: argparse.Namespace, ledger: Ledger, leases: ProcessorLeases
) -> int:
    plan = to_ledger(
        await leases.all(),
        await _listed(ledger),
        leases.rid,
        _allowed(arguments),
        lambda lease: _is_alive(leases, lease),
    )
    _say(shown_rows(plan))
    if arguments.dry_run:
        return Code.DONE
    for write in plan.writes:
        await ledger.perform(write)
    wanted = {write.partition: write.position for write in plan.writes}
    return _ended(check_written(wanted, await _listed(ledger)), len(wanted), "the ledger")


async def _to_leases(arguments: argparse.Namespace, ledger: Ledger, leases: ProcessorLeases) -> int:
    listing, stands = await _listed(ledger), await leases.all()
    states = {partition: await _state(ledger, partition) for partition in listing.checkpoints}
    plan = to_leases(
        listing,
        states,
        stands,
        leases.rid,
        _allowed(arguments),
        lambda lease: _is_alive(leases, lease),
        await leases.unfit(listing.checkpoints),
    )
    _say(shown_rows(plan))
    if arguments.dry_run:
        return Code.DONE
    await _write(leases, plan, stands)
    found = (await leases.all()).by_partition
    missed = tuple(
        partition
        for partition, etag in plan.etags.items()
        if partition not in found or found[partition].etag != etag
    )
    return _ended(missed, len(plan.etags), "the leases")


async def _write(leases: ProcessorLeases, plan: ToLeases, stands: Leases) -> None:
    """New leases before old ones go, and last of all that they are complete."""
    dialect, of = leases.processor.dialect, leases.of
    for partition, etag in plan.etags.items():

        def decide(lease: Boundary, etag: str | None = etag) -> Document:
            return leases.written(with_owner(with_etag(lease.document, dialect, etag, of), None))

        if partition in stands.by_partition:
            await leases.change(partition, decide)
        else:
            await leases.make(partition, etag)
    for lease in plan.gone:
        await leases.remove(lease)
    if not stands.is_complete:
        await leases.make_info()


def _is_alive(leases: ProcessorLeases, lease: Boundary) -> bool:
    return lease.owner is not None and leases.age(lease) < EXPIRY_S


async def _listed(ledger: Ledger) -> Listing:
    found = await ledger.perform(List())
    assert isinstance(found, Listing)
    return found


async def _state(ledger: Ledger, partition: PartitionId) -> bytes | None:
    found = await ledger.perform(ReadCheckpoint(partition))
    return found.state if isinstance(found, Checkpoint) else None


def _say(rows: list[str]) -> None:
    for row in rows:
        print(row)


def _ended(missed: tuple[PartitionId, ...], count: int, where: str) -> int:
    if missed:
        print(
            f"tidegate: {where} were written by somebody else meanwhile, in "
            f"{', '.join(missed[:8])}: stop whoever runs, and try again with --overwrite",
            file=sys.stderr,
        )
        return Code.FAILED
    print(f"done: {count} {'position' if count == 1 else 'positions'} written, and read again")
    return Code.DONE
