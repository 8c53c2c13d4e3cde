"""A group's listing where its partitions are shared with a processor of Microsoft's. Pure.

Rules:
- A lease of the processor is the door of its partition: who is its owner there reads it. Beside it
  stand our own documents: our leases among ourselves, epochs, checkpoints with states, members.
- A partition whose door another holds is foreign; one whose door is gone is no more, unless it
  ended by our own word. Where the processor has read on, its position counts, not ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegate.ledger.cosmos.dialects import Boundary
from tidegate.ledger.cosmos.leases_seen import Leases
from tidegate.ledger.cosmos.marks import foreign_owner, mark_of
from tidegate.ledger.cosmos.positions import parts_of, position_of, stand_of
from tidegate.ledger.cosmos.sharing import Held, to_take
from tidegate.model import Checkpoint, LeaseState, Listing, Owner, Ownership, PartitionId
from tidegate.sources.cosmos.places import PlaceError, parsed
from tidegate.sources.cosmos.ranges import WHOLE, is_tiled, range_of

# What the ETag of a position begins with that the processor wrote.
_THEIRS = "theirs:"


@dataclass(frozen=True, slots=True)
class SharedView:
    """What a member sees of a shared group."""

    listing: Listing
    # The partition that may be taken from its living owner now.
    may_take: PartitionId | None


def shared_view(
    own: Listing, leases: Leases, rid: str, age: Callable[[Boundary], float], expiry_s: float
) -> SharedView:
    """Our documents and the processor's leases as one listing."""
    foreign = {
        partition: owner
        for partition, lease in leases.by_partition.items()
        if (owner := foreign_owner(lease, age(lease), expiry_s)) is not None
    }
    may_take = _may_take(own, leases, foreign)
    spoilt = {flaw.partition for flaw in leases.flaws}
    ownerships: dict[PartitionId, Ownership] = {}
    checkpoints: dict[PartitionId, Checkpoint] = {}
    for partition, lease in leases.by_partition.items():
        row = own.ownerships.get(partition)
        if partition in foreign and partition != may_take:
            at = own.server_time - age(lease)
            row = foreign_row(partition, row, foreign[partition], at)
        if row is not None:
            ownerships[partition] = row
        stands = standing(own.checkpoints.get(partition), lease, partition, rid)
        if stands is not None:
            checkpoints[partition] = _above_ended(stands, own, lease)
    ended = {
        partition: left
        for partition, checkpoint in own.checkpoints.items()
        if partition not in leases.by_partition and has_ended(checkpoint)
        if (left := _still_to_begin(checkpoint, own, leases)) is not None
    }
    for partition, left in ended.items():
        checkpoints[partition] = left
        if partition in own.ownerships:
            ownerships[partition] = own.ownerships[partition]
    listing = replace(
        own,
        ownerships={key: row for key, row in ownerships.items() if key not in spoilt},
        checkpoints={key: row for key, row in checkpoints.items() if key not in spoilt},
        flaws=(*own.flaws, *leases.flaws),
    )
    return SharedView(listing, may_take)


def _still_to_begin(ended: Checkpoint, own: Listing, leases: Leases) -> Checkpoint | None:
    """An end of ours, with those parts that nobody has begun; None where there are none left.

    A part that another host has taken or divided began with that: its own lease says where.
    """
    place = parsed(ended.position.offset)
    assert place is not None
    left = tuple(
        part
        for part in place.into
        if part in own.checkpoints or not _is_begun_by_another(part, leases)
    )
    return replace(ended, position=replace(place, into=left).position) if left else None


def _is_begun_by_another(part: PartitionId, leases: Leases) -> bool:
    lease = leases.by_partition.get(part)
    if lease is not None:
        return not mark_of(lease.document).has_our_token
    range = range_of(part)
    assert range is not None
    return any(
        (other := range_of(each)) is not None and range.holds(other) for each in leases.by_partition
    )


def _above_ended(stands: Checkpoint, own: Listing, lease: Boundary) -> Checkpoint:
    """What another host has begun came after what ended for it: its epoch says so."""
    range = range_of(stands.partition)
    if not is_theirs(stands.etag) or range is None or mark_of(lease.document).has_our_token:
        return stands
    epochs = [
        row.epoch + 1
        for row in own.checkpoints.values()
        if has_ended(row) and (other := range_of(row.partition)) is not None
        if other.holds(range)
    ]
    return replace(stands, epoch=max([stands.epoch, *epochs]))


