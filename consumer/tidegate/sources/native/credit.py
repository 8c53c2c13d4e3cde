"""How many events a reader may be sent, so that what waits stays below a number of bytes. Pure.

Rules:
- AMQP counts messages; a reader's room is bytes. What is granted is the room divided by what an
  event has weighed lately, and never more than events_most.
- A larger event than expected counts at once, smaller ones little by little: the estimate errs to
  the safe side. Until something has come, little is granted.
- Credit is renewed when half of it is used, long before it runs dry; it is taken back when what is
  under way would not fit.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_CREDIT = 32
_SMOOTHING = 0.125


@dataclass(slots=True)
class Room:
    """The room of one reader. `limit_bytes` may be changed while it reads."""

    limit_bytes: int
    events_most: int = 5_000
    waiting_bytes: int = 0
    mean_bytes: float = 0.0

    def came(self, count: int, size: int) -> None:
        """Events came, of so many bytes together."""
        mean = size / count
        if mean >= self.mean_bytes:
            self.mean_bytes = mean
        else:
            share = min(1.0, _SMOOTHING * count / 16)
            self.mean_bytes += (mean - self.mean_bytes) * share
        self.waiting_bytes += size

    def went(self, size: int) -> None:
        """What was waiting was handed on."""
        self.waiting_bytes -= size

    def begin(self) -> int:
        """What to grant as a link is opened."""
        return FIRST_CREDIT if not self.mean_bytes else max(self._wanted(), 1)

    def renewal(self, credit: int) -> int | None:
        """What to grant to a link that has so much credit left; None: leave it."""
        if not self.mean_bytes:
            return None if credit else FIRST_CREDIT
        wanted = self._wanted()
        if credit <= wanted // 2 or credit > wanted * 2:
            return wanted if wanted != credit else None
        return None

    def _wanted(self) -> int:
        free = self.limit_bytes - self.waiting_bytes
        if free <= 0:
            return 0
        # An event larger than all the room still has to come through, alone.
        return max(1, min(self.events_most, int(free / self.mean_bytes)))
