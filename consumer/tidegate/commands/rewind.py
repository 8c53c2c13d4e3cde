"""`tidegate rewind group.yaml --to …`: moves checkpoints, safely while the group runs.

Rules:
- The command touches no checkpoint. It writes the rewind on the roster; the owner of each partition
  carries it out, in one write, and clears the state that went with the old place. Then it is struck
  off. People are told line by line, programs by one document at the end.
- The partitions are those of the group, by its ledger. Where the source has other ranges now, as of
  a container that was deleted and made again, a partition ends at its new position at once, and the
  ranges that there are begin there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegate.commands import rosters, wiring
from tidegate.commands.arguments import seconds
from tidegate.commands.codes import Code
from tidegate.model import BEGINNING, Listing, PartitionId, Position, Rewind, Roster
from tidegate.ports import (
    Ledger,
    LedgerError,
    List,
    Refusal,
    Source,
    SourceError,
    StolenError,
    WriteRoster,
    lost_position,
)
from tidegate.ports.lineage import Lineage, Tiling
from tidegate.settings import SettingsError
from tidegate.sources.start import Start, moment_of

_TRIES = 8
_LOOK_S = 0.5
_LIMIT_S = 120.0
_TO = (
    "where to: 'earliest', 'latest', a time with its zone such as 2026-01-31T00:00:00Z, or a "
    "sequence number, after which it goes on"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `tidegate rewind` takes."""
    parser.description = (
        "Moves checkpoints back or forth while the group runs; the state of a partition, which "
        "belongs to the old place, is cleared."
    )
    parser.add_argument("file", type=Path, metavar="GROUP.YAML", help="the group file")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where to, and of what, without where the group is."""
    add = parser.add_argument
    add("--to", required=True, help=_TO)
    add("--partition", action="append", default=[], help="only this one; may be given again")
    add(
        "--limit-s",
        type=seconds,
        default=_LIMIT_S,
        metavar="S",
        help="how long to wait until it is done (default: %(default)g)",
    )
    add("--json", action="store_true", help="a JSON document in the end")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Raises SettingsError, SourceError and LedgerError."""
    start_of(arguments.to)
    setup = wiring.set_up(arguments.file, environment, runs_code=False)
    return asyncio.run(carry_out(setup, arguments))


async def carry_out(setup: wiring.Setup, arguments: argparse.Namespace) -> int:
    """What the arguments of `add_options` say. Raises SettingsError, SourceError, LedgerError."""
    start = start_of(arguments.to)
    tell = _nothing if arguments.json else print
    rewinds, waiting, is_anybody = await _rewind(
        setup, start, arguments.partition, arguments.limit_s, tell
    )
    if arguments.json:
        print(json.dumps(_document(rewinds, waiting), indent=2))
    elif not is_anybody:
        print(
            "no member of the group runs: the rewind is on the roster, and whoever reads a "
            "partition first carries it out"
        )
    if waiting and is_anybody:
        print(
            f"tidegate: not yet done in partitions {', '.join(waiting)}: nobody reads them now. It "
            "stays on the roster, and whoever reads them first carries it out.",
            file=sys.stderr,
        )
        return Code.FAILED
    return Code.DONE


def _document(rewinds: Sequence[Rewind], waiting: Sequence[PartitionId]) -> dict[str, Any]:
    """What is not done stands on the roster for whoever reads it first."""
    rows = [
        {
            "partition": rewind.partition,
            **(
                {"enqueuedFrom": _time(rewind.at)}
                if rewind.at is not None
                else {"afterSequenceNumber": rewind.position.sequence}
            ),
            "done": rewind.partition not in waiting,
        }
        for rewind in rewinds
    ]
    return {"partitions": rows}


def start_of(text: str) -> Start:
    """What `--to` says. Raises SettingsError."""
    if text in ("earliest", "latest"):
        return Start(text)
    if text.isascii() and text.isdecimal():
        return Start("position", position=Position(sequence=int(text)))
    try:
        at = moment_of(text)
    except ValueError:
        raise SettingsError(f"--to {text}: write {_TO}") from None
    if at.tzinfo is None:
        raise SettingsError(f"--to {text}: a time needs its zone, such as {text}Z")
    return Start("time", at=at.timestamp())


