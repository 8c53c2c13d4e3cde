"""The feeds of one partition while it is read: which is next, and how far each has come. Pure.

Rules:
- A page is handed out whole and in order. Each change says the place behind it, which counts on
  everything that was handed out before it being handled.
- Where the service has split a range, its feed becomes one for each part, from the same token on;
  the page that told so does not count. Where feeds have come to the same token with nothing left,
  and the service has them in one range, they are one again.
- A page that neither gives anything new nor moves on is an error: no reader goes round in circles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidegate.sources.cosmos.change import Change, placed
from tidegate.sources.cosmos.places import Feed, Place, joined
from tidegate.sources.cosmos.ranges import FeedRange


class CircleError(Exception):
    """The service gives the same page again; the message says which."""


class Feeds:
    """See the module."""

    def __init__(self, place: Place) -> None:
        self._rid = place.rid
        self._feeds = list(place.feeds)
        self._next = 0
        # Of each, by the key where it begins: what its range had when it was asked last.
        self._ends: dict[str, int] = {}
        # Those that had nothing when they were asked last, since any had.
        self._empty: set[str] = set()

    @property
    def place(self) -> Place:
        """Behind all that was handed out."""
        return Place(self._rid, tuple(self._feeds))

    @property
    def current(self) -> Feed:
        """The one to be asked next."""
        return self._feeds[self._next % len(self._feeds)]

    @property
    def is_clear(self) -> bool:
        """Whether nothing was left in any of them."""
        return len(self._empty) >= len(self._feeds)

    @property
    def end(self) -> int:
        """The LSN at which all is handed out, counted from that of the place."""
        feeds = [] if self.is_clear else self._feeds
        left = sum(max(self._ends.get(feed.range.low, feed.lsn) - feed.lsn, 0) for feed in feeds)
        return self.place.lsn + left

    def take(
        self,
        feed: Feed,
        page: Sequence[Change],
        tokens: Mapping[FeedRange, str | None],
        lsn: int | None,
        size: int | None = None,
    ) -> Sequence[Change] | None:
        """The changes of a page; None where the range was split. Raises CircleError."""
        if set(tokens) != {feed.range}:
            return None
        index = self._feeds.index(feed)
        token = tokens[feed.range] or feed.token
        changes = list(placed(page, feed.lsn, size))
        if page and not changes and token == feed.token:
            raise CircleError(f"the same changes up to {feed.lsn} again and again")
        given = self._given(index, feed, changes, token)
        self._ends[feed.range.low] = feed.lsn if lsn is None else max(lsn, feed.lsn)
        self._next = index + 1
        if page:
            self._empty.clear()
        else:
            self._empty.add(feed.range.low)
        return given

    def _given(
        self, index: int, feed: Feed, changes: Sequence[tuple[Change, bool]], token: str | None
    ) -> Sequence[Change]:
        """The changes with their places, and the feed moved on behind them."""
        given: list[Change] = []
        place = self.place
        for number, (change, ends) in enumerate(changes):
            if ends:
                behind = replace(feed, lsn=change.lsn)
                if number + 1 == len(changes) and token is not None:
                    behind = replace(behind, token=token, since=None)
                feeds = [*self._feeds]
                feeds[index] = behind
                place = Place(self._rid, tuple(feeds))
            change.put_at(place, is_place=ends)
            given.append(change)
        lsn = given[-1].lsn if given else feed.lsn
        since = feed.since if token is None else None
        self._feeds[index] = replace(feed, token=token, lsn=lsn, since=since)
        return given

    def divide(self, feed: Feed, ranges: Sequence[FeedRange]) -> bool:
        """Reads each part of a feed by itself; False where it is in one range."""
        parts = [part for each in ranges for part in Place(self._rid, (feed,)).within(each)]
        if len(parts) < 2:
            return False
        index = self._feeds.index(feed)
        self._feeds[index : index + 1] = parts
        self._next = index
        self._empty.clear()
        return True

    def level(self, ranges: Sequence[FeedRange]) -> None:
        """Makes one of what has come equally far, once nothing is left in any of them."""
        self._empty.clear()
        if len(self._feeds) < 2:
            return
        highest = max(feed.lsn for feed in self._feeds)
        together = joined([replace(feed, lsn=highest) for feed in self._feeds])
        # Ranges that are still apart may have the same token by chance.
        if len(together) == 1 and any(each.holds(together[0].range) for each in ranges):
            self._feeds, self._ends = list(together), {}
