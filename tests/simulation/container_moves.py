"""P7 where partitions come and go: a change of members or of ranges costs no move too many.

- A partition moves when it is read by somebody who read none of its keys before. So a part of a
  split that stays where the whole was has not moved, nor has what was merged, with either owner.
- Where nothing fails, a change costs as few moves as give each member its count of the partitions
  that there are then (checkers/p7_moves.py). What is made by a split or a merge has to be opened
  anew in any case: it is dealt out once, as that is which nobody had owned, and all else stays.
- A stall of storage that everybody feels, and nothing else, moves nothing; nobody breaks a tenure
  that is younger than the hand-over limit.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from simulation.checkers.p6_take_over_time import readers_at
from simulation.checkers.p7_moves import NAME, early_breaks, fewest_moves, lone_stalls, members_at
from simulation.checkers.seen import Seen
from simulation.container_keys import keys_of
from simulation.facts import Violation
from simulation.history import Attached, name_of
from simulation.script import Kind, What

if TYPE_CHECKING:
    from simulation.container_world import ContainerWorld

# Who had each key last, by name.
Keys = Mapping[str, str]


def check(world: ContainerWorld, seen: Seen) -> Iterator[Violation]:
    yield from early_breaks(seen)
    attached = _attached(seen)
    for stall, end in lone_stalls(seen.script):
        moved = _moves(attached, stall.at, end)
        if moved and not world.is_changing(stall.at, end):
            yield Violation(NAME, stall.at, f"{moved} moved in a stall that all had felt")
    if seen.script.kind is not Kind.CALM:
        return
    for begin, end in _periods(world, seen):
        before = _keys_at(attached, begin)
        whole = readers_at(seen, begin)
        if before and not whole:
            continue  # nobody was there: what changed meanwhile comes on top
        after = {id: name_of(who) for id, who in readers_at(seen, end).items()}
        moved = _moves(attached, begin, end)
        fewest = _fewest(before, whole, after, members_at(seen, end))
        if len(moved) > fewest:
            text = f"{moved} moved until {end:.0f} s where {fewest} are enough: {before} -> {after}"
            yield Violation(NAME, begin, text)


def _attached(seen: Seen) -> list[Attached]:
    found = [r for records in seen.partitions.values() for r in records if isinstance(r, Attached)]
    return sorted(found, key=lambda record: record.at)


def _periods(world: ContainerWorld, seen: Seen) -> Iterator[tuple[float, float]]:
    """From one change to the next; in calm worlds each is long over when the next one comes."""
    kinds = (What.JOIN, What.STOP)
    begins = {trouble.at for trouble in seen.script.troubles if trouble.what in kinds}
    times = [*sorted({*begins, *world.changed_at}), seen.facts.end]
    yield from pairwise(times)


def _keys_at(attached: list[Attached], at: float) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in attached:
        if record.at < at:
            found |= dict.fromkeys(keys_of(record.partition), name_of(record.who))
    return found


def _moves(attached: list[Attached], begin: float, end: float) -> list[str]:
    """The partitions that were read by who had none of their keys; the very first count, too."""
    owners = _keys_at(attached, begin)
    found: list[str] = []
    for record in attached:
        if begin <= record.at < end:
            keys, name = keys_of(record.partition), name_of(record.who)
            if name not in {owners.get(key) for key in keys}:
                found.append(record.partition)
            owners |= dict.fromkeys(keys, name)
    return found


def _fewest(
    before: Keys, wholes: Container[str], partitions: Collection[str], members: set[str]
) -> int:
    """The least: `wholes` are the partitions that there were before."""
    kept = {id: before[keys_of(id)[0]] for id in partitions if id in wholes}
    return fewest_moves(kept, members, len(partitions))
