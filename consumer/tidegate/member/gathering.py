"""Members that start together are waited for before anything moves between the living. Pure.

Without this each newcomer would change the plan again while the moves for the one before are under
way, and partitions would move twice. Orphans, and what a leaving member has, do not wait.
"""

from __future__ import annotations

from tidegate.model import MemberName
from tidegate.settings import MemberSettings

# However many come one after the other, it is over after so many grace times.
_MOST = 5


class Gathering:
    """Whether newcomers were seen a moment ago."""

    def __init__(self, settings: MemberSettings) -> None:
        self._grace_s = settings.newcomer_grace_s
        self._known: frozenset[MemberName] = frozenset()
        self._began_at = float("-inf")
        self._last_at = float("-inf")

    def see(self, alive: frozenset[MemberName], now: float) -> None:
        """Takes in who is alive now."""
        if alive - self._known:
            if not self.is_on(now):
                self._began_at = now
            self._last_at = now
        self._known = alive

    def is_on(self, now: float) -> bool:
        is_recent = now - self._last_at < self._grace_s
        return is_recent and now - self._began_at < _MOST * self._grace_s
