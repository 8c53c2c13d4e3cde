"""Keeps what is known of the ends of what we hold, and tells who listens to it.

Rules: on the office's loop; what cannot be asked is said once for each reason, of its partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, Protocol, cast

from tidegate.commands.ends import END_EVERY_S, end_fact
from tidegate.model import Listing, MemberName, PartitionEnd, PartitionId, Position
from tidegate.ops.observer import UnitsSpent
from tidegate.sources.choose import EndingSource
from tidegate.spark.feed_ends import FeedEnds
from tidegate.spark.held import HeldPartition
from tidegate.spark.hub_ends import HubEnds, Until
from tidegate.spark.telling import Telling
from tidegate.spark.tools import Tools
from tidegate.spark.waiting import lags

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource

_LOOK_S = 1.0
Hear = Callable[[PartitionId, PartitionEnd], None]


class SourceEnds(Protocol):
    """How far the partitions of a source have come: hub_ends.py, feed_ends.py."""

    known: dict[PartitionId, PartitionEnd]
    asked_at: float
    troubles: dict[PartitionId, str]

    async def ask(self, positions: Mapping[PartitionId, Position]) -> None: ...

    async def ask_all(self) -> dict[PartitionId, PartitionEnd]: ...

    def seen(
        self, positions: Mapping[PartitionId, Position], until: Until | None
    ) -> tuple[Mapping[PartitionId, PartitionEnd], Until | None]: ...

    def waiting(
        self,
        until: Until,
        positions: Mapping[PartitionId, Position],
        listing: Listing | None,
        ours: Set[MemberName],
    ) -> frozenset[PartitionId]: ...


def ends_of(source: EndingSource, hear: Hear) -> SourceEnds:
    """Whatever asks this source."""
    if hasattr(source, "lineage"):
        # The only one whose partitions come and go. A hub's driver does without its SDK.
        container = cast("CosmosSource", source)
        return FeedEnds(container, hear, container.poll_s)
    return HubEnds(source, hear)


class EndsWatch:
    """See the module."""

    def __init__(
        self, tools: Tools, held: dict[PartitionId, HeldPartition], telling: Telling
    ) -> None:
        self.ends = ends_of(tools.source, self._hear)
        self._tools = tools
        self._held = held
        self._telling = telling
        self._said: dict[PartitionId, str] = {}
        self._told_units = 0.0

    async def watch(self) -> None:
        """For ever: ends are known also while nobody plans."""
        while True:
            if asyncio.get_running_loop().time() - self.ends.asked_at >= END_EVERY_S:
                await self.ask()
            await asyncio.sleep(_LOOK_S)

    async def ask(self) -> None:
        """One round, of what we hold."""
        await self.ends.ask(self.positions())
        for partition, why in self.ends.troubles.items():
            held = self._held.get(partition)
            if held is not None and self._said.get(partition) != why:
                self._telling.report(held, "end-unknown", why)
        self._said = dict(self.ends.troubles)
        spent: float = getattr(self._tools.source, "units", 0.0)
        self.spent(spent - self._told_units)
        self._told_units = spent

    def spent(self, units: float) -> None:
        """Request units, here or in a worker."""
        if units > 0:
            self._tools.observer.hear(UnitsSpent("monitored", units))

    def _hear(self, partition: PartitionId, end: PartitionEnd) -> None:
        held = self._held.get(partition)
        if held is not None:
            now, wall = self._tools.clock(), self._tools.wall()
            held.holder.observer.hear(end_fact(partition, end, now, wall))

    def positions(self) -> dict[PartitionId, Position]:
        return {partition: held.position for partition, held in self._held.items()}

    def held_ends(self) -> dict[PartitionId, PartitionEnd]:
        """How far the partitions that we hold have come, as was heard last."""
        return {p: end for p, end in self.ends.known.items() if p in self._held}

    def lags(self) -> dict[PartitionId, int]:
        """Events that are there and not handled, of each partition that we hold."""
        return lags(self.positions(), self.ends.known)