async def _rewind(
    setup: wiring.Setup,
    start: Start,
    chosen: Sequence[PartitionId],
    limit_s: float,
    tell: Callable[[str], None],
) -> tuple[Sequence[Rewind], Sequence[PartitionId], bool]:
    """The rewinds, the partitions where they are not done yet, and whether any member lives."""
    async with AsyncExitStack() as stack:
        source = await wiring.open_source(setup, stack, _say, start)
        stack.push_async_callback(source.close)
        ledger = wiring.new_ledger(setup, is_member=False)
        stack.push_async_callback(ledger.close)
        lineage = setup.group.spec.source.lineage
        tiling = lineage.tiling(await source.partitions(), await _listing(ledger))
        rewinds = await resolved(source, lineage, tiling, start, chosen)
        for rewind in rewinds:
            into = tiling.ending.get(rewind.partition, ())
            goes_on = f", where {', '.join(into)} begin" if into else ""
            tell(f"partition {rewind.partition}: to {_place_text(rewind)}{goes_on}")
        listing = await write_roster(ledger, lambda seen: rosters.with_rewinds(seen, rewinds))
        if not rosters.is_anybody_alive(listing):
            return rewinds, [rewind.partition for rewind in rewinds], False
        waiting = await _wait(ledger, rewinds, limit_s, tell)
        done = {rewind.partition for rewind in rewinds} - set(waiting)
        await write_roster(ledger, lambda seen: rosters.without(seen, rewinds[0].id, done))
    return rewinds, waiting, True


def _place_text(rewind: Rewind) -> str:
    if rewind.at is not None:
        return f"what was enqueued from {_time(rewind.at)} on"
    return rewind.place


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _nothing(_: str) -> None:
    """Programs are told in the end."""


async def resolved(
    source: Source, lineage: Lineage, tiling: Tiling, start: Start, chosen: Sequence[PartitionId]
) -> list[Rewind]:
    """What to do in each partition. Raises SettingsError and SourceError."""
    # What waits for its parts to end would begin where those stood that have ended already.
    partitions = (*tiling.partitions, *tiling.waiting)
    unknown = [partition for partition in chosen if partition not in partitions]
    if unknown:
        raise SettingsError(f"--partition {unknown[0]}: the group has {', '.join(partitions)}")
    id = uuid.uuid4().hex
    found = [await _one(source, Rewind(id, each), start) for each in chosen or partitions]
    return [_ended(rewind, lineage, tiling) for rewind in found]


def _ended(rewind: Rewind, lineage: Lineage, tiling: Tiling) -> Rewind:
    """The same where its partition goes on as others: it ends at the position, unread."""
    into = tiling.ending.get(rewind.partition)
    if into is None:
        return rewind
    return replace(rewind, position=lineage.ended(rewind.partition, rewind.position, into))


async def _one(source: Source, rewind: Rewind, start: Start) -> Rewind:
    """The rewind of one partition: with its position, if nobody reads there, else for its owner."""
    try:
        return replace(rewind, position=await source.resolve_start(rewind.partition))
    except StolenError:
        # While an owner reads with its epoch, the hub lets nobody else look.
        return replace(rewind, position=start.position or BEGINNING, at=start.at)
    except SourceError as error:
        if start.position is None or not lost_position(str(error)):
            raise
        raise SettingsError(
            f"--to {start.position.sequence}: partition {rewind.partition} has no such place, and "
            "nothing was rewound. Write a sequence number that the partition has, 'earliest' or "
            "'latest'"
        ) from error


async def _wait(
    ledger: Ledger, rewinds: Sequence[Rewind], limit_s: float, tell: Callable[[str], None]
) -> list[PartitionId]:
    """Which partitions are not rewound when the time is over; none if all are."""
    until = time.monotonic() + limit_s
    waiting = list(rewinds)
    while True:
        listing = await _listing(ledger)
        for rewind in [each for each in waiting if rosters.is_done(listing, each)]:
            waiting.remove(rewind)
            tell(f"partition {rewind.partition}: done")
        if not waiting or time.monotonic() >= until:
            return [rewind.partition for rewind in waiting]
        await asyncio.sleep(_LOOK_S)


async def write_roster(ledger: Ledger, make: Callable[[Listing], Roster | None]) -> Listing:
    """Writes what `make` makes of the roster that stands; again where another was quicker."""
    for _ in range(_TRIES):
        listing = await _listing(ledger)
        roster = make(listing)
        if roster is None:
            return listing
        try:
            etag = listing.roster.etag if listing.roster is not None else ""
            await ledger.perform(WriteRoster(roster, etag))
        except LedgerError as error:
            if error.refusal not in (Refusal.CHANGED, Refusal.EXISTS):
                raise
        else:
            return listing
    raise LedgerError(
        Refusal.CHANGED, "the roster was written by others at every try: try again later"
    )


async def _listing(ledger: Ledger) -> Listing:
    found = await ledger.perform(List())
    assert isinstance(found, Listing)
    return found


def _say(text: str) -> None:
    print(f"tidegate: {text}", file=sys.stderr)
