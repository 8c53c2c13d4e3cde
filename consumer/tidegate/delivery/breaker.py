"""A circuit breaker for dead letters: stop a partition when too many recent events fail. Pure.

    breaker = Breaker(policy.circuit_breaker)
    breaker.handled(500)                  # the handler took these
    if breaker.lets_through():            # may the next event become a dead letter?
        breaker.put_aside()
    elif breaker.is_open: ...             # give the event again every `probe_every_s`

Rules:
- An event is decided when the handler has taken it or when it is a dead letter. The breaker looks
  at the last `window_events` decided events and the one that is about to become a dead letter.
- Fewer than 20 decided events are too few to judge: a row of up to 19 poison events passes. One
  failed event in the window always passes.
- An open breaker closes when the handler takes an event, which is a successful probe. It forgets
  what was before, and does not wait for 20 events until then: a handler that fails again after one
  success opens it at the second failed event.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.delivery.policy import CircuitBreaker

FEWEST = 20


@dataclass(slots=True)
class Breaker:
    """Of one partition."""

    settings: CircuitBreaker
    is_open: bool = False
    _decided: int = 0
    # Which of the decided events became dead letters, counted from 1.
    _failed: deque[int] = field(default_factory=deque)
    _is_on_trial: bool = False

    def handled(self, count: int) -> None:
        """The handler has taken so many events."""
        if count and self.is_open:
            self.is_open, self._is_on_trial = False, True
            self._decided = 0
            self._failed.clear()
        self._decided += count

    def put_aside(self) -> None:
        """An event became a dead letter."""
        self._decided += 1
        self._failed.append(self._decided)

    def lets_through(self) -> bool:
        """Whether the next event may become a dead letter; if not, the breaker is open."""
        if not self.is_open:
            failed, recent = self.share()
            few = min(FEWEST, self.settings.window_events)
            most = max(recent * self.settings.failure_percent / 100, 1.0)
            self.is_open = failed > most and (self._is_on_trial or recent >= few)
        return not self.is_open

    def share(self) -> tuple[int, int]:
        """How many of how many recent events fail, with the one that is about to."""
        recent = min(self._decided + 1, self.settings.window_events)
        oldest = self._decided + 2 - recent
        while self._failed and self._failed[0] < oldest:
            self._failed.popleft()
        return len(self._failed) + 1, recent
