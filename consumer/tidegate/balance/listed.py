"""Snapshots from a listing of the ledger: the one place where a listing is read for a plan.

Rules:
- Pure. How long a thing is believed is passed in, in seconds; times are those of the listing.
- A member is alive by a live presence or by any live lease on an ownership blob. Who lives and has
  no member blob has left: its last leases are on their way to others, so it gets nothing.
- The owner of a partition is the one that its ownership blob names while its lease is held.
- A stale roster voids who is expected and who is leaving; all else that it says holds.
- Each expected member that is absent is waited for by itself, from when it was first missed. What
  nobody owns waits until the grace is over for all of them; who is `given_up` counts no more.
- Another processor's partition is left out while that processor lives: it has no lease, so it
  lives as long as it writes its ownership again and again.
- A member that has left, or announces that it stops, ends before other leaving members: it cannot
  wait. The others end in the order of the roster.
- A partition is new if nobody ever owned it, or if it was given up in order before the oldest
  tenure that now lives: then the group has started again since, and the partition may wait for the
  members that are expected. One whose owner died is an orphan, and waits for nobody.
- A partition whose checkpoint was deleted goes to the member that knows most of it: a member that
  wrote it before one that saw it listed, then the higher epoch and the later position.
- A load is what the owner states, living or dead; where it states nothing yet, what others still
  state; and unknown where nobody does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidegate.balance.facts import MemberFacts, PartitionFacts, Snapshot
from tidegate.model import (
    NO_ROSTER,
    LeaseState,
    Listing,
    MemberName,
    Ownership,
    PartitionId,
    Roster,
)


def snapshot_of(
    listing: Listing,
    partitions: Iterable[PartitionId],
    *,
    roster_stale_s: float,
    foreign_alive_s: float,
    is_grace_over: bool = False,
    given_up: Collection[MemberName] = (),
) -> Snapshot:
    """The group as a listing shows it. `partitions` are all that the source has.

    `foreign_alive_s` 0 takes from other processors even while they live: the explicit switch.
    """
    roster = roster_of(listing, roster_stale_s)
    alive = alive_members(listing)
    ids = [id for id in partitions if not is_foreign_owned(listing, id, foreign_alive_s)]
    expected = (n for n in roster.expected if n not in roster.leaving and n not in given_up)
    new = frozenset() if is_grace_over else new_partitions(listing, ids)
    return Snapshot(
        members=tuple(_member(listing, name, roster) for name in sorted(alive)),
        partitions=_partitions(listing, ids, alive, roster, new),
        expected=tuple(expected),
        leaving=first_to_go(stopping(listing) & alive, roster),
    )


def roster_of(listing: Listing, stale_s: float) -> Roster:
    """The roster as it counts now."""
    roster = listing.roster or NO_ROSTER
    if listing.server_time - roster.written_at <= stale_s:
        return roster
    return replace(roster, expected=(), leaving=())


def alive_members(listing: Listing) -> frozenset[MemberName]:
    """The names that live by a presence, or by a lease on any partition."""
    present = {name for name, presence in listing.members.items() if presence.is_alive}
    owning = {name for row in listing.ownerships.values() if (name := _owner(row)) is not None}
    return frozenset(present | owning)


def stopping(listing: Listing) -> frozenset[MemberName]:
    """Members that announce that they stop, or have left: they cannot wait."""
    members = listing.members
    owners = {row.owner.name for row in listing.ownerships.values() if row.owner is not None}
    leaving = {name for name, presence in members.items() if presence.is_leaving}
    return frozenset(leaving | (owners - members.keys()))


def first_to_go(stopping: Collection[MemberName], roster: Roster) -> tuple[MemberName, ...]:
    """The leaving members in the order in which they end."""
    order = {name: place for place, name in enumerate(roster.leaving)}
    first = sorted(stopping, key=lambda name: (order.get(name, len(order)), name))
    return (*first, *(name for name in roster.leaving if name not in stopping))


def absent_since(
    before: Mapping[MemberName, float],
    listing: Listing,
    alive: Collection[MemberName],
    roster: Roster,
) -> dict[MemberName, float]:
    """Since when, by the server's clock, each expected member has been seen to be absent.

    `before` is the answer for the listing before this one, and `roster` the one that counts.
    Whoever comes, or is struck off the roster, is forgotten, so each absence has a time of its own.
    """
    absent = set(roster.expected) - set(alive) - set(roster.leaving)
    return {name: before.get(name, listing.server_time) for name in sorted(absent)}


def is_foreign_owned(listing: Listing, partition: PartitionId, alive_s: float) -> bool:
    """Whether another processor owns the partition and lives."""
    row = listing.ownerships.get(partition)
    return (
        row is not None
        and row.is_foreign
        and not row.lease.is_held
        and listing.server_time - row.modified_at < alive_s
    )


def new_partitions(listing: Listing, partitions: Iterable[PartitionId]) -> frozenset[PartitionId]:
    """Those that nobody has owned since the group started."""
    rows = listing.ownerships
    tenures = (row.modified_at for row in rows.values() if _is_of_a_life(row, listing))
    started_at = min(tenures, default=float("inf"))
    return frozenset(id for id in partitions if _is_new(rows.get(id), started_at))


def _is_new(row: Ownership | None, started_at: float) -> bool:
    if row is None:
        return True
    if row.lease.is_held or row.is_foreign:
        return False
    is_given_up = row.lease is LeaseState.AVAILABLE and row.modified_at < started_at
    return row.epoch <= 0 or is_given_up


def _is_of_a_life(row: Ownership, listing: Listing) -> bool:
    """Whether who now lives wrote it. One that is just being claimed still names its last owner."""
    owner = row.owner
    presence = listing.members.get(owner.name) if owner is not None else None
    return (
        row.lease.is_held
        and owner is not None
        and presence is not None
        and presence.is_alive
        and presence.incarnation == owner.incarnation
    )


def _owner(row: Ownership) -> MemberName | None:
    """The member that holds the lease. A foreign owner holds none: one of ours is taking over."""
    if row.owner is None or row.is_foreign or not row.lease.is_held:
        return None
    return row.owner.name


def _member(listing: Listing, name: MemberName, roster: Roster) -> MemberFacts:
    presence = listing.members.get(name)
    if presence is None:
        return MemberFacts(name, is_leaving=True)
    is_leaving = presence.is_leaving or name in roster.leaving
    return MemberFacts(name, presence.weight, is_leaving, presence.declines)


def _partitions(
    listing: Listing,
    ids: Iterable[PartitionId],
    alive: Iterable[MemberName],
    roster: Roster,
    new: Collection[PartitionId],
) -> tuple[PartitionFacts, ...]:
    stated: dict[PartitionId, float] = {}
    wanted: dict[PartitionId, MemberName] = {}
    for name in sorted(alive):
        presence = listing.members.get(name)
        for id, load in presence.loads.items() if presence is not None else ():
            stated[id] = max(load, stated.get(id, 0.0))
        for id in presence.wants if presence is not None else ():
            wanted.setdefault(id, name)
    rows = listing.ownerships
    knowing = _knowing(listing, alive)
    return tuple(
        PartitionFacts(
            id=id,
            owner=_owner(rows[id]) if id in rows else None,
            load=_load(listing, rows.get(id), stated.get(id)),
            pinned_to=knowing.get(id) or roster.pins.get(id),
            is_paused=roster.is_paused or id in roster.paused,
            is_new=id in new,
            wanted_by=wanted.get(id),
        )
        for id in ids
    )


def _knowing(listing: Listing, alive: Iterable[MemberName]) -> dict[PartitionId, MemberName]:
    """Who knows most of each partition whose checkpoint was deleted, or put back."""
    best: dict[PartitionId, tuple[int, bool, int, MemberName]] = {}
    for name in alive:
        presence = listing.members.get(name)
        if presence is None:
            continue
        for id, known in presence.recalls.items():
            found = listing.checkpoints.get(id)
            if found is None or found.is_before(known.epoch, known.begun_at):
                rank = known.epoch, known.is_own, known.sequence, name
                best[id] = max(rank, best.get(id, rank))
    return {id: name for id, (_, _, _, name) in best.items()}


def _load(listing: Listing, row: Ownership | None, otherwise: float | None) -> float | None:
    if row is not None and row.owner is not None:
        presence = listing.members.get(row.owner.name)
        if presence is not None:
            return presence.loads.get(row.partition, otherwise)
    return otherwise
