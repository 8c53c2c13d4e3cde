"""The rehearsal of a migration while events flow: official processors, others, official ones again.

    with a_group(hub, azurite, folder, PARTITIONS, host=…, every_s=EVERY_S) as group:
        seen = rehearsed(group)

Each side is two processes. Every stop is clean, and nobody pauses the producers.

Rules: what is counted is what all handlers wrote down (member_logs.py). Processors of one official
side take partitions from one another, as they always do, and repeat events by that; so an event
counts once for each side that handled it, and what a side repeats within itself is told apart.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.group import Group
from support.wait import wait_until

PARTITIONS, EVERY_S = 8, 0.01
OFFICIAL = Path(__file__).with_name("official_member.py")
SIDES = {"before": ("old-1", "old-2"), "between": ("a", "b"), "after": ("new-1", "new-2")}
_PATIENCE_S = 90
# How long each side reads, at least, once it reads everything.
_READS_S = 8.0

Events = Counter[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Side:
    """What the processes of one side did."""

    events: int
    seconds: float
    twice: int  # events that it handled more than once, by itself


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What came of it."""

    sides: dict[str, Side]
    by_two_sides: int
    passed_over: int
    # The longest that a partition was not read, on the way there and on the way back.
    wait_s: tuple[float, float]

    def told(self) -> Iterator[str]:
        """For people who read the output."""
        yield f"{PARTITIONS} partitions, {PARTITIONS / EVERY_S:.0f} events a second sent"
        for name, side in self.sides.items():
            rate = side.events / side.seconds
            yield (
                f"{name}: {side.events} events in {side.seconds:.0f} s, {rate:.0f} a second; "
                f"{side.twice} twice within it"
            )
        yield "longest wait of a partition: there {:.1f} s, back {:.1f} s".format(*self.wait_s)
        yield f"handled by two sides: {self.by_two_sides}; passed over: {self.passed_over}"


def rehearsed(group: Group, between: Path | None = None) -> Rehearsal:
    """Goes there and back; `between` is run in our members' place, where it is given."""
    changed = []
    for name, members in SIDES.items():
        changed.append(time.time())
        group.start(*members, program=between if name == "between" else OFFICIAL)
        _read_for_a_while(group, members)
        group.stop(*members)
    each = {name: _handled(group, members) for name, members in SIDES.items()}
    across: Events = sum((Counter(set(events)) for events in each.values()), Counter())
    return Rehearsal(
        {name: _side(group, SIDES[name], events) for name, events in each.items()},
        _twice(across),
        len(group.missing()),
        (
            max(group.idle(changed[1], changed[2]).values()),
            max(group.idle(changed[2], time.time()).values()),
        ),
    )


def _read_for_a_while(group: Group, names: tuple[str, ...]) -> None:
    """Until these share all partitions, and have read them for so long."""
    begun = group.wait_until_read_by(set(names), _PATIENCE_S)

    def is_long_enough() -> bool:
        after = {batch.partition for batch in group.batches(begun + _READS_S)}
        return len(after) == PARTITIONS

    what = f"{', '.join(names)} to read on for {_READS_S:.0f} s"
    wait_until(is_long_enough, _PATIENCE_S, what, group.standing)


def _handled(group: Group, names: tuple[str, ...]) -> Events:
    """How often these handled each event."""
    return Counter(
        (batch.partition, sequence)
        for batch in group.batches()
        if batch.member in names
        for sequence in range(batch.first, batch.last + 1)
    )


def _twice(events: Events) -> int:
    return sum(times > 1 for times in events.values())


def _side(group: Group, names: tuple[str, ...], events: Events) -> Side:
    its = [batch for batch in group.batches() if batch.member in names]
    return Side(len(events), its[-1].at - its[0].at, _twice(events))
