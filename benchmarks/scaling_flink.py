"""Flink's autoscaler, as its source says, on a job that is stopped and started for each step.

Rules, and where they are from (apache/flink-kubernetes-operator, flink-autoscaler):
- Capacity wanted = lag / catch-up + rate x restart / catch-up + rate / utilisation
  (AutoScalerUtils.getTargetProcessingCapacity), against the true processing rate: events a second
  over the busy share of the busiest subtask (ScalingMetricEvaluator, busy-time.aggregator MAX).
- Averages are over 15 minutes, which begin anew 5 minutes after each start. Nothing is done where
  the true rate is between the capacities for utilisations of 0.7 + 0.3 and 0.7 - 0.3; with more
  than 5 minutes of backlog it is never taken down (ScalingMetricEvaluator).
- Parallelism = ceil(now x wanted / true), never below 0.4 of it in one step, and then the next
  number that divides the partitions (JobVertexScaler.scale). Down: the highest of what was wanted,
  an hour after it was first wanted (applyScaleDownInterval).
- Every default is that of AutoScalerOptions. The autoscaler looks every minute
  (kubernetes.operator.reconcile.interval).
- A step stops the whole job with its state and starts it again: 30 s here, for pods of 12 s. Its
  own default assumes five minutes. Nothing is handled twice.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from random import Random

from scaling_fleet import Fleet
from scaling_world import World

EVERY_S = 60
WINDOW_S, STABLE_S = 15 * 60, 5 * 60
CATCH_UP_S, RESTART_S = 30 * 60, 5 * 60
UTILISATION, BOUNDARY = 0.7, 0.3
BACKLOG_S = 5 * 60
DOWN_AFTER_S = 3600
LEAST_FACTOR = 1 - 0.6
DOWN_FOR_S = 30


def capacity_for(rate: float, lag: float, utilisation: float, *, restarts: bool) -> float:
    """Events a second that the job shall be able to handle."""
    restart = rate * RESTART_S / CATCH_UP_S if restarts else 0.0
    if utilisation <= 0:
        return math.inf
    return round(lag / CATCH_UP_S + restart + rate / min(utilisation, 1.0))


def parallelism_for(now: int, factor: float, partitions: int, most: int) -> int:
    """The next parallelism, aligned to the partitions; `most` is no fewer than these."""
    wish = min(max(math.ceil(factor * now), 1), most)
    top = min(partitions, most) if wish > now else now
    return next((count for count in range(wish, top + 1) if partitions % count == 0), now)


class Job(Fleet):
    """Every subtask reads its part of the partitions; a step stops them all for a while."""

    def __init__(self, world: World, dice: Random) -> None:
        super().__init__(world, dice)
        self.started_at = 0

    def want(self, replicas: int, now: int) -> None:
        self.wanted = replicas
        self._restart(now)

    def step(self, now: int) -> None:
        if now in self.trace.rollouts:
            self._restart(now)

    def _restart(self, now: int) -> None:
        self.started_at = now + DOWN_FOR_S
        owners = [self.members.index(owner) for owner in self.owners if owner is not None]
        for p, owner in enumerate(self.owners):
            if owner is not None:
                self.world.stored[p] = self.world.positions[p]
                self.give(p, None)
        for pod in list(self.members):
            self.drop(pod)
        for _ in range(self.wanted):
            self._make(now).joins_at = self.started_at
        for p in self.world.partitions:
            self.moves += owners[p] != p % self.wanted
            self.give(p, self.members[p % self.wanted])


@dataclass(frozen=True, slots=True)
class _Seen:
    """What had come together by a second."""

    at: int
    handled: float
    lag: float
    # Of the busiest subtask, in the minute before.
    load: float


class Flink:
    """The autoscaler of one job with one vertex."""

    def __init__(self, world: World, job: Job) -> None:
        self._world, self._job = world, job
        self._seen: deque[_Seen] = deque()
        self._busy_s = list(world.busy_s)
        self._begins_at = STABLE_S
        self._lower: deque[tuple[int, int]] = deque()

    def wanted(self, now: int) -> int:
        job = self._job
        if now % EVERY_S == 0 and now > 0:
            self._look(now)
            if job.started_at + STABLE_S > self._begins_at:
                self._begins_at = job.started_at + STABLE_S
                self._seen.clear()
            if self._seen and now - self._seen[0].at >= WINDOW_S:
                return self._decide(now)
        return job.wanted

    def _look(self, now: int) -> None:
        world = self._world
        loads = [
            sum(world.busy_s[p] - self._busy_s[p] for p in pod.owned) / EVERY_S
            for pod in self._job.members
        ]
        self._busy_s = list(world.busy_s)
        lag = sum(c[now] - p for c, p in zip(world.trace.arrived, world.positions, strict=True))
        if now >= self._begins_at:
            self._seen.append(_Seen(now, sum(world.positions), lag, max(loads)))
        while len(self._seen) > 1 and self._seen[1].at <= now - WINDOW_S:
            self._seen.popleft()

    def _decide(self, now: int) -> int:
        first, last, current = self._seen[0], self._seen[-1], self._job.wanted
        span = last.at - first.at
        handled = (last.handled - first.handled) / span
        rate = max(handled + (last.lag - first.lag) / span, 0.0)
        busy = sum(seen.load for seen in list(self._seen)[1:]) / (len(self._seen) - 1)
        if handled <= 0 or busy <= 0:
            return current
        true_rate = handled / busy
        is_behind = last.lag / handled > BACKLOG_S
        upper = 1.0 if is_behind else UTILISATION + BOUNDARY
        lower = 0.0 if is_behind else UTILISATION - BOUNDARY
        at_least = capacity_for(rate, last.lag, upper, restarts=False)
        at_most = capacity_for(rate, last.lag, lower, restarts=True)
        wanted = capacity_for(rate, last.lag, UTILISATION, restarts=True)
        factor = max(wanted / true_rate, LEAST_FACTOR)
        trace = self._world.trace
        wish = parallelism_for(current, factor, len(self._world.partitions), trace.most)
        if wish >= current:
            self._lower.clear()
            return wish if true_rate < at_least else current
        self._lower.append((now, wish))
        is_outside = true_rate > at_most
        if now - self._lower[0][0] < DOWN_AFTER_S or not is_outside:
            return current
        while self._lower[0][0] < now - DOWN_AFTER_S:
            self._lower.popleft()
        return max(wish for _, wish in self._lower)
