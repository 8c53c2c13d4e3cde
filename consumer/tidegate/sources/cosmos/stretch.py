"""A stretch of a partition: what lies between a place and an LSN of each of its feeds.

    stretch = await source.stretch(place, bounds)
    while not stretch.is_over:
        changes = await stretch.next()      # none, where it is worth asking again
    stretch.place                           # behind all of it, whatever came meanwhile

Rules:
- It ends at its bounds: what is behind them is left for the next one, also within a page. A range
  has come to its bound once a change behind it is seen, or nothing is left and the service itself
  stands there; a replica that is behind is asked again.
- Where the service has split a range, its feed becomes one for each part, with the same bound. A
  range that was merged with another is read by its keys.
- Every request waits for the budget; what may pass is tried again (patience.py).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tidegate.ports import SourceError
from tidegate.sources.cosmos.budget import Budget
from tidegate.sources.cosmos.change import Change, placed
from tidegate.sources.cosmos.pages import FeedError, Page, Pages
from tidegate.sources.cosmos.patience import Patience
from tidegate.sources.cosmos.places import Feed, Place, joined
from tidegate.sources.cosmos.refusals import Trouble
from tidegate.sources.cosmos.settings import FeedSettings

# A replica that is behind is left alone for so long.
_BEHIND_S = 0.2


class Stretch:
    """See the module. `on_split` is called where a range turned out to be split."""

    def __init__(
        self,
        pages: Pages,
        settings: FeedSettings,
        budget: Budget,
        place: Place,
        bounds: Sequence[int],
        on_split: Callable[[], None],
    ) -> None:
        self._pages = pages
        self._settings = settings
        self._budget = budget
        self._rid = place.rid
        self._on_split = on_split
        self._patience = Patience(settings.patience_s)
        self._left = [
            (feed, bound)
            for feed, bound in zip(place.feeds, bounds, strict=True)
            if feed.lsn < bound
        ]
        self._over = [
            feed for feed, bound in zip(place.feeds, bounds, strict=True) if feed.lsn >= bound
        ]

    @property
    def is_over(self) -> bool:
        return not self._left

    @property
    def place(self) -> Place:
        """Behind all that was handed out."""
        feeds = sorted([*self._over, *(feed for feed, _ in self._left)], key=lambda f: f.range)
        return Place(self._rid, joined(feeds))

    async def next(self) -> Sequence[Change]:
        """The next changes in order; none where it is over, or is to be asked again.

        Raises SourceError.
        """
        if not self._left:
            return ()
        await asyncio.sleep(self._budget.wait_s(time.monotonic()))
        feed, bound = self._left[0]
        try:
            page = await self._pages.page(feed, self._rid)
            if set(page.answer.tokens) == {feed.range}:
                changes = self._taken(feed, bound, page)
            else:
                changes = await self._divided(feed, bound)
        except FeedError as error:
            until = self._patience.failed(error, time.monotonic())
            await asyncio.sleep(max(until - time.monotonic(), 0.0))
            return ()
        self._patience.went_well()
        return changes

    def _taken(self, feed: Feed, bound: int, page: Page) -> Sequence[Change]:
        answer = page.answer
        token = answer.tokens[feed.range] or feed.token
        since = feed.since if token is None else None
        found = [change for change, _ in placed(page.changes, feed.lsn, answer.bytes)]
        if page.changes and not found and token == feed.token:
            raise SourceError(
                f"{self._settings.place}, range {feed.range.id}: the service gives the same "
                f"changes up to {feed.lsn} again and again"
            )
        changes = [change for change in found if change.lsn <= bound]
        if len(changes) < len(found):
            # Reading goes on with the same page: what is handled of it says the LSN.
            self._end(replace(feed, lsn=bound))
        elif page.changes:
            lsn = found[-1].lsn if found else feed.lsn
            self._move(replace(feed, token=token, lsn=lsn, since=since), bound)
        elif answer.lsn is not None and answer.lsn >= bound:
            self._end(replace(feed, token=token, lsn=bound, since=since))
        else:
            said = f"range {feed.range.id} had come to {bound}, and stands at {answer.lsn} where it"
            said = f"{self._settings.place}: {said} is read now: a replica is behind"
            raise FeedError(Trouble(said, at_least_s=_BEHIND_S))
        return self._with_places(changes)

    def _with_places(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Nobody goes on from within a stretch; letters name the place where it is then."""
        place = self.place
        for change in changes:
            change.put_at(place)
        return changes

    def _move(self, feed: Feed, bound: int) -> None:
        if feed.lsn >= bound:
            self._end(feed)
        else:
            self._left[0] = (feed, bound)

    def _end(self, feed: Feed) -> None:
        del self._left[0]
        self._over.append(feed)

    async def _divided(self, feed: Feed, bound: int) -> Sequence[Change]:
        ranges = await self._pages.ranges()
        parts = [part for each in ranges for part in Place(self._rid, (feed,)).within(each)]
        if len(parts) < 2:
            raise FeedError(Trouble(f"{self._settings.place}: a range is being split or merged"))
        self._left[0:1] = [(part, bound) for part in parts]
        self._on_split()
        return ()
