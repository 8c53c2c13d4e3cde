"""What came to one partition and what was handled of it, counted in fractions of events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass
class Backlog:
    """Events are handled in the order in which they came."""

    came: float = 0.0
    handled: float = 0.0
    # When each lot of what waits came, and how much of it is left.
    waiting: deque[list[float]] = field(default_factory=deque)

    def arrive(self, now: float, events: float) -> None:
        self.came += events
        if events:
            self.waiting.append([now, events])

    def handle(self, events: float) -> None:
        self.handled += events
        while events > 1e-9 and self.waiting:
            part = min(events, self.waiting[0][1])
            self.waiting[0][1] -= part
            events -= part
            if self.waiting[0][1] <= 1e-9:
                self.waiting.popleft()

    @property
    def lag(self) -> float:
        return max(self.came - self.handled, 0.0)

    def behind_s(self, now: float) -> float:
        return now - self.waiting[0][0] if self.waiting else 0.0
