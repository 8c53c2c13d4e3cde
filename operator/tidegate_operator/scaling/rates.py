"""How fast events arrive, and what one consumer can handle: learnt from look to look. Pure.

Rules:
- Arrivals are counted from where partitions end, over the last seconds: a rate that somebody else
  has averaged comes too late. Where ends are not told, the rate that the owner tells counts.
- What arrives wavers, and an objective leaves time to level that out: what has to be handled a
  second is the least with which no event would have waited for longer than a part of that time.
- The true rate is events by the time in which any handler of the consumer worked (the cost of an
  event). Calls that wait for each other (the GIL, a lock, the loop) take longer, but their events
  cost no more. The median of the consumers counts, and no look moves it far.
- A consumer handles partitions side by side. How many at once is of use to it shows when several
  calls run at once, or several of its partitions have a backlog; until that was seen it is taken
  to be one.
- Nothing is learnt from a consumer that has let go of a partition, until its figures are of the
  time after that alone: what it handled of the others was a share of its time. And nothing from
  one that has taken some, until it has figures of more than a moment of them all; where the cost
  of an event is known, until they are all of the time after that: who has just begun is slow.
- A partition is never handled faster than one event after the other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from types import MappingProxyType
from typing import NamedTuple

from tidegate.model import MemberName
from tidegate_operator.scaling.nouns import PartitionSample, Sample

# A rate of arrival is taken over at least so long, and from what is not older than this.
SPAN_S, _SHORT_S, _KEEP_S = 4.0, 1.9, 12.0
# All that arrives is noted so often, and kept for so long. After a pause it begins anew.
_NOTED_S, _NOTED_KEPT_S, _PAUSE_S = 5.0, 120.0, 60.0
# What waits for less than this is on its way.
BACKLOG_S = 3.0
# The cost of an event is averaged over so long; what is usual for it, over so much longer.
_COST_S, _USUAL_S = 15.0, 1800.0
# No look moves a cost by more than this factor.
_STEP = 4.0
# Figures are rounded: less than this says little.
_BUSY_LEAST, _HANDLING_LEAST = 0.02, 0.5
# Figures are of so long: the last 10 s, told up to 2 s later. The first that are told, which stand
# for 2 s, are of next to nothing.
FIGURES_S, _MOMENT_S = 12.0, 4.0
# From so much on a consumer works all the time, or on several partitions at once.
_FULL, _SEVERAL = 0.8, 1.2
# If several calls at once handle more than the known rate by this factor, they run side by side.
_PROFIT = 1.2


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Of one partition: where it ended lately, and the rate that follows."""

    ends: tuple[tuple[float, int], ...] = ()
    rate: float | None = None
    # The same over the shortest time: it wavers, and is the first to rise.
    newest: float | None = None


def arrivals_of(before: Arrivals, seen: PartitionSample, at: float) -> Arrivals:
    """With what a look says."""
    known_at = seen.end_at if seen.end_at is not None else at
    if seen.end is None:
        rate = seen.arriving if seen.arriving is not None else before.rate
        return Arrivals(before.ends if not before.ends or at - before.ends[-1][0] < _KEEP_S else (),
                        rate)  # fmt: skip
    ends = before.ends
    if ends and (known_at < ends[-1][0] or seen.end < ends[-1][1]):
        ends = ()
    if ends and known_at == ends[-1][0]:
        return replace(before, rate=before.rate if before.rate is not None else seen.arriving)
    # Where nobody reads, the one before may be older.
    kept = tuple(each for each in ends if known_at - each[0] <= _KEEP_S) or ends[-1:]
    ends = (*kept, (known_at, seen.end))
    long_ago = [each for each in ends if known_at - each[0] >= SPAN_S]
    if not long_ago:
        return Arrivals(ends, seen.arriving if seen.arriving is not None else before.rate)
    since, first = long_ago[-1]
    shortly = [each for each in ends if known_at - each[0] >= _SHORT_S]
    short_at, short = shortly[-1]
    return Arrivals(
        ends, (seen.end - first) / (known_at - since), (seen.end - short) / (known_at - short_at)
    )


class Note(NamedTuple):
    """What had come by a time, and the highest rate in the time before."""

    at: float
    came: float
    peak: float = 0.0


@dataclass(frozen=True, slots=True)
class Flow:
    """All that arrived in the partitions together, added up: by time, and up to now."""

    notes: tuple[Note, ...] = ()
    at: float = 0.0
    came: float = 0.0
    # The highest rate since the last note.
    peak: float = 0.0


