"""Which events are kept: a decision, made from what a log can tell, without reading a clock.

Rules: retention by time keeps every event that is at most so old; retention by bytes keeps the
newest events that fit. Where both are set, an event must pass both. A limit on all hubs together
drops whole segments, the one that ended first goes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Retention:
    """How long, and how much of each partition; None keeps for ever."""

    max_age_ms: int | None = None
    max_bytes: int | None = None

    def changed_by(self, other: Retention) -> Retention:
        """This, with what the other sets; what it leaves open stays."""
        return Retention(
            self.max_age_ms if other.max_age_ms is None else other.max_age_ms,
            self.max_bytes if other.max_bytes is None else other.max_bytes,
        )


KEEP_FOR_EVER = Retention()


class Positions(Protocol):
    """What a log tells about its events."""

    @property
    def first_sequence(self) -> int: ...

    @property
    def next_offset(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def sequence_at_time(self, ms: int, inclusive: bool) -> int: ...

    def sequence_after_offset(self, offset: int, inclusive: bool) -> int: ...


def first_to_keep(log: Positions, retention: Retention, now_ms: int) -> int:
    """The sequence below which everything has outlived its retention."""
    keep = log.first_sequence
    if retention.max_age_ms is not None:
        keep = max(keep, log.sequence_at_time(now_ms - retention.max_age_ms, inclusive=True))
    if retention.max_bytes is not None and log.size_bytes > retention.max_bytes:
        oldest_offset = log.next_offset - retention.max_bytes
        keep = max(keep, log.sequence_after_offset(oldest_offset, inclusive=True))
    return keep
