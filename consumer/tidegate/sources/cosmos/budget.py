"""Request units: how many were spent, and how long to wait where they are bounded. Pure.

Rules:
- The service says what a request cost once it is done, so a request may overdraw; the next waits
  until that is paid off. Over time no more is spent than the budget.
- A budget is the group's. A member may spend the share of it that its partitions are of all.
"""

from __future__ import annotations

# What was not spent in so many seconds is gone.
_SAVED_S = 1.0


class Budget:
    """Of one member, for one container. `per_s` None: as much as it takes."""

    def __init__(self, per_s: float | None = None) -> None:
        self._per_s = per_s
        self._share = 1.0
        self._left = (per_s or 0.0) * _SAVED_S
        self._at: float | None = None
        # All that was spent since the process began.
        self.spent = 0.0
        self.requests = 0

    def bound(self, per_s: float) -> None:
        """No more than this, whatever was said before."""
        self._per_s = per_s if self._per_s is None else min(per_s, self._per_s)

    def share(self, of: int, partitions: int) -> None:
        """Of so many partitions this member reads so many."""
        self._share = min(of / partitions, 1.0) if of and partitions else 1.0

    def spend(self, units: float, now: float) -> None:
        """A request cost so much."""
        self._earn(now)
        self.spent += units
        self.requests += 1
        if self._per_s is not None:
            self._left -= units

    def wait_s(self, now: float) -> float:
        """How long the next request has to wait."""
        if self._per_s is None:
            return 0.0
        self._earn(now)
        return 0.0 if self._left >= 0 else -self._left / (self._per_s * self._share)

    def _earn(self, now: float) -> None:
        if self._per_s is None:
            return
        if self._at is not None:
            earned = max(now - self._at, 0.0) * self._per_s * self._share
            self._left = min(self._left + earned, self._per_s * self._share * _SAVED_S)
        self._at = now
