"""A little group under load, in virtual time, and the decision loop on it.

Rules: events are counted in fractions and handled in order; a second is one step. Partitions are
dealt by number. What members say is what real ones say: rates of the last 10 s, and of arrival as
these tell it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tidegate.ops.arriving import End, arriving
from tidegate_operator.scaling import (
    Decision,
    History,
    PartitionSample,
    Policy,
    Sample,
    decide,
    decided,
    looked,
)
from unit.operator.scaling.backlog import Backlog

LOOK_S = 2
_WINDOW_S, _ENDS_S = 10, 15


@dataclass
class Queue(Backlog):
    """One partition."""

    # Of the last seconds: handled, busy, and the part of its member's utilization.
    lately: deque[tuple[float, float, float]] = field(
        default_factory=lambda: deque([(0.0, 0.0, 0.0)], maxlen=_WINDOW_S)
    )
    ends: deque[End] = field(default_factory=lambda: deque(maxlen=_ENDS_S + 1))


@dataclass
class Traffic:
    """See the module. `arriving(partition, second)` and `rate(members)` are events a second;
    `rate` is what one member handles, of all its partitions together."""

    arriving: Callable[[int, int], float]
    policy: Policy = field(default_factory=Policy)
    partitions: int = 16
    rate: Callable[[int], float] = lambda _: 100.0
    # At most so much of one partition.
    partition_rate: float = float("inf")
    # A call takes longer by as many times as its consumer has partitions.
    holds_up: bool = False
    # Members of an older version do not.
    tells_utilization: bool = True
    start_s: int = 8
    replicas: int = 1
    # What a look may be made into, such as one in which nothing is known.
    seen: Callable[[Sample], Sample] = lambda sample: sample
    now: int = 0
    history: History = field(default_factory=History)
    queues: list[Queue] = field(default_factory=list)
    members: int = 0
    coming: list[tuple[int, int]] = field(default_factory=list)
    # What is counted: by time, the decisions that changed the number; seconds out of objective.
    changes: list[tuple[int, int, Decision]] = field(default_factory=list)
    late_s: int = 0
    pod_s: int = 0
    worst_s: float = 0.0
    last: Decision | None = None
    _members_before: int = -1

    def __post_init__(self) -> None:
        self.queues = [Queue() for _ in range(self.partitions)]
        self.members = self.replicas

    def run(self, seconds: int) -> Traffic:
        for _ in range(seconds):
            self._second()
            if self.now % LOOK_S == 0:
                self.look()
        return self

    def look_after(self, seconds: int) -> Decision:
        """The decision of the look after so many seconds, which have no other look."""
        for _ in range(seconds):
            self._second()
        return self.look()

    def look(self) -> Decision:
        at = float(self.now)
        self.history = looked(self.history, self.seen(self._sample()), self.policy)
        decision = decide(self.history, self.policy, at)
        self.history = decided(self.history, decision, at)
        self.last = decision
        if decision.replicas != self.replicas:
            self.changes.append((self.now, decision.replicas, decision))
            if decision.replicas > self.replicas:
                self.coming.append((self.now + self.start_s, decision.replicas))
            else:
                self.members = min(self.members, decision.replicas)
                self.coming = []
            self.replicas = decision.replicas
        return decision

    @property
    def counts(self) -> list[int]:
        return [count for _, count, _ in self.changes]

    @property
    def lag(self) -> float:
        return sum(queue.lag for queue in self.queues)

    def _second(self) -> None:
        self.now += 1
        if self.members != self._members_before:
            # Whoever has a partition anew measures anew.
            for queue in self.queues:
                queue.lately = deque([(0.0, 0.0, 0.0)], maxlen=_WINDOW_S)
            self._members_before = self.members
        self.pod_s += self.replicas
        for ready_at, count in list(self.coming):
            if self.now >= ready_at:
                self.members = min(max(self.members, count), self.replicas)
                self.coming.remove((ready_at, count))
        for place, queue in enumerate(self.queues):
            queue.arrive(self.now, self.arriving(place, self.now))
            queue.ends.append(End(self.now, round(queue.came)))
        self._handle()
        oldest = max(queue.behind_s(self.now) for queue in self.queues)
        self.worst_s = max(self.worst_s, oldest)
        self.late_s += oldest > (self.policy.within_s or 60.0)

    def _handle(self) -> None:
        rate = self.rate(self.members) if self.members else 0.0
        done = [0.0] * self.partitions
        for member in range(self.members):
            mine = self.queues[member :: self.members]
            places = range(member, self.partitions, self.members)
            left, open_places = rate, [p for p in places if self.queues[p].lag]
            # Whoever has less takes less; what that leaves is for the others.
            for place in sorted(open_places, key=lambda p: self.queues[p].lag):
                share = left / max(len(open_places), 1)
                done[place] = min(share, self.queues[place].lag, self.partition_rate)
                left -= done[place]
                open_places = open_places[1:]
            assert mine
        for place, queue in enumerate(self.queues):
            queue.handle(done[place])
            busy = utilization = done[place] / min(rate, self.partition_rate) if rate else 0.0
            if self.holds_up and self.members:
                its = math.ceil((self.partitions - place % self.members) / self.members)
                busy = min(busy * its, 1.0)
            elif rate > self.partition_rate:
                utilization *= self._shared(done, place % self.members)
            queue.lately.append((done[place], busy, utilization))

    def _shared(self, done: list[float], member: int) -> float:
        """How much of a call's time is its own where calls run side by side, as it comes."""
        busy = [each / self.partition_rate for each in done[member :: self.members]]
        any_works = 1.0 - math.prod(1.0 - min(each, 1.0) for each in busy)
        return any_works / sum(busy) if any_works else 1.0

    def _sample(self) -> Sample:
        return Sample(
            at=float(self.now),
            partitions={str(place): self._seen(place) for place in range(self.partitions)},
            replicas=self.replicas,
            members=self.members,
            is_settled=self.members == self.replicas,
        )

    def _seen(self, place: int) -> PartitionSample:
        queue = self.queues[place]
        handled, busy, utilization = (
            sum(each[part] for each in queue.lately) / len(queue.lately) for part in range(3)
        )
        is_read = self.members > 0
        return PartitionSample(
            lag=round(queue.came) - round(queue.handled),
            behind_s=queue.behind_s(self.now),
            arriving=round(arriving(queue.ends) or 0.0, 1) if is_read else None,
            handling=round(handled, 1) if is_read else None,
            busy=round(busy, 3) if is_read else None,
            utilization=round(utilization, 3) if is_read and self.tells_utilization else None,
            owner=f"m{place % self.members}" if is_read else None,
            end=round(queue.came),
            handled=round(queue.handled),
        )
