"""How many events are due at a rate. Pure: `now` is passed in.

Rules: the rate holds over the whole run, so what a pause held up is made good, but never more than
a second of it.
"""

from __future__ import annotations

_MOST_BEHIND_S = 1.0


class Pace:
    """Counts what is due; a rate of None means 'as much as can be'."""

    def __init__(self, rate: float | None, now: float, at_once: int) -> None:
        self._rate = rate
        self._since = now
        self._given = 0
        self._at_once = at_once

    def due(self, now: float) -> int:
        """How many events to send now; they count as sent."""
        if self._rate is None:
            return self._at_once
        behind = (now - self._since) * self._rate - self._given
        # One more: the event that is due by now, however low the rate.
        most = self._rate * _MOST_BEHIND_S + 1
        if behind > most:
            # Too late for all of it: what is left out moves the beginning.
            self._since += (behind - most) / self._rate
            behind = most
        count = min(int(behind), self._at_once)
        self._given += count
        return count

    def pause_s(self, now: float) -> float:
        """How long until the next event is due."""
        if self._rate is None:
            return 0.0
        next_at = self._since + (self._given + 1) / self._rate
        return max(next_at - now, 0.0)
