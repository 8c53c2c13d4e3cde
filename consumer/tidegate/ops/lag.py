"""How far a member is behind in a partition of its own. Pure.

Rules: lag is exact where the source said where the partition ends and something was handled or
checkpointed; unknown where either is missing; lost where the source no longer has what comes next.
An unknown lag is never shown as 0.

The oldest event that waits was enqueued after the last one that was handled, and after the last
moment at which nothing waited (`clear_at`). So it is at most as old as the later of the two; the
second keeps a partition that was idle for an hour from looking an hour behind at its next event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LagKind(StrEnum):
    EXACT = "exact"
    UNKNOWN = "unknown"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Lag:
    """Events not yet handled, and for how long the oldest of them has waited at most."""

    kind: LagKind
    events: int | None = None
    behind_s: float | None = None


UNKNOWN_LAG = Lag(LagKind.UNKNOWN)


def lag_of(
    *,
    handled: int | None,
    handled_enqueued_at: float | None,
    clear_at: float | None,
    end: int | None,
    begins_at: int | None,
    now: float,
) -> Lag:
    """The lag behind the last event of a partition (`end`); all times are on the wall."""
    if handled is None or end is None:
        return UNKNOWN_LAG
    events = max(end - handled, 0)
    behind: float | None = 0.0
    if events:
        since = [at for at in (handled_enqueued_at, clear_at) if at is not None]
        behind = max(now - max(since), 0.0) if since else None
    if begins_at is not None and handled + 1 < begins_at:
        return Lag(LagKind.LOST, max(end - begins_at + 1, 0), behind)
    return Lag(LagKind.EXACT, events, behind)
