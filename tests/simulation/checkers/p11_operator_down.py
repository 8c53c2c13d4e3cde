"""P11: without an operator everything goes on: no partition is long without a reader.

In a world whose operator was never there, has died, or said what is not so, each partition has a
reader again within the longest time that a dead member and a member waited for can cost, as long
as anybody lives.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import ASKED_TO_STOP, KILLED, STARTED, STOPPED, Attached, Detached
from simulation.script import Kind

NAME = "P11"
EXPECTED_GRACE_S = 10.0


def check(seen: Seen) -> Iterator[Violation]:
    if seen.script.kind is not Kind.ALONE or seen.was_ever_paused():
        return
    script = seen.script
    limit_s = 2 * script.lease_s + EXPECTED_GRACE_S + script.settled_tick_s + 5.0
    manned = _manned(seen)
    kills = [life.at for life in seen.lives if life.what == KILLED]
    for partition in seen.facts.timetable:
        for begin, end in _gaps(seen, partition):
            lonely_s = sum(max(0.0, min(end, until) - max(begin, since)) for since, until in manned)
            deaths = sum(begin < at < end for at in kills)
            if lonely_s > limit_s * (1 + deaths):
                text = f"{partition}: nobody read it for {lonely_s:.0f} s while members lived"
                yield Violation(NAME, end, text)


def _manned(seen: Seen) -> list[tuple[float, float]]:
    """The periods in which somebody lived who was not asked to stop."""
    alive: set[str] = set()
    periods: list[tuple[float, float]] = []
    since = 0.0
    for life in seen.lives:
        was_manned = bool(alive)
        if life.what == STARTED:
            alive.add(life.who)
        elif life.what in (KILLED, STOPPED, ASKED_TO_STOP):
            alive.discard(life.who)
        if alive and not was_manned:
            since = life.at
        elif was_manned and not alive:
            periods.append((since, life.at))
    return [*periods, (since, seen.facts.end)] if alive else periods


def _gaps(seen: Seen, partition: str) -> Iterator[tuple[float, float]]:
    """When nobody alive read a partition."""
    ended = {life.who: life.at for life in seen.lives if life.what in (KILLED, STOPPED)}
    reader: str | None = None
    since = 0.0
    for record in seen.partitions.get(partition, ()):
        if isinstance(record, Attached):
            if reader is None or ended.get(reader, record.at) < record.at:
                yield since if reader is None else ended[reader], record.at
            reader = record.who
        elif isinstance(record, Detached) and record.who == reader:
            reader, since = None, min(record.at, ended.get(record.who, record.at))
    if reader is None or reader in ended:
        yield since if reader is None else ended[reader], seen.facts.end
