"""When a checkpoint is due, and when handling has to wait for one. Pure.

Rules:
- Events count from the last checkpoint that stands, not from the last that was asked for, so a
  budget of duplicates holds however slow the ledger is.
- With a budget, a checkpoint is asked for at half of it: the other half is handled while it is
  being written.
- Checkpoints by time are the member's: it writes what it was told when that is old enough.
- Without a state an outcome costs nothing and is told at once. With one, what is told is made ready
  to be written, so it is told once a second, or when a checkpoint is due. The first is told at once
  with a state, too: the member writes a checkpoint for it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.delivery.policy import Cadence
from tidegate.handling import NEVER

TELL_EVERY_S = 1.0


@dataclass(slots=True)
class Pace:
    """How much of a partition is handled and not yet in a checkpoint."""

    cadence: Cadence
    told_at: float = float("-inf")
    has_state: bool = False
    # Events since the last checkpoint that was asked for, and since the last that stands.
    since_asked: int = 0
    at_risk: int = 0
    has_news: bool = False
    # Told and not yet checkpointed: the sequence number of each, and the events up to it.
    _told: deque[tuple[int, int]] = field(default_factory=deque)

    def handled(self, count: int) -> None:
        """So many events more are done; none where only the state has changed."""
        self.since_asked += count
        self.at_risk += count
        self.has_news = True

    @property
    def is_due(self) -> bool:
        """Whether a checkpoint shall be asked for now."""
        cadence = self.cadence
        limit = cadence.every_events
        if cadence.duplicate_budget is not None:
            limit = max(cadence.duplicate_budget // 2, 1)
        return self.has_news and limit is not None and self.since_asked >= limit

    @property
    def tell_at(self) -> float:
        """When what is handled is to be told."""
        if not self.has_news:
            return NEVER
        if self.is_due or not self.has_state:
            return self.told_at
        return self.told_at + min(TELL_EVERY_S, self.cadence.every_s)

    def told(self, now: float, sequence: int, *, is_due: bool) -> None:
        """An outcome was told."""
        self.told_at = now
        self.has_news = False
        if is_due:
            self.since_asked = 0
        self._told.append((sequence, self.at_risk))

    def checkpointed(self, sequence: int) -> None:
        """A checkpoint stands at a position that was told."""
        covered = 0
        while self._told and self._told[0][0] <= sequence:
            covered = self._told.popleft()[1]
        if covered:
            self.at_risk -= covered
            self._told = deque((told, risk - covered) for told, risk in self._told)
        if not self._told:
            self.since_asked = min(self.since_asked, self.at_risk)

    def must_wait(self, next_count: int) -> bool:
        """Whether so many events more have to wait until a checkpoint stands."""
        budget = self.cadence.duplicate_budget
        return budget is not None and self.at_risk > 0 and self.at_risk + next_count > budget
