"""P8: it converges, and then nothing moves and ticks are slow.

After the last trouble everything is owned by somebody who lives, the counts differ by one at most
(pins aside), and at the end members only look, slowly, and renew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import ASKED_TO_STOP, Attached, Detached, Did, name_of
from tidegate.ports import Forget, List, Renew, RenewPresence

NAME = "P8"
_WATCHED_S = 10.0


def check(seen: Seen) -> Iterator[Violation]:
    facts = seen.facts
    if facts.settled_at is None:
        text = f"things still move {seen.script.patience_s:g} s after the last trouble"
        yield Violation(NAME, facts.end, text)
        return
    asked = {life.who for life in seen.lives if life.what == ASKED_TO_STOP}
    left = asked & facts.alive.keys()
    if left:
        yield Violation(NAME, facts.end, f"{sorted(left)} were asked to stop and never did")
    members = facts.alive.keys() - asked
    if members:
        yield from _owned(seen, members)
        yield from _quiet(seen, members)


def _owned(seen: Seen, members: set[str]) -> Iterator[Violation]:
    readers = readers_at_end(seen)
    paused = seen.paused()
    pins = seen.roster.pins if seen.roster is not None else {}
    names = {name_of(who) for who in members}
    counts = Counter(dict.fromkeys(members, 0))
    pinned: Counter[str] = Counter()
    for partition in seen.facts.timetable:
        reader = readers.get(partition)
        if partition in paused:
            if reader in members:
                yield _violation(seen, f"{partition} is paused, and {reader} reads it")
        elif reader not in members:
            yield _violation(seen, f"{partition} is read by {reader}, who is not there")
        else:
            counts[reader] += 1
            pin = pins.get(partition)
            if pin in names:
                pinned[reader] += 1
                if name_of(reader) != pin:
                    yield _violation(seen, f"{partition} is pinned to {pin}; {reader} reads it")
    free = [count for who, count in counts.items() if not pinned[who]]
    if not pins and free and max(free) - min(free) > 1:
        yield _violation(seen, f"partitions are shared out unevenly: {dict(counts)}")


def _quiet(seen: Seen, members: set[str]) -> Iterator[Violation]:
    begin = seen.facts.end - _WATCHED_S
    looks: Counter[str] = Counter()
    for record in reversed(seen.records):
        if record.at < begin:
            break
        if isinstance(record, Did) and record.who in members:
            if isinstance(record.operation, List):
                looks[record.who] += 1
            elif not isinstance(record.operation, Forget | Renew | RenewPresence) or record.refusal:
                text = f"{record.who} still does {type(record.operation).__name__}"
                yield Violation(NAME, record.at, f"{text} ({record.refusal or 'done'})")
    most = _WATCHED_S / seen.script.settled_tick_s * 1.1 + 1.0
    for who, count in looks.items():
        if count > most:
            yield _violation(seen, f"{who} still looks fast: {count} times in {_WATCHED_S:g} s")


def readers_at_end(seen: Seen) -> dict[str, str]:
    readers: dict[str, str] = {}
    for partition, records in seen.partitions.items():
        for record in records:
            if isinstance(record, Attached):
                readers[partition] = record.who
            elif isinstance(record, Detached) and readers.get(partition) == record.who:
                del readers[partition]
    return readers


def _violation(seen: Seen, text: str) -> Violation:
    return Violation(NAME, seen.facts.end, text)