def flow_of(before: Flow, rate: float, at: float) -> Flow:
    """With what has come since the look before."""
    seconds = at - before.at
    if not before.notes or not 0 < seconds <= _PAUSE_S:
        return Flow((Note(at, 0.0),), at)
    came, notes, peak = before.came + rate * seconds, before.notes, max(before.peak, rate)
    if at - notes[-1].at < _NOTED_S:
        return Flow(notes, at, came, peak)
    notes = tuple(note for note in notes if at - note.at <= _NOTED_KEPT_S)
    return Flow((*notes, Note(at, came, peak)), at, came)


def lasting(
    flow: Flow,
    wait_s: float,
    rate: float = 0.0,
    ahead_s: float = 0.0,
    *,
    over_s: float = _NOTED_KEPT_S,
) -> float:
    """What has to be handled a second so that none of what has come waits for longer.

    What has come is that of the last `over_s`, and goes on at `rate` for `ahead_s`. It is never
    less than the mean.
    """
    coming, found = rate * ahead_s, 0.0
    notes = [note for note in flow.notes if flow.at - note.at <= over_s + _NOTED_S]
    for since, before, _ in notes:
        events, seconds = flow.came - before + coming, flow.at - since + ahead_s
        found = max(found, events / (seconds + wait_s))
    since, before, _ = notes[0] if notes else Note(flow.at, flow.came)
    return max(found, (flow.came - before) / (flow.at - since) if flow.at > since else 0.0)


@dataclass(frozen=True, slots=True)
class Costs:
    """What is known of handling."""

    # Seconds of a handler's work for an event: now, and usually.
    event_s: float | None = None
    usual_event_s: float | None = None
    # How many partitions at once a consumer handles with profit.
    side_by_side: float = 1.0
    # When consumers were seen to be full, last.
    full_at: float | None = None
    # What a full consumer handled, where the cost of an event was not known then.
    full_rate: float | None = None

    @property
    def per_member(self) -> float | None:
        """What one consumer can handle; None where that was never seen."""
        if self.event_s is None:
            return self.full_rate
        return self.side_by_side / self.event_s

    @property
    def per_partition(self) -> float | None:
        """What can be handled of one partition."""
        return self.per_member if self.event_s is None else 1.0 / self.event_s


@dataclass(frozen=True, slots=True)
class _Work:
    """What one consumer did."""

    handling: float
    # The share of the time in which any of its handlers worked, and how many did then, on average.
    utilization: float
    at_once: float
    lag: int
    # Its partitions that have a backlog, and all of them.
    behind: int
    partitions: int

    @property
    def is_full(self) -> bool:
        """It handles what it can: several partitions wait for it, or all that it has."""
        is_behind = self.lag >= BACKLOG_S * self.handling
        return is_behind and self.utilization >= _FULL and self.behind >= min(2, self.partitions)


Unsettled = Mapping[MemberName, float]
_NOBODY = PartitionSample()


def unsettled_of(
    known: Unsettled, before: Sample | None, sample: Sample, *, is_cost_known: bool = False
) -> Unsettled:
    """Until when each consumer's figures teach nothing, as its partitions have changed."""
    at, taken_s = sample.at, FIGURES_S if is_cost_known else _MOMENT_S
    found = {name: until for name, until in known.items() if at < until}

    def changed(name: MemberName | None, lasts_s: float) -> None:
        if name is not None:
            found[name] = max(found.get(name, at), at + lasts_s)

    if before is None:
        # What they had before is not known.
        for seen in sample.partitions.values():
            changed(seen.owner, FIGURES_S)
        return MappingProxyType(found)
    rows = before.partitions
    for partition in {**rows, **sample.partitions}:
        then, now = rows.get(partition, _NOBODY), sample.partitions.get(partition, _NOBODY)
        if then.owner != now.owner:
            changed(then.owner, FIGURES_S)
        if _teller(then) != _teller(now):
            changed(_teller(now), taken_s)
    return MappingProxyType(found)


def _teller(seen: PartitionSample) -> MemberName | None:
    """Who says what is handled of a partition."""
    return seen.owner if seen.handling is not None else None


