"""A Cosmos container behind ports.Source: its feed ranges are the partitions, its items the events.

Rules:
- The ranges are the service's; which of them are partitions the lineage decides, with the ledger.
- A start becomes a place with the service's own token, or with the time where reading begins.
- How far a partition has come is known from its reader where there is one: that costs nothing.
- The epoch is not the service's concern: only the ledger fences. So `StolenError` never comes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.model import NO_SEQUENCE, PartitionEnd, PartitionId, Position, Rewind
from tidegate.ports import SourceError, of_lost_position
from tidegate.settings import SettingsError
from tidegate.sources.cosmos.budget import Budget
from tidegate.sources.cosmos.estimating import Waiting, waiting
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.pages import Pages
from tidegate.sources.cosmos.places import Feed, Place, PlaceError, beginning, place_of
from tidegate.sources.cosmos.ranges import FeedRange, range_of
from tidegate.sources.cosmos.reader import FeedReader, stored_place
from tidegate.sources.cosmos.settings import FeedSettings, check_start
from tidegate.sources.cosmos.stretch import Stretch
from tidegate.sources.start import Start, start_of

if TYPE_CHECKING:
    from azure.cosmos.aio import CosmosClient


class CosmosSource:
    """See the module. `new_client` makes a client of the account."""

    def __init__(
        self,
        settings: FeedSettings,
        new_client: Callable[[], CosmosClient],
        start: Start | None = None,
    ) -> None:
        self._settings = settings.checked()
        self._start = (start or Start()).checked()
        check_start(self._settings.mode, self._start)
        self.budget = Budget(settings.units_per_s)
        self.lineage = FeedRanges(
            copies_state=settings.copies_state, keeps_merged=settings.keeps_merged
        )
        # Set where the partitions are worth a look at once.
        self.hurry = asyncio.Event()
        self._pages = Pages(
            self._settings, new_client, lambda units: self.budget.spend(units, time.monotonic())
        )
        self._readers: dict[PartitionId, FeedReader] = {}
        self._count = 0

    @property
    def poll_s(self) -> float:
        """How long a partition that had nothing is left alone."""
        return self._settings.poll_s

    @property
    def units(self) -> float:
        """Request units that were spent so far."""
        return self.budget.spent

    # --- the port

    async def partitions(self) -> tuple[PartitionId, ...]:
        """The ranges that the service has now. Raises SourceError."""
        found = tuple(range.id for range in await self._pages.ranges())
        self._count = len(found)
        self._share()
        return found

    async def check_unread(self, partition: PartitionId) -> None:
        """Nothing: a change feed does not know who reads it."""

    async def identity(self) -> str:
        """The container's own id: no other has it. Raises SourceError."""
        return f"container {await self._pages.rid(anew=True)}"

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        """Where a partition without a checkpoint begins, or a rewind goes to."""
        start = self._start if rewind is None else start_of(rewind)
        range = range_of(partition)
        if range is None:
            raise SourceError(f"'{partition}' is no feed range", is_fatal=True)
        rid = await self._pages.rid(anew=True)
        try:
            check_start(self._settings.mode, start)
            if start.position is not None:
                return place_of(start.position, partition, rid).position
        except (SettingsError, PlaceError) as error:
            raise SourceError(str(error), is_fatal=True) from None
        if start.kind == "latest":
            return (await self._now(range, rid)).position
        return beginning(rid, range, start.at).position

    def reader(self, partition: PartitionId, position: Position, epoch: int) -> FeedReader:  # noqa: ARG002
        """A reader of what comes after a position; BEGINNING is before the first change."""
        reader = FeedReader(
            self._pages,
            self._settings,
            self.budget,
            partition,
            position,
            self.hurry.set,
            self._forget,
        )
        self._readers[partition] = reader
        self._share()
        return reader

    async def end(self, partition: PartitionId) -> PartitionEnd:
        """How far a partition has come, by its reader where there is one. Raises SourceError."""
        reader = self._readers.get(partition)
        if reader is None:
            return await self.end_behind(partition, None)
        return reader.known_end or await self.end_behind(partition, reader.position)

    async def end_behind(self, partition: PartitionId, behind: Position | None) -> PartitionEnd:
        """The same, asked from the service: what waits behind a position; without one, its end.

        Raises SourceError.
        """
        range = range_of(partition)
        if range is None:
            raise SourceError(f"'{partition}' is no feed range", is_fatal=True)
        if behind is None:
            now = await self._now(range, await self._pages.rid())
            return PartitionEnd(now.lsn, "", None, time.time())
        place = await self._placed(behind, partition)
        found = await waiting(self._pages, place)
        at = found.since if found.changes == 1 else None
        return PartitionEnd(place.lsn + found.changes, "", at, time.time())

    async def waiting(self, place: Place) -> Waiting:
        """What waits behind a place. Raises SourceError."""
        return await waiting(self._pages, place)

    async def reach(self, partition: PartitionId, position: Position) -> Waiting:
        """What waits behind a position, and how far each range has come. A range that was split
        meanwhile is worth a look at the partitions. Raises SourceError."""
        place = await self._placed(position, partition)
        found = await waiting(self._pages, place)
        if len(found.reach) > len(place.feeds):
            self.hurry.set()
        return found

    async def stretch(self, place: Place, bounds: Sequence[int]) -> Stretch:
        """What lies between a place and an LSN of each of its feeds. Raises SourceError."""
        rid = await self._pages.rid()
        if place.rid not in ("", rid):
            rid = await self._pages.rid(anew=True)
        if place.rid not in ("", rid):
            said = f"{self._settings.place}: it was deleted and made again: the position is of "
            said = f"{said}another one (its id was {place.rid}, this one's is {rid})"
            raise SourceError(of_lost_position(said), is_fatal=True)
        place = replace(place, rid=rid)
        return Stretch(self._pages, self._settings, self.budget, place, bounds, self.hurry.set)

    async def share_with_all(self, of: int) -> None:
        """So many partitions are read here, of all that the service has. Raises SourceError."""
        if self._settings.units_per_s is not None:
            self._count = self._count or len(await self.partitions())
            self.budget.share(of, max(self._count, of))

    async def close(self) -> None:
        self._readers.clear()
        await self._pages.close()

    # --- parts

    async def _placed(self, position: Position, partition: PartitionId) -> Place:
        """What a stored position means here, by the container's id as it is now if need be."""
        try:
            place = stored_place(position, partition, await self._pages.rid())
        except SourceError:
            place = stored_place(position, partition, await self._pages.rid(anew=True))
        return place

    async def _now(self, range: FeedRange, rid: str) -> Place:
        answer = await self._pages.now(range, rid)
        if set(answer.tokens) != {range}:
            parts = [each.common(range) for each in sorted(answer.tokens) if each.meets(range)]
            if len(parts) < 2:
                raise SourceError(f"{self._settings.place}: a range is being split or merged")
            places = [await self._now(part, rid) for part in parts]
            return Place(rid, tuple(feed for place in places for feed in place.feeds))
        token = answer.tokens[range]
        if token is None:
            raise SourceError(f"{self._settings.place}: the service gave no token for now")
        return Place(rid, (Feed(range, token, lsn_at_most(token, answer.lsn)),))

    def _forget(self, reader: FeedReader) -> None:
        if self._readers.get(reader.partition) is reader:
            del self._readers[reader.partition]
        self._share()

    def _share(self) -> None:
        self.budget.share(len(self._readers), max(self._count, len(self._readers)))


def lsn_at_most(token: str, lsn: int | None) -> int:
    """The LSN at a token, as far as it is sure: what is not above it is never given again."""
    digits = token.strip('"')
    if lsn is None or not (digits.isascii() and digits.isdigit()):
        return NO_SEQUENCE
    return min(int(digits), lsn)
