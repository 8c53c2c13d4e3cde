"""What one member makes of a listing: the snapshot that balance.plan decides on. Pure.

What a listing says is told by balance/listed.py; a member adds here what it knows better.

Rules:
- What this member knows of its own partitions is newer than any listing and goes before it, and
  so does what it has given away, until the listing shows that the receiver has it.
- It lives, whatever a listing shows, with the weight that it has now and its own word on leaving
  and on what it declines.
- What an absent member is to get waits for it as long as the settings say, from when this one was
  missed: what nobody owns for `expected_grace_s`, what has an owner for `absent_limit_s`.
- A partition that it has seen owned, since it looks or since a pause of the group, is not new. A
  lease that was let go leaves no trace in a listing, so a listing alone may take it for that, and
  then it would wait for who is expected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tidegate.balance import MemberFacts, PartitionFacts, Snapshot, snapshot_of
from tidegate.balance.listed import (
    absent_since,
    alive_members,
    first_to_go,
    roster_of,
    stopping,
)
from tidegate.model import NO_ROSTER, Listing, MemberName, PartitionId, Recalled, Roster
from tidegate.settings import MemberSettings


@dataclass(frozen=True, slots=True)
class Sight:
    """A listing, with what it means to the member that reads it."""

    listing: Listing
    # The roster as it counts now.
    roster: Roster
    alive: frozenset[MemberName]
    # Since when, by the server's clock, each expected member has been missed.
    absent: Mapping[MemberName, float]
    # Partitions that were seen owned.
    once_owned: frozenset[PartitionId] = frozenset()


@dataclass(frozen=True, slots=True)
class Mine:
    """What this member knows of itself, beside the listing."""

    is_leaving: bool
    owned: Collection[PartitionId]
    # Given away: to whom, and the ETag that the ownership blob had.
    given: Mapping[PartitionId, tuple[MemberName, str]]
    # What it announces that each costs.
    loads: Mapping[PartitionId, float]
    # What it cannot handle for now.
    declines: frozenset[PartitionId] = frozenset()
    # What it knows of checkpoints that are gone from the ledger.
    recalls: Mapping[PartitionId, Recalled] = field(default_factory=dict)


def sight_of(listing: Listing, before: Sight | None, settings: MemberSettings) -> Sight:
    """A listing taken in, after the one before it."""
    roster = roster_of(listing, settings.roster_stale_s)
    alive = alive_members(listing) | {settings.name}
    missed = before.absent if before is not None else {}
    known = before.once_owned if before is not None and not roster.is_paused else frozenset()
    held = {partition for partition, row in listing.ownerships.items() if row.lease.is_held}
    absent = absent_since(missed, listing, alive, roster)
    return Sight(listing, roster, alive, absent, known if held <= known else known | held)


def told(sight: Sight) -> object:
    """What it says of the group; where this differs from before, something is going on."""
    listing = sight.listing
    # Leases: where one has ended, others of the same owner may follow soon.
    held = {partition for partition, row in listing.ownerships.items() if row.lease.is_held}
    present = {name for name, presence in listing.members.items() if presence.is_alive}
    # An operator that lives writes the same roster again and again.
    said = replace(listing.roster or NO_ROSTER, etag="", written_at=0.0)
    return sight.alive, held, present, said


def snapshot(
    sight: Sight, partitions: Iterable[PartitionId], mine: Mine, settings: MemberSettings
) -> Snapshot:
    """The facts that the plan is made from."""
    overdue = _missed_for(settings.expected_grace_s, sight)
    shown = snapshot_of(
        _with_recalls(sight.listing, settings.name, mine.recalls),
        partitions,
        roster_stale_s=settings.roster_stale_s,
        foreign_alive_s=0.0 if settings.takes_from_foreign else settings.foreign_alive_s,
        is_grace_over=bool(overdue) and overdue == sight.absent.keys(),
        given_up=_missed_for(settings.absent_limit_s, sight),
    )
    name = settings.name
    is_leaving = mine.is_leaving or name in sight.roster.leaving
    others = [member for member in shown.members if member.name != name]
    me = MemberFacts(name, settings.weight, is_leaving, mine.declines)
    hurried = stopping(sight.listing) & sight.alive
    hurried = hurried | {name} if mine.is_leaving else hurried - {name}
    return replace(
        shown,
        members=tuple(sorted([*others, me], key=lambda member: member.name)),
        partitions=tuple(_known(facts, sight, mine, name) for facts in shown.partitions),
        leaving=first_to_go(hurried, sight.roster),
    )


def _with_recalls(
    listing: Listing, name: MemberName, recalls: Mapping[PartitionId, Recalled]
) -> Listing:
    """A listing with this member's latest announcement."""
    presence = listing.members.get(name)
    if presence is None or presence.recalls == recalls:
        return listing
    return replace(listing, members={**listing.members, name: replace(presence, recalls=recalls)})


def _missed_for(seconds: float, sight: Sight) -> set[MemberName]:
    now = sight.listing.server_time
    return {name for name, since in sight.absent.items() if now - since >= seconds}


def _known(shown: PartitionFacts, sight: Sight, mine: Mine, me: MemberName) -> PartitionFacts:
    """What a listing shows of a partition, unless we know better."""
    if shown.id in mine.owned:
        load = mine.loads.get(shown.id, shown.load)
        return replace(shown, owner=me, load=load, is_new=False)
    if shown.is_new and shown.id in sight.once_owned:
        shown = replace(shown, is_new=False)
    given = mine.given.get(shown.id)
    if given is None or shown.owner is None:
        return shown
    target, etag = given
    if sight.listing.ownerships[shown.id].etag != etag:
        return shown
    return replace(shown, owner=target if target in sight.alive else None)
