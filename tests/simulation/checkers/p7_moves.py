"""P7: where nothing fails, a change of members costs as few moves as it can.

The fewest are all that those who leave had, and what those who stay have above their new counts.
Partitions that nobody had owned are dealt out once, and in a rollout each partition moves once.
A stall of storage that everybody feels, and nothing else, moves nothing (rule 8). Nobody breaks a
tenure that is younger than the hand-over limit (rule 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import ASKED_TO_STOP, STARTED, Attached, Did, name_of
from simulation.script import Kind, Script, Trouble, What
from simulation.weather import EVERYBODY
from tidegate.ports import Break, WriteOwnership

NAME = "P7"


def check(seen: Seen) -> Iterator[Violation]:
    yield from _stalls(seen)
    yield from early_breaks(seen)
    if seen.script.kind not in (Kind.CALM, Kind.RELEASES):
        return
    for begin, end in _changes(seen):
        before = _owners(seen, begin)
        after = _owners(seen, end)
        moved = sum(_moves(seen, partition, begin, end) for partition in seen.facts.timetable)
        fewest = fewest_moves(before, members_at(seen, end), len(seen.facts.timetable))
        if moved > fewest:
            text = f"{moved} moves until {end:.0f} s where {fewest} are enough: {before} -> {after}"
            yield Violation(NAME, begin, text)


def early_breaks(seen: Seen) -> Iterator[Violation]:
    limit_s = seen.script.hand_over_limit_s * (1 - 2 * seen.script.drift) - 1.0
    for partition, records in seen.partitions.items():
        begun = 0.0
        for record in records:
            if isinstance(record, Did) and isinstance(record.operation, WriteOwnership):
                begun = record.at
            elif isinstance(record, Did) and isinstance(record.operation, Break):
                is_operator = record.who.startswith("operator")
                if not is_operator and record.at - begun < limit_s:
                    text = f"{record.who} broke a tenure that was {record.at - begun:.1f} s old"
                    yield Violation(NAME, record.at, f"{partition}: {text}")


def lone_stalls(script: Script) -> Iterator[tuple[Trouble, float]]:
    """What everybody felt of storage and nothing else befell, and until when its echo lasts."""
    if script.rates.cumulative():
        return
    calm_s = 3 * script.lease_s
    for stall in script.troubles:
        if stall.what is not What.STORAGE_DOWN or stall.member != EVERYBODY:
            continue
        end = stall.at + stall.length_s + calm_s
        others = [
            trouble
            for trouble in script.troubles
            if trouble is not stall
            and (trouble.what is not What.JOIN or trouble.at > stall.at - script.lease_s)
        ]
        if not any(t.at < end and t.at + t.length_s + calm_s > stall.at for t in others):
            yield stall, end


def _stalls(seen: Seen) -> Iterator[Violation]:
    for stall, end in lone_stalls(seen.script):
        for partition in seen.facts.timetable:
            if _moves(seen, partition, stall.at, end):
                yield Violation(NAME, stall.at, f"{partition} moved in a stall that all had felt")


def _changes(seen: Seen) -> list[tuple[float, float]]:
    """The periods from one change of members to the next; a rollout is one change."""
    kinds = (What.JOIN, What.STOP, What.ROSTER)
    begins = sorted({trouble.at for trouble in seen.script.troubles if trouble.what in kinds})
    if seen.script.kind is Kind.RELEASES:
        begins = [begins[0], *(at for at in begins if at >= 25.0)][:2]
    ends = [*begins[1:], seen.facts.end]
    return list(zip(begins, ends, strict=True)) if begins else []


def _owners(seen: Seen, at: float) -> dict[str, str]:
    """Who read each partition last, by name."""
    owners: dict[str, str] = {}
    for partition, records in seen.partitions.items():
        for record in records:
            if record.at >= at:
                break
            if isinstance(record, Attached):
                owners[partition] = name_of(record.who)
    return owners


def _moves(seen: Seen, partition: str, begin: float, end: float) -> int:
    """How often a partition got another reader; the very first one counts too."""
    owner, moves = "", 0
    for record in seen.partitions.get(partition, ()):
        if isinstance(record, Attached) and record.at < end:
            name = name_of(record.who)
            moves += name != owner and record.at >= begin
            owner = name
    return moves


def members_at(seen: Seen, at: float) -> set[str]:
    """Who is there and stays."""
    members: set[str] = set()
    for life in seen.lives:
        if life.at < at:
            if life.what == STARTED:
                members.add(name_of(life.who))
            elif life.what == ASKED_TO_STOP:
                members.discard(name_of(life.who))
    return members


def fewest_moves(before: Mapping[str, str], members: set[str], partitions: int) -> int:
    """The least number of moves that gives each member its count, floor or ceiling."""
    if not members:
        return 0
    floor, above = divmod(partitions, len(members))
    counts = Counter(owner for owner in before.values() if owner in members)
    kept = 0
    for rank, (_, count) in enumerate(counts.most_common()):
        kept += min(count, floor + (rank < above))
    return partitions - kept
