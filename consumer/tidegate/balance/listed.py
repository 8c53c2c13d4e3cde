"""Snapshots from a listing of the ledger.

Rules:
- Pure. A member is alive by a live presence or by any live lease on an ownership blob.
- The owner of a partition is the one that its ownership blob names while its lease is held.
- A stale roster voids who is expected and who is leaving; pins and pauses hold.
- Another processor's partition is left out while that processor lives: it has no lease, so it
  lives as long as it writes its ownership again and again.
- A partition is new if nobody ever owned it, or if it was given up in order before the oldest
  tenure that now lives: then the group has started again since, and the partition may wait for the
  members that are expected. One whose owner died is an orphan, and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidegate.balance.facts import (
    DEFAULT_BAND,
    DEFAULT_BUSY_FROM,
    MemberFacts,
    PartitionFacts,
    Snapshot,
)
from tidegate.model import NO_ROSTER, Listing, MemberName, Ownership, PartitionId, Roster

ROSTER_STALE_AFTER_S = 60.0
# A foreign processor that has not written its ownership for so long is dead.
FOREIGN_LIFE_S = 180.0


def snapshot_of(
    listing: Listing,
    partitions: Sequence[PartitionId],
    *,
    is_grace_over: bool = False,
    given_up: Collection[MemberName] = (),
    roster_stale_after_s: float = ROSTER_STALE_AFTER_S,
    foreign_life_s: float = FOREIGN_LIFE_S,
    takes_from_foreign: bool = False,
    band: float = DEFAULT_BAND,
    busy_from: float = DEFAULT_BUSY_FROM,
) -> Snapshot:
    """The group as a listing shows it. `partitions` are all that the source has.

    `given_up`: expected members that have been absent for too long (see `absent_since`);
    `is_grace_over` gives up all who are absent. `takes_from_foreign` is the explicit switch that
    takes partitions from another processor that lives.
    """
    roster = listing.roster or NO_ROSTER
    is_fresh = _is_fresh(listing, roster_stale_after_s)
    alive = alive_members(listing)
    leaving = roster.leaving if is_fresh else frozenset()
    expected = roster.expected if is_fresh else ()
    kept_out = (
        frozenset()
        if takes_from_foreign
        else frozenset(id for id in partitions if is_foreign_owned(listing, id, foreign_life_s))
    )
    return Snapshot(
        members=tuple(
            MemberFacts(name, _weight(listing, name), name in leaving) for name in sorted(alive)
        ),
        partitions=_partitions(
            listing, [id for id in partitions if id not in kept_out], alive, roster
        ),
        expected=tuple(n for n in expected if n not in leaving and n not in given_up),
        is_grace_over=is_grace_over,
        band=band,
        busy_from=busy_from,
    )


def alive_members(listing: Listing) -> frozenset[MemberName]:
    """The names that live by a presence, or by a lease on any partition."""
    present = {name for name, presence in listing.members.items() if presence.is_alive}
    owning = {name for o in listing.ownerships.values() if (name := _owner(o)) is not None}
    return frozenset(present | owning)


def absent_since(
    before: Mapping[MemberName, float],
    listing: Listing,
    roster_stale_after_s: float = ROSTER_STALE_AFTER_S,
) -> dict[MemberName, float]:
    """Since when, by the server's clock, each expected member has been seen to be absent.

    `before` is the answer for the listing before this one. Whoever comes, or is struck off the
    roster, is forgotten, so that each absence has a grace time of its own.
    """
    if listing.roster is None or not _is_fresh(listing, roster_stale_after_s):
        return {}
    absent = set(listing.roster.expected) - alive_members(listing) - listing.roster.leaving
    return {name: before.get(name, listing.server_time) for name in sorted(absent)}


def is_foreign_owned(
    listing: Listing, partition: PartitionId, life_s: float = FOREIGN_LIFE_S
) -> bool:
    """Whether another processor owns the partition and lives."""
    ownership = listing.ownerships.get(partition)
    return (
        ownership is not None
        and ownership.is_foreign
        and ownership.owner is not None
        and not ownership.lease.is_held
        and listing.server_time - ownership.modified_at < life_s
    )


def _is_fresh(listing: Listing, stale_after_s: float) -> bool:
    roster = listing.roster
    return roster is not None and listing.server_time - roster.written_at <= stale_after_s


def _owner(ownership: Ownership) -> MemberName | None:
    """The member that holds the lease. A foreign owner holds none: one of ours is taking over."""
    if ownership.owner is None or ownership.is_foreign or not ownership.lease.is_held:
        return None
    return ownership.owner.name


def _weight(listing: Listing, name: MemberName) -> float:
    presence = listing.members.get(name)
    return presence.weight if presence is not None else 1.0


def _partitions(
    listing: Listing,
    ids: Sequence[PartitionId],
    alive: Collection[MemberName],
    roster: Roster,
) -> tuple[PartitionFacts, ...]:
    tenures = [o.modified_at for o in listing.ownerships.values() if _owner(o) is not None]
    started_at = min(tenures, default=float("inf"))
    stated: dict[PartitionId, float] = {}
    for name in sorted(alive):
        presence = listing.members.get(name)
        for id, load in presence.loads.items() if presence is not None else ():
            stated[id] = max(load, stated.get(id, 0.0))
    facts = []
    for id in ids:
        ownership = listing.ownerships.get(id)
        facts.append(
            PartitionFacts(
                id=id,
                owner=_owner(ownership) if ownership is not None else None,
                load=_load(listing, ownership, stated.get(id, 0.0)),
                pinned_to=roster.pins.get(id),
                is_paused=roster.is_paused or id in roster.paused,
                is_new=_is_new(ownership, started_at),
            )
        )
    return tuple(facts)


def _load(listing: Listing, ownership: Ownership | None, otherwise: float) -> float:
    """What the owner says, living or dead; where it says nothing yet, what others still say."""
    if ownership is not None and ownership.owner is not None:
        presence = listing.members.get(ownership.owner.name)
        if presence is not None and ownership.partition in presence.loads:
            return presence.loads[ownership.partition]
    return otherwise


def _is_new(ownership: Ownership | None, started_at: float) -> bool:
    if ownership is None:
        return True
    if ownership.owner is not None or ownership.lease.is_held:
        return False
    return ownership.epoch <= 0 or ownership.modified_at < started_at
