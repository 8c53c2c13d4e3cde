"""Says that the ledger cannot be listed, and when it can again. Pure.

Rules: each cause is said once, not at every look. Storage that does not answer is said when it has
not done so for as long as counts as a stall; a refusal is said at once, for it does not pass.
"""

from __future__ import annotations

from tidegate.member.messages import Report
from tidegate.ports import Refusal
from tidegate.settings import MemberSettings

# What does not pass by itself.
LASTING = (Refusal.DENIED, Refusal.INVALID, Refusal.MISSING, Refusal.ABSENT)


class Outage:
    """See the module."""

    def __init__(self, settings: MemberSettings) -> None:
        self._slow_s = settings.slow_s
        self._since: float | None = None
        self._said: Refusal | None = None

    def on_failure(self, refusal: Refusal | None, message: str, now: float) -> list[Report]:
        """A listing failed."""
        since = self._since = now if self._since is None else self._since
        if refusal in LASTING:
            kind = "ledger-unreadable"
        elif now - since >= self._slow_s:
            kind, refusal = "ledger-unreachable", Refusal.UNKNOWN
        else:
            return []
        if refusal is self._said:
            return []
        self._said = refusal
        return [Report(kind, None, message)]

    def on_success(self, now: float) -> list[Report]:
        """A listing came."""
        since, said, self._since, self._said = self._since, self._said, None, None
        if since is None or said is None:
            return []
        return [Report("ledger-readable", None, f"again, after {now - since:.0f} s")]
