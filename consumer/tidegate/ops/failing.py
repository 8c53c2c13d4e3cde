"""Since when a partition of ours cannot be read, and what was said of it.

Rules: pure. A reader that opens may fail again at once: it reads when a batch was handled, or when
it has stood open for a while, though nothing came.
"""

from __future__ import annotations

from dataclasses import dataclass

# The kinds of report that say why a partition of ours is not read.
KINDS = frozenset(("reader-failed", "start-unknown"))
# The kind by which a handler's partition stands still from then on.
HALTED = "handler-halted"
# The kinds by which its circuit breaker opens, and closes again.
CIRCUIT_OPEN = "circuit-open"
CIRCUIT_CLOSED = "circuit-closed"
_READS_S = 5.0


@dataclass(slots=True)
class Failing:
    """Of one partition, as long as it is ours."""

    # What was said last.
    trouble: str = ""
    _since: float | None = None
    # None while no reader is open.
    _opened_at: float | None = None

    def opened(self, at: float) -> None:
        self._opened_at = at

    def failed(self, at: float) -> None:
        """Its reader could not be opened, or ended by itself."""
        if self._since is None or self._has_stood(at):
            self._since = at
        self._opened_at = None

    def over(self) -> None:
        """It is read, or it is not ours any more."""
        self._since = None

    def lasts_s(self, now: float) -> float:
        """How long it has not been read; 0 where it is."""
        return 0.0 if self._since is None or self._has_stood(now) else now - self._since

    def _has_stood(self, now: float) -> bool:
        return self._opened_at is not None and now - self._opened_at >= _READS_S
