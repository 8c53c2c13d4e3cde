"""Azure Functions' target-based scaling of an Event Hubs trigger, as published.

Rules, and where they are from:
- Wanted are the unprocessed events / the target, rounded up, and then to the next number that makes
  the largest share of partitions smaller. The target is maxEventBatchSize, 100 by default, or
  targetUnprocessedEventThreshold (Azure/azure-sdk-for-net, EventHubsTargetScaler.cs:
  GetScaleResultInternal, GetSortedValidWorkerCountsForPartitionCount; Microsoft's page
  'Target-based scaling').
- Nothing is taken away in the 180 s after anything was added (the same file:
  ThrottleScaleDownIfNecessaryInternal).
- At most four are added at a time (the same page), and for triggers other than HTTP at most every
  30 s ('Event-driven scaling in Azure Functions': new instance rate).
- Its hosts are official processors, which take an owner for dead after two minutes
  (PartitionOwnershipExpirationInterval).
"""

from __future__ import annotations

import math
from bisect import bisect_left

from scaling_world import Crew, Outage, World

EVERY_S = 30
AT_A_TIME = 4
NOT_DOWN_S = 180
DEFAULT_TARGET = 100
EXPIRES_IN_S = 120.0


def valid_counts(partitions: int) -> list[int]:
    """The numbers of workers that it takes for so many partitions."""
    return [0, *sorted({math.ceil(partitions / count) for count in range(1, partitions + 1)})]


def workers_for(events: float, target: int, partitions: int) -> int:
    counts = valid_counts(partitions)
    return counts[min(bisect_left(counts, math.ceil(events / target)), len(counts) - 1)]


def throttled(vote: int, voted: int, since_up_s: float) -> int:
    """The vote that counts, so long after anything was added."""
    return voted if vote < voted and since_up_s < NOT_DOWN_S else vote


class Functions:
    """The scale controller."""

    def __init__(self, world: World, crew: Crew, target: int = DEFAULT_TARGET) -> None:
        self._world, self._crew, self._target = world, crew, target
        self._voted = crew.wanted
        self._up_at = -NOT_DOWN_S

    def wanted(self, now: int) -> int:
        replicas, trace = self._crew.wanted, self._world.trace
        if now % EVERY_S or any(trace.is_out(what, now) for what in Outage):
            return replicas
        vote = workers_for(self._world.lag(now), self._target, len(self._world.partitions))
        vote = throttled(vote, self._voted, now - self._up_at)
        if vote > self._voted:
            self._up_at = now
        self._voted = vote
        return min(max(min(vote, replicas + AT_A_TIME), trace.least), trace.most)