def _may_take(own: Listing, leases: Leases, foreign: dict[PartitionId, str]) -> PartitionId | None:
    held: dict[PartitionId, Held] = {}
    for partition in leases.by_partition:
        row = own.ownerships.get(partition)
        if partition in foreign:
            held[partition] = Held(foreign[partition])
        elif row is not None and row.lease.is_held and row.owner is not None:
            held[partition] = Held(row.owner.name, is_ours=True)
        else:
            held[partition] = Held(None)
    owners = {each.owner for each in held.values() if each.is_ours and each.owner is not None}
    living = {name for name, each in own.members.items() if each.is_alive and not each.is_leaving}
    taken_at = max(
        (mark_of(each.document).taken_at for each in leases.by_partition.values()), default=0.0
    )
    return to_take(held, living | owners, own.server_time - taken_at)


def foreign_row(
    partition: PartitionId, row: Ownership | None, owner: str, modified_at: float
) -> Ownership:
    """A partition whose door another holds, as a listing shows it."""
    return Ownership(
        partition,
        row.etag if row is not None else "",
        LeaseState.AVAILABLE,
        Owner(owner),
        row.epoch if row is not None else 0,
        "",
        modified_at,
        is_foreign=True,
    )


def standing(
    own: Checkpoint | None, lease: Boundary, partition: PartitionId, rid: str
) -> Checkpoint | None:
    """The checkpoint that counts: ours, or what the processor has read up to since."""
    if lease.etag is None or (own is not None and _says_the_same(own, lease, partition, rid)):
        return own
    range = range_of(partition)
    assert range is not None
    return Checkpoint(
        partition,
        _THEIRS + lease.etag,
        position_of(lease.etag, range, rid),
        own.epoch if own is not None else 0,
        "",
        state=own.state if own is not None else None,
        state_position=own.state_position if own is not None else None,
    )


def _says_the_same(own: Checkpoint, lease: Boundary, partition: PartitionId, rid: str) -> bool:
    if mark_of(lease.document).has_our_token:
        return True
    try:
        return stand_of(own.position, partition, rid).etag == lease.etag
    except PlaceError:
        return False


def is_theirs(etag: str | None) -> bool:
    """Whether an ETag is of a position that the processor wrote."""
    return etag is not None and etag.startswith(_THEIRS)


def is_of(etag: str, lease: Boundary) -> bool:
    """Whether the processor's position still stands that was seen under this ETag."""
    return etag == _THEIRS + (lease.etag or "")


def has_ended(checkpoint: Checkpoint) -> bool:
    place = parsed(checkpoint.position.offset)
    return place is not None and bool(place.into)


def ends_to_finish(own: Listing, leases: Leases) -> dict[PartitionId, tuple[Checkpoint, ...]]:
    """Partitions for which others have ended, with all of those, that have no lease yet or whose
    parents still have one."""
    found: dict[PartitionId, list[Checkpoint]] = {}
    for checkpoint in own.checkpoints.values():
        place = parsed(checkpoint.position.offset)
        for part in place.into if place is not None else ():
            found.setdefault(part, []).append(checkpoint)
    due: dict[PartitionId, tuple[Checkpoint, ...]] = {}
    for part, parents in found.items():
        whole = range_of(part)
        ranges = [each for row in parents if (each := range_of(row.partition)) is not None]
        has_doors = any(row.partition in leases.by_partition for row in parents)
        if whole is not None and has_doors:
            if is_tiled(whole, [whole.common(each) for each in ranges if each.meets(whole)]):
                due[part] = tuple(parents)
    return due


def least_of(part: PartitionId, parents: Sequence[Checkpoint], rid: str) -> str | None:
    """The ETag that a partition begins at: the least of those that its parents ended at."""
    found = [parts_of(row.position, row.partition, rid).get(part) for row in parents]
    etags = [etag for etag in found if etag is not None]
    return min(etags, key=lambda etag: (len(etag), etag)) if len(etags) == len(found) else None


def covers_all(leases: Leases) -> bool:
    """Whether the leases are of all keys, and of none twice."""
    ranges = [range_of(partition) for partition in leases.by_partition]
    return is_tiled(WHOLE, [each for each in ranges if each is not None])
