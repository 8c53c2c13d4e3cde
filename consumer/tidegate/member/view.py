"""What one member makes of a listing: the snapshot that balance.plan decides on. Pure.

Rules:
- Alive is who has a live presence, or any live lease of a partition (rule 6). Of those, who has no
  member blob at all has left: its last leases are on their way to others.
- What this member knows of its own partitions is newer than any listing and goes before it, and
  so does what it has given away, until the listing shows that the receiver has it.
- An unleased partition of another kind of processor, written a short time ago, has a live owner
  and takes no part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tidegate.balance import MemberFacts, PartitionFacts, Snapshot
from tidegate.model import (
    NO_ROSTER,
    Listing,
    MemberName,
    Ownership,
    PartitionId,
    Presence,
    Roster,
)
from tidegate.settings import MemberSettings


@dataclass(frozen=True, slots=True)
class Mine:
    """What this member knows of itself, beside the listing."""

    name: MemberName
    weight: float
    is_leaving: bool
    owned: Collection[PartitionId]
    # Given away: to whom, and the ETag that the ownership blob had.
    given: Mapping[PartitionId, tuple[MemberName, str]]
    loads: Mapping[PartitionId, float]


def roster_of(listing: Listing, settings: MemberSettings) -> Roster:
    """The roster as it counts now: a stale one says no more who is expected or leaving."""
    roster = listing.roster
    if roster is None:
        return NO_ROSTER
    if listing.server_time - roster.written_at <= settings.roster_stale_s:
        return roster
    return Roster(
        roster.etag,
        roster.generation,
        pins=roster.pins,
        paused=roster.paused,
        is_paused=roster.is_paused,
        rewinds=roster.rewinds,
        written_at=roster.written_at,
    )


def said(roster: Roster | None) -> Roster | None:
    """What a roster says, whenever it was written: an operator that lives writes it again."""
    return None if roster is None else replace(roster, etag="", written_at=0.0)


def living(listing: Listing, me: MemberName) -> dict[MemberName, Presence | None]:
    """Who is alive, with what they say of themselves where they say it."""
    alive: dict[MemberName, Presence | None] = {
        name: presence for name, presence in listing.members.items() if presence.is_alive
    }
    for row in listing.ownerships.values():
        if row.owner is not None and row.lease.is_held and not row.is_foreign:
            alive.setdefault(row.owner.name, listing.members.get(row.owner.name))
    alive.setdefault(me, None)
    return alive


def held(listing: Listing) -> tuple[frozenset[PartitionId], frozenset[MemberName]]:
    """The leases that are held. Where one has ended, others of the same owner may follow soon."""
    return (
        frozenset(p for p, row in listing.ownerships.items() if row.lease.is_held),
        frozenset(name for name, presence in listing.members.items() if presence.is_alive),
    )


def stopping(listing: Listing) -> frozenset[MemberName]:
    """Who is on the way out by their own word, or has left: they cannot wait."""
    members = listing.members
    owners = {row.owner.name for row in listing.ownerships.values() if row.owner is not None}
    return frozenset(
        {name for name, presence in members.items() if presence.is_leaving}
        | (owners - members.keys())
    )


def is_foreign_alive(row: Ownership, listing: Listing, settings: MemberSettings) -> bool:
    """Whether another kind of processor seems to own it: unleased, but written lately."""
    if not row.is_foreign or row.owner is None or settings.takes_from_foreign:
        return False
    return listing.server_time - row.modified_at < settings.foreign_alive_s


def is_new(row: Ownership | None) -> bool:
    """Whether nobody has ever owned it."""
    return row is None or (row.owner is None and row.epoch == 0 and not row.is_foreign)


def absent_since(
    before: Mapping[MemberName, float],
    listing: Listing,
    alive: Collection[MemberName],
    settings: MemberSettings,
) -> dict[MemberName, float]:
    """Since when, by the server's clock, each expected member has been seen to be absent.

    `before` is the answer for the listing before this one. Each absence has a time of its own.
    """
    roster = roster_of(listing, settings)
    absent = set(roster.expected) - set(alive) - roster.leaving
    return {name: before.get(name, listing.server_time) for name in sorted(absent)}


def snapshot(
    listing: Listing,
    partitions: Collection[PartitionId],
    mine: Mine,
    settings: MemberSettings,
    absent: Mapping[MemberName, float],
    *,
    is_grace_over: bool,
) -> Snapshot:
    """The facts that the plan is made from.

    An expected member that is absent for too long counts no more. New partitions do not even wait
    that long (`is_grace_over`): then they go to those who are here.
    """
    roster = roster_of(listing, settings)
    given_up = {
        name
        for name, since in absent.items()
        if listing.server_time - since >= settings.absent_limit_s
    }
    alive = living(listing, mine.name)
    members = tuple(
        MemberFacts(
            name,
            _weight(name, presence, mine),
            is_leaving=name in roster.leaving or _is_leaving(name, presence, mine),
        )
        for name, presence in sorted(alive.items())
    )
    facts = []
    for partition in sorted(partitions):
        row = listing.ownerships.get(partition)
        if row is not None and is_foreign_alive(row, listing, settings):
            continue
        owner = _owner(partition, row, alive, mine)
        facts.append(
            PartitionFacts(
                partition,
                owner,
                load=_load(partition, owner, alive, mine),
                pinned_to=roster.pins.get(partition),
                is_paused=roster.is_paused or partition in roster.paused,
                is_new=is_new(row) and owner is None and not is_grace_over,
            )
        )
    expected = tuple(
        name for name in roster.expected if name not in given_up and name not in roster.leaving
    )
    return Snapshot(members, tuple(facts), expected)


def _weight(name: MemberName, presence: Presence | None, mine: Mine) -> float:
    if name == mine.name:
        return mine.weight
    return 1.0 if presence is None else presence.weight


def _is_leaving(name: MemberName, presence: Presence | None, mine: Mine) -> bool:
    if name == mine.name:
        return mine.is_leaving
    # Who holds a lease and has no blob has left; the lease is on its way to somebody.
    return presence is None or presence.is_leaving


def _owner(
    partition: PartitionId,
    row: Ownership | None,
    alive: Mapping[MemberName, Presence | None],
    mine: Mine,
) -> MemberName | None:
    if partition in mine.owned:
        return mine.name
    if row is None or not row.lease.is_held:
        return None
    given = mine.given.get(partition)
    if given is not None and row.etag == given[1]:
        return given[0] if given[0] in alive else None
    if row.owner is None:
        return None
    return row.owner.name if row.owner.name in alive else None


def _load(
    partition: PartitionId,
    owner: MemberName | None,
    alive: Mapping[MemberName, Presence | None],
    mine: Mine,
) -> float:
    if owner is None:
        return 0.0
    if owner == mine.name:
        return mine.loads.get(partition, 0.0)
    presence = alive.get(owner)
    return 0.0 if presence is None else presence.loads.get(partition, 0.0)
