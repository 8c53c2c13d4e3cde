"""KEDA's Event Hubs scaler and the Kubernetes autoscaler that it feeds, as their sources say.

Rules, and where they are from:
- The metric is the events that no checkpoint covers, added up, and no more than the threshold times
  the partitions (kedacore/keda, pkg/scalers/azure_eventhub_scaler.go: calculateUnprocessedEvents
  and getTotalLagRelatedToPartitionAmount). unprocessedEventThreshold is 64 by default.
- KEDA looks every pollingInterval (30 s) only to wake a group from zero, and to put it to sleep
  when there was nothing for the cooldownPeriod (300 s); between, the HorizontalPodAutoscaler asks
  for the metric itself (KEDA, 'ScaledObject specification' and 'Scaling Deployments').
- Every 15 s it wants ceil(metric / threshold), unless metric / (threshold x replicas) is within a
  tolerance of 0.1 of 1 (kubernetes, pkg/controller/podautoscaler/replica_calculator.go:
  GetExternalPerPodMetricReplicas).
- Up: by 100 % or 4 pods in 15 s, whichever is more. Down: to the highest of what was wanted in the
  last 300 s (Kubernetes, 'Horizontal Pod Autoscaling': 'Default behavior').
- A metric that cannot be had changes nothing, but where a fallback is set: after three looks in
  vain it is what asks for so many replicas (KEDA, 'ScaledObject specification': fallback).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from scaling_world import Crew, Outage, World

SYNC_S = 15
TOLERANCE = 0.1
UP_PODS, UP_FACTOR = 4, 2
FAILURES_FOR_FALLBACK = 3


@dataclass(frozen=True, slots=True)
class KedaSettings:
    """What a user of KEDA sets, with KEDA's defaults."""

    threshold: int = 64
    polling_s: int = 30
    cooldown_s: int = 300
    stable_s: int = 300
    fallback: int | None = None

    def __str__(self) -> str:
        said = [f"threshold {self.threshold:,}", f"down after {self.stable_s} s"]
        said += [f"poll {self.polling_s} s"] if self.polling_s != 30 else []
        said += [f"cooldown {self.cooldown_s} s"] if self.cooldown_s != 300 else []
        said += [f"fallback {self.fallback}"] if self.fallback is not None else []
        return ", ".join(said)


def metric_of(lag: float, partitions: int, threshold: int) -> int:
    """What the scaler reports for so many unprocessed events."""
    return partitions * threshold if lag // threshold > partitions else math.floor(lag)


def wished(metric: float, threshold: int, replicas: int) -> int:
    """How many replicas the HorizontalPodAutoscaler computes for a target average value."""
    if replicas and abs(1.0 - metric / (threshold * replicas)) <= TOLERANCE:
        return replicas
    return math.ceil(metric / threshold)


def up_to(replicas: int) -> int:
    """The most replicas after one step up."""
    return max(replicas + UP_PODS, replicas * UP_FACTOR)


class Keda:
    """See the module."""

    def __init__(self, world: World, crew: Crew, settings: KedaSettings) -> None:
        self._world, self._crew, self._settings = world, crew, settings
        trace = world.trace
        self._least, self._most = trace.least, trace.most
        self._advice = deque([(0, crew.wanted)])
        self._active_at = 0
        self._failures = 0

    def wanted(self, now: int) -> int:
        replicas = self._crew.wanted
        if now % self._settings.polling_s == 0:
            replicas = self._poll(now, replicas)
        if now % SYNC_S == 0 and replicas > 0:
            replicas = self._sync(now, replicas)
        return replicas

    def _poll(self, now: int, replicas: int) -> int:
        lag = self._lag(now)
        self._failures = self._failures + 1 if lag is None else 0
        if lag is None:
            return replicas
        if lag > 0:
            self._active_at = now
            return max(replicas, self._least, 1)
        is_cool = now - self._active_at >= self._settings.cooldown_s
        return 0 if is_cool and self._least == 0 else replicas

    def _sync(self, now: int, replicas: int) -> int:
        settings = self._settings
        lag = self._lag(now)
        if lag is not None:
            metric = metric_of(lag, len(self._world.partitions), settings.threshold)
        elif settings.fallback is not None and self._failures >= FAILURES_FOR_FALLBACK:
            metric = settings.fallback * settings.threshold
        else:
            return replicas
        advice = self._advice
        advice.append((now, wished(metric, settings.threshold, replicas)))
        while advice[0][0] < now - settings.stable_s:
            advice.popleft()
        wish = advice[-1][1]
        if wish < replicas:
            wish = min(max(count for _, count in advice), replicas)
        return min(max(min(wish, up_to(replicas)), self._least, 1), self._most)

    def _lag(self, now: int) -> float | None:
        """It asks the hub for its ends and storage for the checkpoints: both, or nothing."""
        if any(self._world.trace.is_out(what, now) for what in Outage):
            return None
        return self._world.lag(now)
