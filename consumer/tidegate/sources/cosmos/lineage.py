"""Which partitions a container has while its ranges split and merge. Pure; see docs/decisions/0017.

Rules:
- What the ledger says goes before what the service says: a partition with a checkpoint is there
  until its last checkpoint says that it has ended, and what that names is there next. Members whose
  view of the service differs name the same partitions all the same.
- What the service says counts for keys that no partition of the ledger has, and for what shall
  end.
- Epochs rise from a parent to its child: who has the higher one came later. So what an end names
  has begun if its own epoch is higher, and is to begin if not, once all its parts have ended.
- Who has an owner and no checkpoint is there only where nobody has begun with any of its keys.
- Of two partitions with common keys the wider is read; the other waits for it to end.
- What cannot come, because another part of it is kept as it is or has ended for something else,
  does not: each part that had ended for it goes on where it stood.
- A partition with a state is divided only where the user says that a copy of it is right for each
  part, and is never joined with another: two states cannot be made one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tidegate.model import Checkpoint, Listing, PartitionId, Position
from tidegate.ports.lineage import Heritage, HeritageError, Lineage, Tiling
from tidegate.sources.cosmos.places import Place, gathered, parsed, place_of
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange, gaps, is_tiled, range_of

_Parts = Mapping[PartitionId, tuple["_Row", ...]]


@dataclass(frozen=True, slots=True)
class _Row:
    """A partition of the ledger."""

    id: PartitionId
    range: FeedRange
    epoch: int
    # None where it was never read.
    place: Place | None
    # Whether it has a checkpoint, not just an owner.
    has_begun: bool = True

    @property
    def into(self) -> tuple[PartitionId, ...]:
        return self.place.into if self.place is not None else ()

    @property
    def is_kept(self) -> bool:
        return self.place is not None and self.place.is_kept


class FeedRanges(Lineage):
    """See the module. `copies_state`: a copy of a state is right for each part of its partition.

    `keeps_merged`: partitions whose ranges the service merges stay as they are, as leases do that
    are shared with the processors of other SDKs.
    """

    def __init__(self, *, copies_state: bool = False, keeps_merged: bool = False) -> None:
        self._copies_state = copies_state
        self._keeps_merged = keeps_merged

    # --- which there are

    def tiling(self, known: tuple[PartitionId, ...], listing: Listing) -> Tiling:
        rows = _rows(listing)
        pending = _pending(rows)
        live = _live(rows, pending)
        coming, unready = _sorted_out(pending, live)
        there = _widest([*(row.range for row in live), *(_range(id) for id in coming)])
        waiting = [part.range for parts in unready.values() for part in parts]
        of_service = [_range(id) for id in known if range_of(id) is not None]
        if not is_tiled(WHOLE, of_service):
            of_service = []  # an answer that leaves keys out is none
        there += [gap for each in of_service for gap in gaps(each, [*there, *waiting])]
        ids = {each.id for each in there}
        begin = {
            id: tuple(part.id for part in parts)
            for id, parts in sorted(coming.items())
            if id in ids
        }
        ending = _ending([row for row in live if row.id in ids], unready, of_service)
        if self._keeps_merged:
            ending = {id: into for id, into in ending.items() if _divides(id, into)}
        return Tiling(
            tuple(each.id for each in sorted(there)),
            MappingProxyType(begin),
            MappingProxyType(ending),
            tuple(sorted(unready)),
        )

    def may_begin(
        self, partition: PartitionId, parents: tuple[PartitionId, ...], listing: Listing
    ) -> bool:
        own = _range(partition)
        rows = [row for row in _rows(listing) if row.id != partition]
        if parents:
            about_to = [row.range for row in rows if not row.has_begun]
            is_due = self.tiling((), listing).parents.get(partition) == parents
            return is_due and not any(each.meets(own) for each in about_to)
        pending = _pending(rows)
        # Of what is to begin, the keys of those that ended for it: what it lacks is yet to begin.
        left = [_range(id).common(part.range) for id, parts in pending.items() for part in parts]
        taken = [row.range for row in _live(rows, pending)] + left
        return not any(each.meets(own) for each in taken)

    # --- positions

    def ended(
        self, partition: PartitionId, position: Position, into: Sequence[PartitionId]
    ) -> Position:
        return replace(place_of(position, partition), into=tuple(into)).position

    def kept(self, partition: PartitionId, position: Position) -> Position:
        return replace(place_of(position, partition), is_kept=True).position

    def is_kept(self, position: Position) -> bool:
        place = parsed(position.offset)
        return place is not None and place.is_kept

    def has_ended(self, position: Position) -> bool:
        place = parsed(position.offset)
        return place is not None and bool(place.into)

    def refusal(self, partition: PartitionId, into: Sequence[PartitionId], state: bytes) -> str:
        own = range_of(partition)
        divides = own is not None and all(own.holds(_range(id)) for id in into)
        if not state or (divides and self._copies_state):
            return ""
        goes_on = ", ".join(into)
        if divides:
            return (
                f"its range was split ({goes_on}), and its state cannot be divided: it stays one "
                "partition, which is read whole. Where a copy of the state is right for each part, "
                "for instance because each key of it belongs to one partition key, write "
                "source.cosmos.stateOnSplit: copy; or rewind the partition, which clears the state."
            )
        return (
            f"its range was merged with others ({goes_on}), and two states cannot be made one: it "
            "stays a partition of its own. A rewind clears its state."
        )

    def heritage(self, partition: PartitionId, parents: Sequence[Checkpoint]) -> Heritage:
        own = _range(partition)
        places = {each.partition: parsed(each.position.offset) for each in parents}
        lacking = [id for id, place in places.items() if place is None or not place.into]
        if lacking:
            raise HeritageError(
                f"partition {partition} is to begin where {', '.join(lacking)} ended, and the "
                "checkpoint there says no such thing. Rewind it to begin elsewhere."
            )
        found = [place for place in places.values() if place is not None]
        feeds = [feed for place in found for feed in place.within(own)]
        # A partition that was never read does not know its container's id.
        rids = {place.rid for place in found if place.rid}
        if len(rids) > 1 or not is_tiled(own, [feed.range for feed in feeds]):
            raise HeritageError(
                f"partition {partition} is to begin where {', '.join(places)} ended, and those do "
                "not have all its keys. Rewind it to begin elsewhere."
            )
        states = [each.state for each in parents if each.state]
        if len(states) > 1:
            raise HeritageError(
                f"partition {partition} is to begin where {', '.join(places)} ended, of which more "
                "than one has a state, and two states cannot be made one. Rewind it to begin "
                "without."
            )
        times = [each.enqueued_at for each in parents if each.enqueued_at is not None]
        return Heritage(
            gathered(next(iter(rids), ""), own, feeds).position,
            states[0] if states else None,
            min(times, default=None),
        )


def _divides(id: PartitionId, into: Sequence[PartitionId]) -> bool:
    return all(_range(id).holds(_range(each)) for each in into)


def _range(id: PartitionId) -> FeedRange:
    found = range_of(id)
    assert found is not None
    return found


def _rows(listing: Listing) -> list[_Row]:
    """What the ledger has: a checkpoint, or at least an owner."""
    found: list[_Row] = []
    for id in sorted({*listing.checkpoints, *listing.ownerships}):
        range, checkpoint = range_of(id), listing.checkpoints.get(id)
        if range is None:
            continue
        if checkpoint is not None:
            found.append(_Row(id, range, checkpoint.epoch, parsed(checkpoint.position.offset)))
        elif listing.ownerships[id].lease.is_held:
            # It has not begun, whatever the epoch of its owner: it is still to begin somewhere.
            found.append(_Row(id, range, 0, None, has_begun=False))
    return found


def _pending(rows: Sequence[_Row]) -> dict[PartitionId, tuple[_Row, ...]]:
    """What others have ended for, and nobody has gone on with since; with those that have ended."""
    found: dict[PartitionId, tuple[_Row, ...]] = {}
    for row in rows:
        later = [each.range for each in rows if each.epoch > row.epoch] if row.into else []
        for id in row.into:
            whole = range_of(id)
            if whole is None or not whole.meets(row.range):
                continue
            if gaps(whole.common(row.range), later):
                found[id] = (*found.get(id, ()), row)
    return found


def _live(rows: Sequence[_Row], pending: _Parts) -> list[_Row]:
    """Those that have not ended, nor lie in what has ended later and is to begin anew."""
    ended = [row for row in rows if row.into]
    found = [
        row
        for row in rows
        if not row.into
        and row.id not in pending
        and not any(each.epoch >= row.epoch and each.range.holds(row.range) for each in ended)
    ]
    begun = [row.range for row in found if row.has_begun]
    return [
        row for row in found if row.has_begun or not any(each.meets(row.range) for each in begun)
    ]


def _sorted_out(
    pending: _Parts, live: Sequence[_Row]
) -> tuple[dict[PartitionId, tuple[_Row, ...]], dict[PartitionId, tuple[_Row, ...]]]:
    """What can begin, and what waits for more of its parts to end."""
    coming: dict[PartitionId, tuple[_Row, ...]] = {}
    unready: dict[PartitionId, tuple[_Row, ...]] = {}
    for id, parts in pending.items():
        whole = _range(id)
        is_ready = is_tiled(whole, [whole.common(part.range) for part in parts])
        (coming if is_ready else unready)[id] = parts
    kept = [row.range for row in live if row.is_kept]
    for id, parts in list(unready.items()):
        promised = [
            _range(other).common(part.range)
            for other, its in pending.items()
            if other != id and other not in coming
            for part in its
        ]
        if _is_void(_range(id), parts, [*kept, *promised]):
            # Each part goes on where it stood.
            del unready[id]
            for part in parts:
                coming[_range(id).common(part.range).id] = (part,)
    return coming, unready


def _is_void(whole: FeedRange, parts: Sequence[_Row], elsewhere: Sequence[FeedRange]) -> bool:
    """Whether keys that are still lacking will not come: they are kept, or ended for another."""
    lacking = gaps(whole, [part.range for part in parts])
    return any(each.meets(gap) for gap in lacking for each in elsewhere)


def _widest(ranges: Iterable[FeedRange]) -> list[FeedRange]:
    """Of those with common keys, the first and widest."""
    found: list[FeedRange] = []
    widest_first = sorted(ranges, key=lambda each: each.high, reverse=True)
    for each in sorted(widest_first, key=lambda each: each.low):
        if not found or not found[-1].meets(each):
            found.append(each)
    return found


def _ending(
    live: Sequence[_Row], unready: _Parts, of_service: Sequence[FeedRange]
) -> dict[PartitionId, tuple[PartitionId, ...]]:
    """What shall end: for what others have ended for, or because the service has other ranges."""
    found: dict[PartitionId, tuple[PartitionId, ...]] = {}
    wanted = [_range(id) for id in sorted(unready)]
    for row in live:
        into = [each for each in wanted if each.meets(row.range)]
        if into:
            left = gaps(row.range, into)
            into += [gap.common(each) for gap in left for each in of_service if each.meets(gap)]
        elif row.range not in of_service:
            into = [each for each in of_service if each.meets(row.range)]
            if _has_kept(into, row, live):
                continue
        if into and [each.id for each in into] != [row.id]:
            found[row.id] = tuple(each.id for each in sorted(into))
    return found


def _has_kept(into: Sequence[FeedRange], row: _Row, live: Sequence[_Row]) -> bool:
    """Whether some of it is of a partition that is kept as it is: then it could never begin."""
    return any(
        other.is_kept and other.id != row.id and other.range.meets(each)
        for other in live
        for each in into
    )
