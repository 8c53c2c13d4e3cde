"""How far a container's ranges have come, and what waits in those that we hold.

Rules:
- A question costs a request unit, so it is asked where the answer may be new: what waits is known
  until it is read, and a partition that had nothing is left alone for the poll interval. A lag is
  asked anew after a few seconds, whatever is known.
- What could not be asked keeps what was heard of it before, which is never too far.
- Where there are no request units left, nothing is asked for now: it is no failure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING

from tidegate.commands.ends import END_EVERY_S
from tidegate.model import (
    NO_SEQUENCE,
    Listing,
    MemberName,
    PartitionEnd,
    PartitionId,
    Position,
)
from tidegate.ports import SourceError
from tidegate.sources.cosmos.places import PlaceError
from tidegate.spark.feed_bounds import FeedEnd, Until, planned, waiting_in_feeds
from tidegate.spark.hub_ends import ROUND_S
from tidegate.spark.positions import RangeEnd

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource

Ends = Mapping[PartitionId, PartitionEnd]


class FeedEnds:
    """What the service said of each partition, last. See HubEnds for the port."""

    def __init__(
        self,
        container: CosmosSource,
        hear: Callable[[PartitionId, PartitionEnd], None],
        poll_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.known: dict[PartitionId, PartitionEnd] = {}
        self.asked_at = float("-inf")
        self.troubles: dict[PartitionId, str] = {}
        self._container = container
        self._hear = hear
        self._poll_s = poll_s
        self._clock = clock
        # When each was asked last, and from which position.
        self._asked: dict[PartitionId, tuple[float, Position]] = {}

    async def ask(self, positions: Mapping[PartitionId, Position]) -> None:
        """One round over what is held, and is worth asking."""
        now, troubles = self._clock(), dict[PartitionId, str]()
        if self._container.budget.wait_s(now) <= 0:
            due = {name: at for name, at in positions.items() if self._is_due(name, at, now)}
            await asyncio.gather(*(self._ask(name, at, troubles) for name, at in due.items()))
            # Of what was not asked in this round the last word stands.
            kept = {n: why for n, why in self.troubles.items() if n in positions and n not in due}
            self.troubles = kept | troubles
        self.asked_at = self._clock()

    def _is_due(self, partition: PartitionId, position: Position, now: float) -> bool:
        asked_at, asked_from = self._asked.get(partition, (float("-inf"), position))
        if now - asked_at >= max(END_EVERY_S, self._poll_s):
            return True
        end = self.known.get(partition)
        if partition in self.troubles or not isinstance(end, FeedEnd):
            return True
        if asked_from == position:
            # What waited still waits, and what had nothing has its pause.
            return end.sequence == position.sequence and now - asked_at >= self._poll_s
        return not _waits(planned(partition, position, end))

    async def _ask(
        self, partition: PartitionId, position: Position, troubles: dict[PartitionId, str]
    ) -> None:
        try:
            async with asyncio.timeout(ROUND_S):
                found = await self._container.reach(partition, position)
            end = FeedEnd(
                position.sequence + found.changes,
                "",
                found.since if found.changes == 1 else None,
                time.time(),
                ends=tuple(RangeEnd(each.range.id, each.base, each.end) for each in found.reach),
            )
        except SourceError as error:
            troubles[partition] = str(error)
        except TimeoutError:
            troubles[partition] = f"no answer within {ROUND_S:g} s"
        else:
            self.known[partition] = end
            self._asked[partition] = (self._clock(), position)
            self._hear(partition, end)

    async def ask_all(self) -> dict[PartitionId, PartitionEnd]:
        """How far all ranges of the service have come. Raises SourceError where one is unknown:
        what is left out here would never be missed."""
        names = await self._container.partitions()
        found = await asyncio.gather(*(self._container.end_behind(name, None) for name in names))
        if any(end.sequence == NO_SEQUENCE for end in found):
            raise SourceError(
                "the service did not say how far its ranges have come: begin again, or read "
                "without an end"
            )
        return dict(zip(names, found, strict=True))

    # --- for a plan

    def seen(
        self, positions: Mapping[PartitionId, Position], until: Until | None
    ) -> tuple[Ends, Until | None]:
        """The ends as they are from these positions, none beyond where a stream is to end."""
        found: dict[PartitionId, PartitionEnd] = {}
        for partition, position in positions.items():
            end = self.known.get(partition)
            if isinstance(end, FeedEnd):
                try:
                    found[partition] = planned(partition, position, end, until)
                except PlaceError as error:
                    self.troubles[partition] = str(error)
        return found, None

    def waiting(
        self,
        until: Until,
        positions: Mapping[PartitionId, Position],
        listing: Listing | None,
        ours: Set[MemberName],
    ) -> frozenset[PartitionId]:
        """Those with changes left up to there that are ours to read."""
        held, _ = self.seen(positions, until)
        lineage = self._container.lineage
        return waiting_in_feeds(until, held, positions, listing, ours, lineage)


def _waits(end: FeedEnd) -> bool:
    return end.sequence >= (end.begins_at or 0)
