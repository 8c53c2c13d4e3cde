"""One partition of a container, read page by page; which feed is next is said by feeds.py.

Rules:
- What may pass is tried again for as long as the settings' patience; fatal ends the reader at once.
- A partition that had nothing is left alone for the poll interval. Every request waits for the
  budget. Meanwhile `receive` gives nothing now and then, which shows that the reader lives.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tidegate.model import PartitionEnd, PartitionId, Position
from tidegate.ports import SourceError, of_lost_position
from tidegate.sources.cosmos.budget import Budget
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.feeds import CircleError, Feeds
from tidegate.sources.cosmos.pages import FeedError, Page, Pages
from tidegate.sources.cosmos.patience import Patience
from tidegate.sources.cosmos.places import Feed, Place, PlaceError, place_of
from tidegate.sources.cosmos.refusals import Trouble
from tidegate.sources.cosmos.settings import FeedSettings

_NOTHING: tuple[Change, ...] = ()


def stored_place(position: Position, partition: PartitionId, rid: str) -> Place:
    """What a position of the ledger means in this container. Raises SourceError."""
    try:
        return place_of(position, partition, rid)
    except PlaceError as error:
        raise SourceError(of_lost_position(str(error)), is_fatal=True) from None


class FeedReader:
    """See the module. `on_split` is called where a range turned out to be split."""

    def __init__(
        self,
        pages: Pages,
        settings: FeedSettings,
        budget: Budget,
        partition: PartitionId,
        position: Position,
        on_split: Callable[[], None],
        forget: Callable[[FeedReader], None],
    ) -> None:
        self.partition = partition
        self._pages = pages
        self._settings = settings
        self._budget = budget
        self._position = position
        self._on_split = on_split
        self._forget = forget
        self._feeds: Feeds | None = None
        self._end: PartitionEnd | None = None
        self._pause_until = 0.0
        self._patience = Patience(settings.patience_s)

    # --- the port

    async def open(self) -> None:
        """Finds the container and the place. Raises SourceError."""
        rid = await self._pages.rid(anew=True)
        place = stored_place(self._position, self.partition, rid)
        self._feeds = Feeds(replace(place, rid=rid))

    async def receive(self) -> Sequence[Change]:
        """The next changes in order; none after a while without any. Raises SourceError."""
        if await self._waits():
            return _NOTHING
        feeds = self._open_feeds()
        feed = feeds.current
        try:
            page = await self._pages.page(feed, feeds.place.rid)
            changes = await self._taken(feed, page)
        except FeedError as error:
            self._pause_until = self._patience.failed(error, time.monotonic())
            return _NOTHING
        self._patience.went_well()
        return changes

    async def close(self) -> None:
        self._forget(self)

    @property
    def known_end(self) -> PartitionEnd | None:
        """How far the partition had come when it was asked last."""
        return self._end

    @property
    def place(self) -> Place:
        """Behind all that was handed out."""
        return self._open_feeds().place

    @property
    def position(self) -> Position:
        """The same as it is stored; before it was opened, the position where it is to begin."""
        return self._position if self._feeds is None else self._feeds.place.position

    # --- waiting

    async def _waits(self) -> bool:
        """Whether it is not yet time to ask; waits for that, but not for long."""
        now = time.monotonic()
        wait_s = max(self._pause_until - now, self._budget.wait_s(now))
        if wait_s <= 0:
            return False
        await asyncio.sleep(min(wait_s, self._settings.quiet_s))
        return wait_s > self._settings.quiet_s

    # --- what comes

    async def _taken(self, feed: Feed, page: Page) -> Sequence[Change]:
        feeds, answer = self._open_feeds(), page.answer
        try:
            changes = feeds.take(feed, page.changes, answer.tokens, answer.lsn, answer.bytes)
        except CircleError as error:
            said = f"{self._settings.place}, partition {self.partition}: the service gives {error}"
            raise SourceError(said) from None
        if changes is None:
            if not feeds.divide(feed, await self._pages.ranges()):
                said = f"{self._settings.place}: a range is being split or merged"
                raise FeedError(Trouble(said))
            self._end = None
            self._on_split()
            return _NOTHING
        self._end = PartitionEnd(feeds.end, "", None, time.time())
        if feeds.is_clear:
            self._pause_until = time.monotonic() + self._settings.poll_s
            feeds.level(self._pages.known)
        return changes

    def _open_feeds(self) -> Feeds:
        if self._feeds is None:
            raise SourceError(f"partition {self.partition} is read before it was opened")
        return self._feeds
