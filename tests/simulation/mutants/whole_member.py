"""Mutants of a member as a whole: whom it sees, what it plans, when it takes and looks."""

from __future__ import annotations

from typing import Any

from tidegate import balance
from tidegate.member import member as member_module
from tidegate.member import view
from tidegate.member.member import Member
from tidegate.member.stall import StallWatch
from tidegate.member.taking import Taking
from tidegate.model import NO_ROSTER, LeaseState, Listing

Patches = list[tuple[object, str, Any]]


def presence_ignored() -> Patches:
    """Alive is only who has a partition."""

    def living(listing: Listing, me: str) -> dict[str, Any]:
        rows = listing.ownerships.values()
        owners = {row.owner.name for row in rows if row.owner is not None and row.lease.is_held}
        return {name: listing.members.get(name) for name in sorted(owners | {me})}

    return [(view, "living", living), (member_module, "living", living)]


def no_patience() -> Patches:
    from tidegate.member.wants import Wants  # noqa: PLC0415

    return [(Wants, "overdue", lambda self, partition, *_: partition in self.announced())]


def no_stall_watch() -> Patches:
    return [(StallWatch, "may_claim_ended", lambda *_: True)]


def no_scratch() -> Patches:
    return [(Taking, "inherit", lambda *_: [])]


def roster_for_ever() -> Patches:
    def roster_of(listing: Listing, _: Any) -> Any:
        return listing.roster or NO_ROSTER

    return [(view, "roster_of", roster_of), (member_module, "roster_of", roster_of)]


def claims_late() -> Patches:
    """An ended lease is claimed half a minute after it was first seen."""
    real = Taking._may_claim

    def may_claim(self: Taking, row: Any, listing: Listing, now: float) -> bool:
        seen = self.__dict__.setdefault("seen_ended", {})
        if row.lease is not LeaseState.EXPIRED:
            return real(self, row, listing, now)
        return bool(now - seen.setdefault(row.etag, now) > 30.0) and real(self, row, listing, now)

    return [(Taking, "_may_claim", may_claim)]


def plan_unsticky() -> Patches:
    """Partitions are dealt out by name, whoever has them."""
    real = balance.plan

    def plan(snapshot: balance.Snapshot) -> balance.Plan:
        names = sorted(member.name for member in snapshot.members if not member.is_leaving)
        made = real(snapshot)
        ids = sorted(made.assignment)
        by_name = {id: names[place % len(names)] for place, id in enumerate(ids)} if names else {}
        return balance.Plan(by_name, made.awaited, made.moves)

    return [(balance, "plan", plan)]


def always_fast() -> Patches:
    return [(Member, "_is_changing", lambda *_: True)]


def needs_roster() -> Patches:
    real = Taking.take

    def take(self: Taking, listing: Listing, planned: Any, now: float, leavers: Any) -> Any:
        roster = listing.roster
        is_known = roster is not None and listing.server_time - roster.written_at < 40.0
        return real(self, listing, planned if is_known else (), now, leavers)

    return [(Taking, "take", take)]
