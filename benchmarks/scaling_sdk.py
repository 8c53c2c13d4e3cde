"""A fleet of official processors: the unmodified OwnershipManager decides who takes what, and when.

Rules: of the SDK, the very method that balances (`OwnershipManager._balance_ownership`) runs, on
the clock of the trace. Around it stands what its processor does, as benchmarks/balance_sdk.py runs
it whole: it looks when it starts and then every 30 s and up to a fifth more; who stops gives its
partitions free without a checkpoint; a reader that takes a partition cuts the other one off and
begins where the last checkpoint was. tests/unit/benchmarks/test_scaling_models.py holds this model
to what the whole processor does in the simulator's world.

The pods are those of a plain Deployment: its rollout takes a quarter more and a quarter fewer, the
default, and its ReplicaSet picks who goes: who is not ready, then the youngest, by the order of
magnitude of their age, then anybody (ReplicaSet, 'Scaling down', in the Kubernetes documentation).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

from azure.eventhub import LoadBalancingStrategy
from azure.eventhub.aio._eventprocessor import _ownership_manager

from scaling_fleet import GONE_IN_S, Fleet, Pod
from scaling_world import World

INTERVAL_S = 30.0
JITTER = 0.2
EXPIRES_IN_S = 6 * INTERVAL_S


@dataclass(slots=True)
class _Clock:
    now: float = 0.0

    def time(self) -> float:
        return self.now


@contextlib.contextmanager
def _as_its_own(clock: _Clock, dice: Random) -> Iterator[None]:
    """The SDK's module reads this clock and draws from these dice while it decides."""
    module: Any = _ownership_manager
    before = module.time, module.random
    module.time, module.random = SimpleNamespace(time=clock.time), dice
    try:
        yield
    finally:
        module.time, module.random = before


@dataclass(slots=True)
class _Processor:
    """What a pod's processor keeps: its manager, and when it looks next."""

    manager: Any
    looks_at: float


class Processors(Fleet):
    """See the module."""

    def __init__(self, world: World, dice: Random, expires_in_s: float = EXPIRES_IN_S) -> None:
        self._clock = _Clock()
        self._expires_in_s = expires_in_s
        self._processors: dict[str, _Processor] = {}
        self._records: dict[str, dict[str, Any]] = {}
        self._is_as_wanted = True
        super().__init__(world, dice)
        for p, owner in enumerate(self.owners):
            if owner is not None:
                self._write(p, owner.name)
        for pod in self.members:
            self._processor(pod, dice.uniform(0.0, INTERVAL_S))

    def want(self, replicas: int, now: int) -> None:  # noqa: ARG002 - it is seen in a step
        self.wanted = replicas
        self._is_as_wanted = False

    def step(self, now: int) -> None:
        self._clock.now = float(now)
        if now in self.trace.rollouts:
            self.revision += 1
            self._is_as_wanted = False
        if not self._is_as_wanted:
            self._reconcile(now)
        for pod in self.members:
            if pod.joins_at <= now and pod.gone_at is None:
                processor = self._processors.get(pod.name) or self._processor(pod, float(now))
                if processor.looks_at <= now:
                    self._look(pod, processor)

    # --- the Deployment and its ReplicaSets

    def _reconcile(self, now: int) -> None:
        for pod in [pod for pod in self.members if pod.gone_at is not None]:
            if pod.gone_at is not None and pod.gone_at <= now:
                self.drop(pod)
        living = [pod for pod in self.members if pod.gone_at is None]
        new = [pod for pod in living if pod.revision == self.revision]
        old = [pod for pod in living if pod.revision < self.revision]
        if not old:
            for _ in range(len(new), self.wanted):
                self._make(now)
            self._stop_some(new, len(new) - self.wanted, now)
            self._is_as_wanted = len(self.members) == self.wanted
            return
        surge = math.ceil(self.wanted / 4)
        room = min(self.wanted - len(new), self.wanted + surge - len(living))
        for _ in range(room):
            self._make(now)
        ready = sum(pod.joins_at <= now for pod in living)
        spare = ready - (self.wanted - self.wanted // 4)
        unready = [pod for pod in old if pod.joins_at > now]
        self._stop_some(unready, len(unready), now)
        self._stop_some([pod for pod in old if pod.joins_at <= now], spare, now)

    def _stop_some(self, pods: list[Pod], count: int, now: int) -> None:
        def rank(pod: Pod) -> tuple[bool, int, float]:
            age_s = now - pod.joins_at
            return age_s >= 0, int(math.log2(max(age_s, 1))), self.dice.random()

        for pod in sorted(pods, key=rank)[: max(count, 0)]:
            pod.gone_at = now + GONE_IN_S
            self._processors.pop(pod.name, None)
            for p in list(pod.owned):
                self._records[f"{p:03d}"]["owner_id"] = ""
                self.world.read_again(p)
                self.give(p, None)

    # --- the processors

    def _processor(self, pod: Pod, looks_at: float) -> _Processor:
        client: Any = SimpleNamespace(_address=SimpleNamespace(hostname="h"), eventhub_name="e")
        manager = _ownership_manager.OwnershipManager(
            client,
            "g",
            pod.name,
            None,
            self._expires_in_s,
            LoadBalancingStrategy.GREEDY,
            None,
        )
        made = self._processors[pod.name] = _Processor(manager, looks_at)
        return made

    def _look(self, pod: Pod, processor: _Processor) -> None:
        names = [f"{p:03d}" for p in self.world.partitions]
        listed = [dict(record) for record in self._records.values()]
        with _as_its_own(self._clock, self.dice):
            claims = processor.manager._balance_ownership(listed, names)
        for claim in claims:
            p = int(claim["partition_id"])
            self._write(p, pod.name)
            if self.owners[p] is not pod:
                self.world.read_again(p)
                self.give(p, pod)
                self.moves += 1
        # Steps are whole seconds: the rest is kept, so that the interval is right in the mean.
        processor.looks_at += INTERVAL_S * (1.0 + JITTER * self.dice.random())

    def _write(self, partition: int, owner: str) -> None:
        name = f"{partition:03d}"
        self._records[name] = {
            "partition_id": name,
            "owner_id": owner,
            "last_modified_time": self._clock.now,
        }
