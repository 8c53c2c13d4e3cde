"""The roster: what it shall say, whether it says it, and when it must be written again. Pure.

Rules:
- What members plan from is compared, not what stands in the blob: who is waited for, who that is
  there shall leave, pins, pauses, rewinds. So a group in which nothing goes on writes nothing, and
  its roster may grow stale, which then changes nothing.
- While somebody is waited for or leaves, the roster is kept fresh: it is touched at half the time
  after which it would count no longer.
- Rewinds are of whoever asked for them: they stay until they are done, and are struck off then.
- The ETag in a roster that is to be written is the one that was seen; the write is conditional.
"""

from __future__ import annotations

from collections.abc import Collection

from tidegate.balance.listed import roster_of
from tidegate.commands.rosters import STALE_S, is_done
from tidegate.model import Listing, MemberName, Roster
from tidegate_operator.model import Wish

TOUCH_S = STALE_S / 2


def standing(listing: Listing) -> Roster:
    """The roster as it counts now."""
    return roster_of(listing, STALE_S)


def intended(
    listing: Listing,
    wish: Wish,
    expected: tuple[MemberName, ...],
    leaving: tuple[MemberName, ...],
) -> Roster:
    """What the roster shall say."""
    seen = standing(listing)
    return Roster(
        etag=seen.etag,
        generation=seen.generation + 1,
        expected=expected,
        leaving=leaving,
        pins=dict(sorted(wish.pins.items())),
        paused=wish.paused_partitions,
        is_paused=wish.is_paused,
        rewinds=tuple(rewind for rewind in seen.rewinds if not is_done(listing, rewind)),
    )


def is_said(seen: Roster, wish: Roster, alive: Collection[MemberName]) -> bool:
    """Whether members that read `seen` plan as if they read `wish`."""
    present = frozenset(alive)
    if (
        seen.pins != wish.pins
        or seen.paused != wish.paused
        or seen.is_paused != wish.is_paused
        or seen.rewinds != wish.rewinds
    ):
        return False
    # A member can be marked before it joins, and may stay marked when it has gone. Members use the
    # order, so it must be right as well.
    marked = tuple(name for name in seen.leaving if name in wish.leaving)
    if marked != wish.leaving or not present & set(seen.leaving) <= set(wish.leaving):
        return False
    # While something goes on, the order of those who are expected matters as well.
    return _waited_for(seen, alive) == _waited_for(wish, alive) and (
        not is_under_way(wish, alive) or _takers(seen) == _takers(wish)
    )


def is_under_way(roster: Roster, alive: Collection[MemberName]) -> bool:
    """Whether what it says is yet to come true: somebody is waited for, or is to leave."""
    return bool(_waited_for(roster, alive) or roster.leaving)


def is_growing_stale(listing: Listing) -> bool:
    """Whether the roster is so old that it must be touched to go on counting."""
    roster = listing.roster
    return roster is None or listing.server_time - roster.written_at >= TOUCH_S


def is_unreadable(listing: Listing) -> bool:
    """Whether there is a roster that nobody can read, and so nobody may write over."""
    return any(flaw.blob.rstrip("/").rpartition("/")[2] == "roster" for flaw in listing.flaws)


def _takers(roster: Roster) -> tuple[MemberName, ...]:
    return tuple(name for name in roster.expected if name not in roster.leaving)


def _waited_for(roster: Roster, alive: Collection[MemberName]) -> frozenset[MemberName]:
    return frozenset(_takers(roster)) - frozenset(alive)
