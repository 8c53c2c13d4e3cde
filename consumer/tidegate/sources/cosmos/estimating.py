"""How much of a feed is still to be read, asked from the service at a bounded cost.

Rules:
- One small request a feed: the end of its range by the session token, and the first change that
  waits. What waits is what lies between: session LSN − (first LSN − 1), as Microsoft's estimator
  counts; nothing where no change waits, whatever LSNs the service has used up for other things.
- It counts log sequence numbers: an item that was written twice counts twice, where the feed will
  give its latest version once.
- What cannot be asked is an error of its own and no number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidegate.ports import SourceError
from tidegate.sources.cosmos.pages import Pages
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import FeedRange


class Reach(NamedTuple):
    """Of one range: nothing waits in it up to `base`, and it has come to `end`."""

    range: FeedRange
    base: int
    end: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in a partition, and since when the oldest of it, by its own time."""

    changes: int
    since: float | None = None
    # Of each range that was asked, as the service has them now.
    reach: tuple[Reach, ...] = ()


async def waiting(pages: Pages, place: Place) -> Waiting:
    """What waits behind a place. Raises SourceError."""
    rid = place.rid or await pages.rid()
    return _together(await asyncio.gather(*(_of_feed(pages, feed, rid) for feed in place.feeds)))


def _together(found: Sequence[Waiting]) -> Waiting:
    times = [each.since for each in found if each.since is not None]
    return Waiting(
        sum(each.changes for each in found),
        min(times, default=None),
        tuple(reach for each in found for reach in each.reach),
    )


async def _of_feed(pages: Pages, feed: Feed, rid: str) -> Waiting:
    """The SDK reads on where a range was split: then it is what waits in the first part."""
    page = await pages.page(feed, rid, 1)
    if set(page.answer.tokens) != {feed.range}:
        return await _of_parts(pages, feed, rid)
    if not page.changes:
        return Waiting(0, reach=(Reach(feed.range, feed.lsn, feed.lsn),))
    first = page.changes[0]
    if page.answer.lsn is None:
        raise SourceError("the service did not say how far a range has come: no session token")
    handled = max(first.lsn - 1, feed.lsn)
    end = max(page.answer.lsn, handled)
    reach = Reach(feed.range, handled, end)
    return Waiting(end - handled, first.enqueued_at, (reach,))


async def _of_parts(pages: Pages, feed: Feed, rid: str) -> Waiting:
    ranges = await pages.ranges()
    parts = [part for each in ranges for part in Place("", (feed,)).within(each)]
    if len(parts) < 2:
        raise SourceError("a range is being split or merged: ask again")
    return _together([await _of_feed(pages, part, rid) for part in parts])
