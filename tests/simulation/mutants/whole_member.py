"""Mutants of a member as a whole: whom it sees, what it plans, when it takes and looks."""

from __future__ import annotations

from typing import Any

from tidegate import balance
from tidegate.balance import listed
from tidegate.member import view
from tidegate.member.member import Member
from tidegate.member.stall import StallWatch
from tidegate.member.taking import Taking
from tidegate.member.tenures import Tenures
from tidegate.model import NO_ROSTER, LeaseState, Listing

Patches = list[tuple[object, str, Any]]


def presence_ignored() -> Patches:
    """Alive is only who has a partition."""

    def alive_members(listing: Listing) -> frozenset[str]:
        rows = listing.ownerships.values()
        return frozenset(row.owner.name for row in rows if row.owner and row.lease.is_held)

    return [(view, "alive_members", alive_members), (listed, "alive_members", alive_members)]


def no_patience() -> Patches:
    from tidegate.member.wants import Wants  # noqa: PLC0415

    return [(Wants, "overdue", lambda self, partition, *_: partition in self.announced())]


def no_stall_watch() -> Patches:
    return [(StallWatch, "may_claim_ended", lambda *_: True)]


def no_scratch() -> Patches:
    return [(Taking, "inherit", lambda *_: [])]


def roster_for_ever() -> Patches:
    def roster_of(listing: Listing, _: float) -> Any:
        return listing.roster or NO_ROSTER

    return [(view, "roster_of", roster_of), (listed, "roster_of", roster_of)]


def declines_nothing() -> Patches:
    """A member whose handler hangs says nothing of it."""
    return [(Tenures, "declined", lambda *_: frozenset())]


def claims_late() -> Patches:
    """An ended lease is claimed half a minute after it was first seen."""
    real = Taking.take

    def take(self: Taking, sight: Any, planned: Any, now: float, hurried: Any) -> Any:
        seen = self.__dict__.setdefault("seen_ended", {})
        rows = sight.listing.ownerships
        ended = [p for p in planned if p in rows and rows[p].lease is LeaseState.EXPIRED]
        early = {p for p in ended if now - seen.setdefault(rows[p].etag, now) <= 30.0}
        return real(self, sight, set(planned) - early, now, hurried)

    return [(Taking, "take", take)]


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

    def take(self: Taking, sight: Any, planned: Any, now: float, hurried: Any) -> Any:
        roster = sight.listing.roster
        is_known = roster is not None and sight.listing.server_time - roster.written_at < 40.0
        return real(self, sight, planned if is_known else (), now, hurried)

    return [(Taking, "take", take)]
