"""The leader's Lease as an API server keeps it, and operators that want it, in virtual time."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

from support import virtual_time
from tidegate_operator.leader import Leader, LeaseTaken, LeaseUnreachable
from tidegate_operator.settings import OperatorSettings

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")


class Cluster:
    """The Lease as an API server keeps it, and what can go wrong on the way to it."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.writes = 0
        self.cut_off: set[str] = set()
        # Whose replies are lost, though what they wrote is written.
        self.deaf: set[str] = set()
        self.latency_s = 0.02


class Connection:
    def __init__(self, cluster: Cluster, who: str) -> None:
        self._cluster = cluster
        self._who = who

    async def read(self) -> dict[str, Any] | None:
        await self._reach()
        return copy.deepcopy(self._cluster.lease)

    async def write(self, lease: dict[str, Any]) -> dict[str, Any]:
        await self._reach()
        held = self._cluster.lease
        version = held["metadata"]["resourceVersion"] if held is not None else None
        if lease["metadata"].get("resourceVersion") != version:
            raise LeaseTaken
        self._cluster.writes += 1
        written = copy.deepcopy(lease)
        written["metadata"]["resourceVersion"] = str(self._cluster.writes)
        self._cluster.lease = written
        if self._who in self._cluster.deaf:
            raise LeaseUnreachable("the reply is lost")
        return copy.deepcopy(written)

    async def _reach(self) -> None:
        await asyncio.sleep(self._cluster.latency_s)
        if self._who in self._cluster.cut_off:
            raise LeaseUnreachable("nothing answers")


class Candidate:
    """An operator that notes when it acts."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        wall: Callable[[], float] = lambda: 0.0,
        now: Callable[[], float] = virtual_time.now,
    ) -> None:
        settings = OperatorSettings(identity=name, leader_namespace="tidegate", image="x")
        self.name = name
        self.terms: list[tuple[float, float]] = []
        self.leader = Leader(Connection(cluster, name), settings, now, wall, lambda: 0.5)
        self.task = asyncio.create_task(self.leader.run(self._lead))
        self._began: float | None = None

    @property
    def acts(self) -> bool:
        return self._began is not None

    async def _lead(self) -> None:
        self._began = virtual_time.now()
        try:
            await asyncio.Event().wait()
        finally:
            self.terms.append((self._began, virtual_time.now()))
            self._began = None

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def until(condition: Callable[[], bool], seconds: float = 120.0) -> float:
    """When it came true."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
    return virtual_time.now()
