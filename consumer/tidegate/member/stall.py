"""Rule 8: when storage stalls, nobody steals. Pure.

A stall makes the leases of living owners end, all at about the same time. So after one, and also
when more than half of the group's leases are found ended together, an ended lease may be claimed
only one lease period after the first clean listing: until then its owner has had the time to renew.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.model import Listing, PartitionId
from tidegate.settings import MemberSettings


class StallWatch:
    """Whether ended leases may be claimed now."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._is_stalled = False
        self._closed_until = float("-inf")
        self._held: frozenset[PartitionId] = frozenset()

    def on_failure(self) -> None:
        """A listing failed, or took too long to say."""
        self._is_stalled = True

    def on_listing(self, listing: Listing, sent_at: float, now: float) -> None:
        """Takes in a listing; a slow one shows a stall that is not over."""
        if now - sent_at > self._settings.slow_s:
            self._is_stalled = True
            return
        held = frozenset(
            partition for partition, row in listing.ownerships.items() if row.lease.is_held
        )
        if self._is_stalled or self._ended_together(listing.ownerships, held):
            self._closed_until = now + self._settings.lease_s
        self._is_stalled = False
        self._held = held

    def _ended_together(
        self, rows: Mapping[PartitionId, object], held: frozenset[PartitionId]
    ) -> bool:
        """More than half of the leases that were held have ended since the listing before."""
        ended = [partition for partition in self._held - held if partition in rows]
        return len(ended) * 2 > len(self._held) and len(ended) > 1

    def may_claim_ended(self, now: float) -> bool:
        return not self._is_stalled and now >= self._closed_until
