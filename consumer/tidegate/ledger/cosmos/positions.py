"""A position of the change feed as a lease has it, and back. Pure.

Rules:
- A lease has an ETag of the feed, and a position of ours may lie within the page behind one: then
  the lease says where that page begins, and who goes on from there reads its first events again.
- A partition that is made of parts which have come differently far is as far as the least of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.model import NO_SEQUENCE, PartitionId, Position
from tidegate.sources.cosmos.places import Feed, Place, PlaceError, place_of
from tidegate.sources.cosmos.ranges import FeedRange

_LSN = re.compile(r'"?([0-9]{1,18})"?')


@dataclass(frozen=True, slots=True)
class Stand:
    """How far a lease says that a partition is."""

    etag: str | None
    # Whether some of what comes behind the ETag is handled already.
    is_within_page: bool


def position_of(etag: str, range: FeedRange, rid: str) -> Position:
    """The position that a lease's ETag is."""
    return Place(rid, (Feed(range, etag, lsn_of(etag)),)).position


def lsn_of(etag: str) -> int:
    """The number in an ETag of the feed; -1 where it is no number."""
    found = _LSN.fullmatch(etag)
    return int(found.group(1)) if found is not None else NO_SEQUENCE


def stand_of(position: Position, partition: PartitionId, rid: str) -> Stand:
    """What a lease says of a position. Raises PlaceError."""
    place = place_of(position, partition, rid)
    if any(feed.token is None for feed in place.feeds):
        is_begun = any(feed.token is not None for feed in place.feeds)
        return Stand(None, is_begun)
    least = min(place.feeds, key=lambda feed: (lsn_of(feed.token or ""), feed.lsn))
    ahead = [each for each in place.feeds if each != least or each.lsn > lsn_of(least.token or "")]
    return Stand(least.token, bool(ahead))


def parts_of(position: Position, partition: PartitionId, rid: str) -> dict[PartitionId, str | None]:
    """What a partition that has ended goes on as, each with the ETag that it begins at."""
    place = place_of(position, partition, rid)
    found: dict[PartitionId, str | None] = {}
    for part in place.into:
        try:
            feeds = place.within(place_of(Position(), part).feeds[0].range)
        except PlaceError:
            continue
        if feeds:
            found[part] = stand_of(Place(place.rid, feeds).position, part, rid).etag
    return found
