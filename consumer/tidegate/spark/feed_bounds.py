"""How far a turn of a change feed reads in each of its feeds. Pure.

A partition of a container is one feed or several, each with LSNs of its own. A turn is still a
number of steps, `to` less `after`: here it is said which feed takes how many of them.

Rules:
- A feed is never read beyond what its range had when the batch was planned. So a turn that is read
  twice ends at the same place both times, and nothing that came meanwhile is ever passed over.
- Ranges may have been split or merged since they were asked. What is not sure of a feed is taken
  to be less: of several ranges that it meets, the least; of keys that nobody asked of, nothing.
- LSNs in which nothing waits are passed first: they cost nothing and leave the rest to changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from tidegate.model import NO_SEQUENCE, Listing, MemberName, PartitionEnd, PartitionId, Position
from tidegate.ports.lineage import Lineage
from tidegate.sources.cosmos.places import Feed, Place, parsed, place_of
from tidegate.sources.cosmos.ranges import gaps, range_of
from tidegate.spark.positions import RangeEnd, Turn
from tidegate.spark.waiting import is_elsewhere

Until = Mapping[PartitionId, int]
Ends = tuple[RangeEnd, ...]


@dataclass(frozen=True, slots=True)
class FeedEnd(PartitionEnd):
    """How far a partition has come, and each of its ranges."""

    ends: Ends = ()


@dataclass(frozen=True, slots=True)
class Bounded:
    """A feed, and the LSN up to which it is read."""

    feed: Feed
    bound: int

    @property
    def is_over(self) -> bool:
        return self.feed.lsn >= self.bound


def range_ends(end: PartitionEnd) -> Ends:
    """What a turn keeps of an end."""
    return end.ends if isinstance(end, FeedEnd) else ()


def _of_feed(feed: Feed, ends: Sequence[RangeEnd]) -> tuple[int, int]:
    """From where on something may wait in a feed, and up to where: neither is below its place."""
    met = [
        (each, range)
        for each in ends
        if (range := range_of(each.range)) and range.meets(feed.range)
    ]
    if not met or gaps(feed.range, [range for _, range in met]):
        return feed.lsn, feed.lsn
    end = max(min(each.end for each, _ in met), feed.lsn)
    return min(max(min(each.base for each, _ in met), feed.lsn), end), end


def planned(
    partition: PartitionId, position: Position, end: FeedEnd, until: Until | None = None
) -> FeedEnd:
    """An end as it is seen from a position, for a plan; `until` says where each range ended when a
    stream began that is to end there. Raises PlaceError."""
    place = place_of(position, partition)
    found: list[RangeEnd] = []
    for feed in place.feeds:
        base, last = _of_feed(feed, end.ends)
        if until is not None:
            last = max(min(last, _until(feed, until)), feed.lsn)
        found.append(RangeEnd(feed.range.id, min(base, last), last))
    passed = sum(each.base - feed.lsn for each, feed in zip(found, place.feeds, strict=True))
    steps = sum(each.end - feed.lsn for each, feed in zip(found, place.feeds, strict=True))
    return replace(
        end, sequence=place.lsn + steps, begins_at=place.lsn + passed + 1, ends=tuple(found)
    )


def _until(feed: Feed, until: Until) -> int:
    met = [
        last for id, last in until.items() if (range := range_of(id)) and range.meets(feed.range)
    ]
    return max(met, default=NO_SEQUENCE)


def bounded(turn: Turn) -> tuple[Place, tuple[Bounded, ...]]:
    """Where a turn begins, and up to where each feed is read. Raises PlaceError."""
    place = place_of(turn.after, turn.partition)
    seen = [_of_feed(feed, turn.ends) for feed in place.feeds]
    left = turn.events
    bounds = [feed.lsn for feed in place.feeds]
    for at in range(2):  # what nothing waits in, then what waits
        for index, limits in enumerate(seen):
            steps = min(limits[at] - bounds[index], left)
            bounds[index] += steps
            left -= steps
    return place, tuple(
        Bounded(feed, bound) for feed, bound in zip(place.feeds, bounds, strict=True)
    )


def waiting_in_feeds(
    until: Until,
    held: Mapping[PartitionId, PartitionEnd],
    positions: Mapping[PartitionId, Position],
    listing: Listing | None,
    ours: Set[MemberName],
    lineage: Lineage,
) -> frozenset[PartitionId]:
    """Partitions with changes up to `until` that are ours to read, now or as soon as we hold them.

    `held` are the ends of those that we hold, as they were planned. A partition that nobody has
    begun yet, or whose place is not known, is taken to have some: it is on its way.
    """
    if listing is None:
        return frozenset(until)
    there = lineage.tiling(tuple(until), listing)
    return frozenset(
        partition
        for partition in there.partitions
        if (
            _has_more(held.get(partition))
            if partition in positions
            else _may_have_more(partition, until, listing)
            and not is_elsewhere(partition, listing, ours)
        )
    )


def _has_more(end: PartitionEnd | None) -> bool:
    return end is None or end.sequence >= (end.begins_at or 0)


def _may_have_more(partition: PartitionId, until: Until, listing: Listing) -> bool:
    found = listing.checkpoints.get(partition)
    place = parsed(found.position.offset) if found is not None else None
    if place is None or place.into:
        return True
    return any(feed.lsn < _until(feed, until) for feed in place.feeds)