def works_of(sample: Sample, without: Collection[MemberName] = ()) -> tuple[_Work, ...]:
    """What each consumer does, of partitions that it can handle."""
    owned: defaultdict[MemberName, list[PartitionSample]] = defaultdict(list)
    for seen in sample.partitions.values():
        if seen.owner is None or seen.owner in without or seen.is_stuck:
            continue
        if seen.handling is not None and seen.busy is not None:
            owned[seen.owner].append(seen)
    return tuple(_work_of(rows) for _, rows in sorted(owned.items()))


def _work_of(rows: Sequence[PartitionSample]) -> _Work:
    busy = sum(each.busy or 0.0 for each in rows)
    utilization = sum(each.utilization or 0.0 for each in rows)
    if any(each.utilization is None and each.busy for each in rows):
        # A member of an older version does not tell it.
        utilization = min(busy, 1.0)
    return _Work(
        sum(each.handling or 0.0 for each in rows),
        utilization,
        max(busy / utilization, 1.0) if utilization else 1.0,
        sum(each.lag or 0 for each in rows),
        sum((each.lag or 0) >= max(BACKLOG_S * (each.handling or 0.0), 1) for each in rows),
        len(rows),
    )


def full_share(works: Iterable[_Work]) -> float:
    """The share of consumers that are full."""
    rows = list(works)
    return sum(work.is_full for work in rows) / len(rows) if rows else 0.0


def costs_of(before: Costs, works: Iterable[_Work], at: float, seconds: float) -> Costs:
    """With what a look says, `seconds` after the one before it."""
    rows = [w for w in works if w.utilization >= _BUSY_LEAST and w.handling >= _HANDLING_LEAST]
    costs = before
    single = [work.utilization / work.handling for work in rows if work.at_once <= _SEVERAL]
    if single:
        costs = _with_cost(costs, median_low(single), seconds)
    full = [work for work in rows if work.is_full]
    if full:
        return _of_full(costs, full, at, seconds)
    return _of_several(costs, rows, seconds) if rows and not single else costs


def _of_full(costs: Costs, full: Sequence[_Work], at: float, seconds: float) -> Costs:
    """Learn from consumers that can handle no more than they do."""
    costs = replace(costs, full_at=at)
    rate = median_low([work.handling for work in full])
    several = median_low([work.at_once for work in full])
    if costs.event_s is None:
        return replace(costs, full_rate=rate)
    if several <= _SEVERAL:
        return replace(_with_many(costs, 1.0, seconds), full_rate=None)
    many, costs = rate * costs.event_s, replace(costs, full_rate=None)
    if many >= costs.side_by_side:
        return _with_rate(costs, rate, several, seconds)
    # Fewer at once than was seen before, or else what has changed is the cost.
    costs = _with_many(costs, max(many, 1.0), seconds)
    return _with_cost(costs, costs.side_by_side / rate, seconds)


def _of_several(costs: Costs, rows: Sequence[_Work], seconds: float) -> Costs:
    """Learn from consumers that have several calls at once, and are not full."""
    rate = median_low([work.handling / work.utilization for work in rows])
    if costs.event_s is None:
        return _with_cost(costs, 1.0 / rate, seconds)
    return _with_rate(costs, rate, median_low([work.at_once for work in rows]), seconds)


def _with_rate(costs: Costs, rate: float, several: float, seconds: float) -> Costs:
    """Learn from the rate at which several calls at once handle events."""
    known, many = min(several, costs.side_by_side), rate * (costs.event_s or 0.0)
    if several > known and many > _PROFIT * known:
        # More at once than was seen before.
        return _with_many(costs, min(many, several), seconds)
    return _with_cost(costs, known / rate, seconds)


def _with_many(costs: Costs, many: float, seconds: float) -> Costs:
    known = costs.side_by_side
    return replace(costs, side_by_side=known + _part(seconds, _COST_S) * (many - known))


def _with_cost(costs: Costs, event_s: float, seconds: float) -> Costs:
    known = costs.event_s
    if known is None:
        many = 1.0 if costs.full_rate is None else max(costs.full_rate * event_s, 1.0)
        return replace(
            costs, event_s=event_s, usual_event_s=event_s, side_by_side=many, full_rate=None
        )
    found = min(max(event_s, known / _STEP), known * _STEP)
    cost = known + _part(seconds, _COST_S) * (found - known)
    usual = costs.usual_event_s if costs.usual_event_s is not None else cost
    return replace(
        costs, event_s=cost, usual_event_s=usual + _part(seconds, _USUAL_S) * (cost - usual)
    )


def _part(seconds: float, over_s: float) -> float:
    return -math.expm1(-max(seconds, 0.0) / over_s)
