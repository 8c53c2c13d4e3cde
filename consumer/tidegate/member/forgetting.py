"""Removes the member blobs of members that are long dead, so that a listing does not grow for ever.

Rules: pure. Pods come with new names, and a killed one leaves its blob behind. The first by name of
those who live removes it, once it has stood unleased and unchanged for many leases by its own
clock. The call carries the ETag, and the service refuses it where somebody holds the lease again.
"""

from __future__ import annotations

from tidegate.member.messages import Command, Perform
from tidegate.model import Listing, MemberName
from tidegate.ports import Forget
from tidegate.settings import MemberSettings

# Longer than anything that a living member may sleep through.
_LEASES = 20
# Where it fails it is tried again after so long.
_AGAIN_LEASES = 4


class Forgetting:
    """See the module."""

    def __init__(self, settings: MemberSettings) -> None:
        self._name = settings.name
        self._after_s = _LEASES * settings.lease_s
        self._again_s = _AGAIN_LEASES * settings.lease_s
        # Since when each dead member's blob has been as it is.
        self._dead: dict[tuple[MemberName, str], float] = {}

    def on_listing(self, listing: Listing, now: float) -> list[Command]:
        """What to remove now."""
        members = listing.members.values()
        dead = [(member.name, member.etag) for member in members if not member.is_alive]
        if not dead:
            self._dead = {}
            return []
        self._dead = {key: self._dead.get(key, now) for key in dead}
        if self._name != min((member.name for member in members if member.is_alive), default=""):
            return []
        due = [key for key, since in self._dead.items() if now - since >= self._after_s]
        for key in due:
            self._dead[key] = now - self._after_s + self._again_s
        return [Perform(None, Forget(name, etag)) for name, etag in sorted(due)]
