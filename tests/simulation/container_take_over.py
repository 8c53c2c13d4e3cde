"""P6 where partitions come and go: the keys that the dead read are soon read again.

- From a kill to the next reader of each key is at most a lease and a tick, as in a world of a hub
  (checkers/p6_take_over_time.py). It is counted by keys: what was one partition when its reader
  died may be two when it is read again, or a part of one.
- Where ranges change at that time, how many leases there are changes, so that rule 8 may wait one
  lease more; what the dead had may have to end, and what follows be claimed: two ticks more.
- In calm worlds the parts of a split are read a tick after the whole was ended, and what was merged
  once the owners of all its parts have asked for the ranges again.
- Who comes back in the same place while its leases last has its keys again at once; where ranges
  change meanwhile, they may go to somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulation.checkers.p6_take_over_time import NAME, alive_from, is_alone, readers_at
from simulation.checkers.seen import Seen
from simulation.container_keys import keys_of
from simulation.container_script import ASK_EVERY_S
from simulation.facts import Violation
from simulation.history import KILLED, Attached, Detached, Lived, name_of
from simulation.script import Kind, Trouble, What

if TYPE_CHECKING:
    from simulation.container_world import ContainerWorld


def check(world: ContainerWorld, seen: Seen) -> Iterator[Violation]:
    for trouble in seen.script.troubles:
        if trouble.what is What.KILL and is_alone(trouble, seen.script):
            for life in seen.lives:
                is_it = name_of(life.who) == trouble.member and life.at == trouble.at
                if is_it and life.what == KILLED:
                    yield from _check(world, seen, trouble, life)
    if seen.script.kind is Kind.CALM:
        yield from _divided(seen)


def _divided(seen: Seen) -> Iterator[Violation]:
    """How long nobody reads a key while its partition ends and what follows begins."""
    script = seen.script
    records = [r for rows in seen.partitions.values() for r in rows]
    ended: dict[str, Detached] = {}
    for record in sorted(records, key=lambda record: record.at):
        if isinstance(record, Detached):
            ended |= dict.fromkeys(keys_of(record.partition), record)
        elif isinstance(record, Attached):
            keys = keys_of(record.partition)
            for key, before in [(key, ended.pop(key)) for key in keys if key in ended]:
                if before.partition == record.partition:
                    continue
                limit_s = script.settled_tick_s + 1.0 + 24 * script.latency_s
                if not set(keys) < set(keys_of(before.partition)):
                    limit_s += script.settled_tick_s + 1.1 * ASK_EVERY_S
                if record.at - before.at > limit_s:
                    text = f"key {key} was read again {record.at - before.at:.2f} s after"
                    text = f"{before.partition} -> {record.partition}: {text}"
                    yield Violation(NAME, before.at, f"{text}, allowed {limit_s:.2f} s")


def _check(
    world: ContainerWorld, seen: Seen, trouble: Trouble, killed: Lived
) -> Iterator[Violation]:
    script, readers = seen.script, readers_at(seen, killed.at)
    lost = [partition for partition, who in readers.items() if who == killed.who]
    is_back = trouble.then == "same-place" and trouble.length_s < script.lease_s * 2 / 3
    others = alive_from(seen, killed)
    travel_s = 1.0 + 24 * script.latency_s
    if is_back:
        limit_s = trouble.length_s + travel_s + script.fast_tick_s
    elif others is None:
        return
    else:
        limit_s = script.lease_s + script.settled_tick_s + others - killed.at + travel_s
        is_changing = world.is_changing(killed.at, killed.at + limit_s)
        if 2 * len(lost) >= len(readers) or is_changing:
            limit_s += script.lease_s
    is_changing = world.is_changing(killed.at, killed.at + limit_s)
    if is_changing:
        limit_s += 2 * script.settled_tick_s + travel_s
    for partition in lost:
        for key in keys_of(partition):
            resumed = _resumed(seen, key, killed.at)
            if resumed is None or resumed.at - killed.at > limit_s:
                after = "never" if resumed is None else f"after {resumed.at - killed.at:.2f} s"
                text = f"{partition}: {killed.who} was killed, and key {key} was read again {after}"
                yield Violation(NAME, killed.at, f"{text}, allowed {limit_s:.2f} s")
            elif is_back and not is_changing and name_of(resumed.who) != trouble.member:
                text = f"{trouble.member} came back in its place, and {resumed.who} has it"
                yield Violation(NAME, killed.at, f"{partition}: {text}")


def _resumed(seen: Seen, key: str, after: float) -> Attached | None:
    """The next that was let read this key."""
    found = (
        record
        for partition, records in seen.partitions.items()
        if key in keys_of(partition)
        for record in records
        if isinstance(record, Attached) and record.at > after
    )
    return min(found, key=lambda record: record.at, default=None)
