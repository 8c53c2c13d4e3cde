"""What runs around a driver: log, metrics, health and, in a pod, the note for the operator.

It is that of any member (ops/around.py), with one board for all members of the driver. Rules: all
members of the office tell one observer; what one member says of its own end is not the driver's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from prometheus_client import REGISTRY

from tidegate.commands.wiring import Setup
from tidegate.model import MemberName, PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.around import Ops, OpsSettings, around
from tidegate.ops.board import Board
from tidegate.ops.observer import Observer
from tidegate.spark.file_note import FileNote
from tidegate.spark.gauges import Gauges
from tidegate.spark.pod_note import PodNote
from tidegate.spark.standing import Standing

# Members that were expected and have not come by then are not waited for.
_GATHER_S = 60.0


class Relay(Observer):
    """An observer that can be given away before there is anybody who listens."""

    def __init__(self) -> None:
        self.listener: Observer = Observer()

    def hear(self, fact: facts.Fact) -> None:
        self.listener.hear(fact)


class DriverBoard(Board):
    """The partitions of all members of a driver: those whose names begin with its own and '-x'."""

    def __init__(self, name: MemberName, expected: int, clock: Callable[[], float]) -> None:
        super().__init__(name)
        self._expected = expected
        self._clock = clock
        self._first_at: float | None = None

    def hear(self, fact: facts.Fact) -> None:
        # A member stops whenever its executor goes.
        if not isinstance(fact, facts.Stopping):
            super().hear(fact)

    def is_present(self) -> bool:
        """Whether our members have joined: as many as are expected, or those that came in time."""
        joined = sum(map(self._is_ours, self.members()))
        if not joined:
            return False
        if self._first_at is None:
            self._first_at = self._clock()
        return joined >= self._expected or self._clock() - self._first_at >= _GATHER_S

    def _is_ours(self, member: MemberName) -> bool:
        return member.startswith(f"{self.name}-x")

    def _is_read(self, partition: PartitionId) -> bool:
        place = self.places.get(partition)
        if place is not None and place.is_ours:
            return True
        owner = self.owner(partition)
        return owner is not None and not self._is_ours(owner)


@asynccontextmanager
async def around_driver(
    settings: OpsSettings,
    setup: Setup,
    board: DriverBoard,
    standing: Standing,
    note: PodNote | FileNote | None,
    environment: Mapping[str, str],
    relay: Relay,
) -> AsyncIterator[Ops]:
    """Sets all of it up, on the loop of the office. Raises SettingsError."""
    board.lineage = setup.group.spec.source.lineage
    gauges = Gauges(setup.group.name, standing)
    REGISTRY.register(gauges)
    noting = asyncio.create_task(note.keep()) if note is not None else None
    try:
        async with around(
            settings,
            member=board.name,
            group=setup.group.name,
            hub=setup.hub,
            secrets=setup.secrets,
            environment=environment,
            board=board,
        ) as ops:
            relay.listener = ops.observer
            yield ops
    finally:
        REGISTRY.unregister(gauges)
        if noting is not None:
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)
