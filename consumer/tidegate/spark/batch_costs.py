"""What an event costs a member of a driver, by how long batches of different sizes take. Pure.

Spark takes a while for a batch whatever is in it: planning, tasks, the round to storage. A member
that is given little has many small batches, each of which takes about as long as one of a thousand
times as much. So the time that a batch takes says nothing of what the member can handle; what it
would take a full batch does:

    costs = BatchCosts()
    costs.learn(events, seconds)                 # events of its fullest member
    costs.event_s(most=25_000)                   # with its part of the fixed cost of a full batch
    costs.worked(full, members, reads, seconds)  # both, for each partition of a batch

Rules:
- A batch takes fixed + events x each. Of each size, to a factor of two, the median of the last few
  batches counts; and of all pairs of sizes the slope that lies in the middle, by how far they are
  apart. So neither a batch that was slow once nor hours of small ones change much.
- An event costs no more than it did in the batch where it took least, and no less than a tenth of
  that: from batches of one size alone nothing can be told, and all of their time counts.
- The first batches of a life take longer, while Java and workers start, and do not count.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from tidegate.model import MemberName, PartitionId
from tidegate.spark.admission import Limit
from tidegate.spark.positions import TurnRead

_FIRST_ONES = 3
# Of each size so many batches count.
_KEPT = 9
_LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that a batch takes, and that each of its events takes besides."""

    fixed_s: float
    event_s: float

    def of_full(self, most: float | None) -> float:
        """Of an event in a batch of so many; None where there is no limit to it."""
        return self.event_s + (self.fixed_s / most if most else 0.0)


# How many events, and how many seconds they took.
Point = tuple[float, float]


def cost_of(points: Sequence[Point]) -> Cost:
    """By batches of different sizes, at least one: each of at least one event."""
    most = min(seconds / events for events, seconds in points)
    each = min(max(_slope(points, most), _LEAST_SHARE * most), most)
    return Cost(max(median(seconds - each * events for events, seconds in points), 0.0), each)


def _slope(points: Sequence[Point], unknown: float) -> float:
    """Seconds for one event more: the middle one of all pairs, by how far they are apart."""
    pairs = sorted(
        ((late - early) / (many - few), many - few)
        for (few, early), (many, late) in combinations(sorted(points), 2)
        if many > few
    )
    half = sum(weight for _, weight in pairs) / 2
    for slope, weight in pairs:
        half -= weight
        if half <= 0:
            return slope
    return unknown


class BatchCosts:
    """See the module. One for each life of a driver."""

    def __init__(self) -> None:
        self._batches = 0
        # By the size of the number of events.
        self._seen: dict[int, deque[Point]] = {}
        self._cost: Cost | None = None

    def learn(self, events: int, seconds: float) -> None:
        """A batch went well, and its fullest member had so many events of it."""
        self._batches += 1
        if events <= 0 or seconds <= 0 or self._batches <= _FIRST_ONES:
            return
        self._seen.setdefault(events.bit_length(), deque(maxlen=_KEPT)).append((events, seconds))
        self._cost = cost_of([_middle(points) for points in self._seen.values()])

    def event_s(self, most: float | None) -> float | None:
        """What an event costs in a batch of so many; None where it is not known yet."""
        return None if self._cost is None else self._cost.of_full(most)

    def worked(
        self, full: Full, members: Mapping[PartitionId, MemberName], reads: Sequence[TurnRead],
        seconds: float,
    ) -> dict[PartitionId, float]:  # fmt: skip
        """How long a batch that took so long worked for each partition; learns from it.

        `members` hold the partitions of the driver. Nothing is said before an event has a price.
        """
        shares: Counter[MemberName] = Counter()
        for read in reads:
            shares[members[read.partition]] += read.events
        self.learn(max(shares.values(), default=0), seconds)
        each = self.event_s(full.of_member(members, reads)) or 0.0
        return {read.partition: min(read.events * each, seconds) for read in reads}


@dataclass(frozen=True, slots=True)
class Full:
    """What a batch may have at most; `budget` is of each partition."""

    limit: Limit
    budget: int | None = None

    def of_member(
        self, members: Mapping[PartitionId, MemberName], reads: Sequence[TurnRead]
    ) -> float | None:
        """How many events of a member: None where there is no limit."""
        events, size = sum(read.events for read in reads), sum(read.bytes for read in reads)
        bounds = [float(self.limit.events)] if self.limit.events else []
        if self.limit.bytes and size:
            bounds.append(self.limit.bytes * events / size)
        if self.budget is not None:
            bounds.append(float(self.budget * len(members)))
        each = max(len(set(members.values())), 1)
        return max(min(bounds) / each, 1.0) if bounds else None


def _middle(points: Sequence[Point]) -> Point:
    return median(events for events, _ in points), median(seconds for _, seconds in points)
