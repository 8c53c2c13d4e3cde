"""How far a group is behind in a partition: the one arithmetic of lag. Pure.

Rules:
- Exact where it is known where the partition ends and up to where it is handled; estimated where
  nothing was ever handled, and so counted from where reading is to start; unknown where something
  is missing; lost where the source no longer has what comes next. An unknown lag is never 0.
- In a change feed it is counted in log sequence numbers. Deletes, and items that are written again,
  use up numbers without a change to read: such a lag is estimated, unless nothing waits.
- Only what the source still has is counted, and nothing is below 0.
- A position of -1 is the beginning, whatever is there: nothing is lost before it.

The oldest event that waits was enqueued after the last one that was handled, and after the last
moment at which nothing waited (`clear_at`). So it is at most as old as the later of the two; the
second keeps a partition that was idle for an hour from looking an hour behind at its next event.
Where only one event waits, it is the last, and its own time says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegate.model import NO_SEQUENCE
from tidegate.sources.start import Start


class LagKind(StrEnum):
    EXACT = "exact"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Lag:
    """Events not yet handled, and for how long the oldest of them has waited at most."""

    kind: LagKind
    events: int | None = None
    behind_s: float | None = None


UNKNOWN_LAG = Lag(LagKind.UNKNOWN)


def rough(lag: Lag) -> Lag:
    """The same, counted from numbers that are of more than one log."""
    return replace(lag, kind=LagKind.ESTIMATED) if lag.kind is LagKind.EXACT else lag


def in_feed(lag: Lag) -> Lag:
    """The same, counted in the log sequence numbers of a change feed."""
    return rough(lag) if lag.events else lag


def lag_of(
    *,
    handled: int | None,
    end: int | None,
    begins_at: int | None = None,
    handled_enqueued_at: float | None = None,
    clear_at: float | None = None,
    end_enqueued_at: float | None = None,
    now: float | None = None,
) -> Lag:
    """The lag behind the last event of a partition (`end`); all times are on the wall.

    `begins_at` is the first event that the source still has, where that is known.
    """
    if handled is None or end is None:
        return UNKNOWN_LAG
    begins = begins_at or 0
    events = max(end - max(handled + 1, begins) + 1, 0)
    is_lost = handled > NO_SEQUENCE and handled + 1 < begins
    behind_s = 0.0
    if events:
        since = [at for at in (handled_enqueued_at, clear_at) if at is not None]
        if events == 1 and end_enqueued_at is not None:
            since = [end_enqueued_at]
        if not since or now is None:
            return Lag(LagKind.LOST if is_lost else LagKind.EXACT, events)
        behind_s = max(now - max(since), 0.0)
    return Lag(LagKind.LOST if is_lost else LagKind.EXACT, events, behind_s)


def lag_from_start(
    start: Start,
    *,
    end: int | None,
    begins_at: int | None = None,
    end_enqueued_at: float | None = None,
    clear_at: float | None = None,
    now: float,
) -> Lag:
    """The lag of a partition that has no checkpoint: what will be read once somebody reads it."""
    if start.kind == "latest":
        return Lag(LagKind.ESTIMATED, 0, 0.0)
    if start.at is not None and end_enqueued_at is not None and end_enqueued_at < start.at:
        return Lag(LagKind.ESTIMATED, 0, 0.0)
    # From a time on it is at most all that is there: how many came before it only reading tells.
    lag = lag_of(
        handled=start.position.sequence if start.position is not None else NO_SEQUENCE,
        end=end,
        begins_at=begins_at,
        handled_enqueued_at=start.at,
        clear_at=clear_at,
        end_enqueued_at=end_enqueued_at,
        now=now,
    )
    return lag if lag.kind is LagKind.UNKNOWN else replace(lag, kind=LagKind.ESTIMATED)


@dataclass(frozen=True, slots=True)
class TotalLag:
    """The lag of several partitions: the sum of events, the longest wait, and of how many."""

    lag: Lag
    known: int  # of so many partitions it is the sum
    partitions: int

    @property
    def of_all(self) -> Lag:
        """The same where it is known of all, else unknown."""
        return self.lag if self.known == self.partitions else UNKNOWN_LAG


def total(lags: Iterable[Lag]) -> TotalLag:
    """What is known of all together: one that is unknown does not hide the others."""
    all_of_them = list(lags)
    known = [lag for lag in all_of_them if lag.events is not None]
    if all_of_them and not known:
        return TotalLag(UNKNOWN_LAG, 0, len(all_of_them))
    kinds = {lag.kind for lag in known}
    kind = next((k for k in (LagKind.LOST, LagKind.ESTIMATED) if k in kinds), LagKind.EXACT)
    waiting = [lag for lag in known if lag.events]
    waits = [lag.behind_s for lag in waiting if lag.behind_s is not None]
    longest = max(waits, default=None if waiting else 0.0)
    return TotalLag(
        Lag(kind, sum(lag.events or 0 for lag in known), longest), len(known), len(all_of_them)
    )
