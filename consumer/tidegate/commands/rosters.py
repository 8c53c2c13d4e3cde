"""Rosters with rewinds put on and struck off. Pure.

Rules: all else on a roster stays as it is. But a roster that is stale no longer says who is
expected or leaving, and writing it makes it fresh: so these are left out then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tidegate.balance.listed import roster_of
from tidegate.model import Listing, PartitionId, Rewind, Roster
from tidegate.settings import MemberSettings

STALE_S = MemberSettings("any").roster_stale_s


def with_rewinds(listing: Listing, rewinds: Sequence[Rewind]) -> Roster:
    """The group's roster with these; earlier ones of the same partitions are replaced."""
    partitions = {rewind.partition for rewind in rewinds}
    roster = roster_of(listing, STALE_S)
    kept = [
        rewind
        for rewind in roster.rewinds
        if rewind.partition not in partitions and not is_done(listing, rewind)
    ]
    return replace(roster, generation=roster.generation + 1, rewinds=(*kept, *rewinds))


def without(listing: Listing, id: str, partitions: Collection[PartitionId]) -> Roster | None:
    """The group's roster without a rewind of these partitions; None where it is not on it."""
    roster = roster_of(listing, STALE_S)
    kept = tuple(
        rewind for rewind in roster.rewinds if rewind.id != id or rewind.partition not in partitions
    )
    if kept == roster.rewinds:
        return None
    return replace(roster, generation=roster.generation + 1, rewinds=kept)


def is_done(listing: Listing, rewind: Rewind) -> bool:
    """Whether its owner has carried a rewind out."""
    checkpoint = listing.checkpoints.get(rewind.partition)
    return checkpoint is not None and checkpoint.rewound_by == rewind.id


def is_anybody_alive(listing: Listing) -> bool:
    return any(member.is_alive for member in listing.members.values())
