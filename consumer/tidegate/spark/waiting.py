"""How much is left: of what is held, and of a stream that is to end somewhere. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Set

from tidegate.lag import lag_of
from tidegate.model import NO_SEQUENCE, Listing, MemberName, PartitionEnd, PartitionId, Position


def waiting(
    until: Mapping[PartitionId, int],
    held: Mapping[PartitionId, Position],
    ends: Mapping[PartitionId, PartitionEnd],
    listing: Listing | None,
    ours: Set[MemberName],
) -> frozenset[PartitionId]:
    """Partitions with events up to `until` that are ours to read, now or as soon as we hold them.

    `held` says where those stand that we hold. What another member owns is its to read, and what is
    paused is nobody's.
    """
    return frozenset(
        partition
        for partition, last in until.items()
        if _is_behind(_position(partition, held, listing), last, ends.get(partition))
        and (partition in held or not is_elsewhere(partition, listing, ours))
    )


def lags(
    held: Mapping[PartitionId, Position], ends: Mapping[PartitionId, PartitionEnd]
) -> dict[PartitionId, int]:
    """Events that are there and not handled, of each partition whose end is known."""
    found = {}
    for partition, position in held.items():
        end = ends.get(partition)
        if end is not None:
            lag = lag_of(handled=position.sequence, end=end.sequence, begins_at=end.begins_at)
            found[partition] = lag.events or 0
    return found


def _position(
    partition: PartitionId, held: Mapping[PartitionId, Position], listing: Listing | None
) -> int:
    if partition in held:
        return held[partition].sequence
    found = listing.checkpoints.get(partition) if listing is not None else None
    return NO_SEQUENCE if found is None else found.position.sequence


def _is_behind(handled: int, last: int, end: PartitionEnd | None) -> bool:
    # What retention took is not there to be waited for.
    begins_at = end.begins_at if end is not None else None
    return max(handled, (begins_at or 0) - 1) < last


def is_elsewhere(partition: PartitionId, listing: Listing | None, ours: Set[MemberName]) -> bool:
    """Whether another member has it, or nobody is to read it."""
    if listing is None:
        return False
    roster = listing.roster
    if roster is not None and (roster.is_paused or partition in roster.paused):
        return True
    row = listing.ownerships.get(partition)
    is_owned = row is not None and row.owner is not None and row.lease.is_held
    return is_owned and row is not None and row.owner is not None and row.owner.name not in ours
