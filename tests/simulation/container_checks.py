"""What holds in every world of a container: P1, P3 to P8 and P13, and exact states.

- P13: every item that was written is handled, whatever was split or merged meanwhile.
- P4: nobody handles what a checkpoint said was handled before their own tenure began.
- P5: the items of a key come in their order, each once, to one opening of a partition.
- P6 and P7: see container_take_over.py and container_moves.py.
- P8: in the end all keys are read by members that live, evenly, and by the ranges of the service
  where no state keeps a partition whole.
- state: what a checkpoint's state has counted of a key is what its position says is handled.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from simulation import container_moves, container_take_over
from simulation.checkers import p1_one_epoch, p3_never_back
from simulation.checkers.seen import Seen
from simulation.container import is_covered
from simulation.container_world import ContainerWorld
from simulation.facts import Facts, Violation
from simulation.history import ASKED_TO_STOP, Did, Lived
from tidegate.ports import WriteCheckpoint
from tidegate.sources.cosmos.places import Place, place_of
from tidegate.sources.cosmos.ranges import WHOLE, is_tiled, range_of


def judge(world: ContainerWorld, facts: Facts) -> list[Violation]:
    seen = Seen(world.records, facts)
    found = [*p1_one_epoch.check(seen), *p3_never_back.check(seen)]
    found += [*container_take_over.check(world, seen), *container_moves.check(world, seen)]
    found += [*_lost(world), *_order(world), *_checkpoints(world), *_converged(world, facts)]
    return sorted(found, key=lambda violation: violation.at)


def _lost(world: ContainerWorld) -> Iterator[Violation]:
    handled = {number for gave in world.gave for number in gave.numbers}
    missing = [item for item in world.container.written if item.number not in handled]
    if missing:
        text = f"{len(missing)} items were never handled, such as {missing[0]}"
        yield Violation("P13", world.clock.now, text)


def _order(world: ContainerWorld) -> Iterator[Violation]:
    last: dict[tuple[int, str], int] = {}
    items = world.container.written
    for gave in world.gave:
        for number in gave.numbers:
            place = gave.reader, items[number].key
            if last.get(place, -1) >= number:
                text = f"{gave.partition}: {gave.who} was given {number} after {last[place]}"
                yield Violation("P5", gave.at, text)
            last[place] = number


def _writes(world: ContainerWorld) -> Iterator[tuple[Did, WriteCheckpoint, Place]]:
    for record in world.records:
        if isinstance(record, Did) and record.refusal is None:
            operation = record.operation
            if isinstance(operation, WriteCheckpoint):
                yield record, operation, place_of(operation.position, operation.partition)


def _checkpoints(world: ContainerWorld) -> Iterator[Violation]:
    """When each item was first said to be handled, and when each tenure began."""
    said_at: dict[int, float] = {}
    begun_at: dict[tuple[str, int], float] = {}
    items = world.container.written
    for record, operation, place in _writes(world):
        begun_at.setdefault((operation.partition, operation.epoch), record.at)
        counts: Counter[str] = Counter()
        for item in items:
            if is_covered(item, place):
                said_at.setdefault(item.number, record.at)
                counts[item.key] += 1
        if operation.state is not None:
            kept = json.loads(operation.state)
            for key, count in counts.items():
                if kept.get(key, 0) != count:
                    text = (
                        f"{operation.partition}: the state of {record.who} has {kept.get(key, 0)} "
                        f"of key {key}, its position {count}"
                    )
                    yield Violation("state", record.at, text)
    for gave in world.gave:
        begun = begun_at.get((gave.partition, gave.epoch))
        for number in gave.numbers:
            if begun is not None and said_at.get(number, gave.at) < begun:
                text = (
                    f"{gave.partition}: {gave.who} handled {number}, which a checkpoint had at "
                    f"{said_at[number]:.3f}, before its tenure began at {begun:.3f}"
                )
                yield Violation("P4", gave.at, text)


def _converged(world: ContainerWorld, facts: Facts) -> Iterator[Violation]:
    now = world.clock.now
    if facts.settled_at is None:
        text = f"things still move {world.script.patience_s:g} s after the last trouble"
        yield Violation("P8", now, text)
    asked = {r.who for r in world.records if isinstance(r, Lived) and r.what == ASKED_TO_STOP}
    members = {
        str(process.member.owner)
        for process in world.processes.values()
        if not process.is_dead and process.who not in asked
    }
    owners = world.owners()
    ranges = [range for id in owners if (range := range_of(id)) is not None]
    if not is_tiled(WHOLE, ranges):
        yield Violation("P8", now, f"the partitions are not all keys: {list(owners)}")
    if not world.script.has_state and tuple(owners) != world.known:
        text = f"the partitions are {list(owners)}, the ranges {list(world.known)}"
        yield Violation("P8", now, text)
    stray = {id: owner for id, owner in owners.items() if owner not in members}
    if members and stray:
        yield Violation("P8", now, f"nobody who lives has {stray}")
    counts = Counter(dict.fromkeys(members, 0)) + Counter(filter(None, owners.values()))
    shares = [counts[name] for name in members]
    if members and not stray and max(shares) - min(shares) > 1:
        yield Violation("P8", now, f"partitions are shared out unevenly: {dict(counts)}")
