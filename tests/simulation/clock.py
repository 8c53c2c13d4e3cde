"""Virtual time: what shall happen when, in one order that the same calls always give."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Clock:
    """The time of the world, which is that of the storage service, and the agenda."""

    def __init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._entered = 0

    def at(self, when: float, act: Callable[..., object], *args: Any) -> None:
        """Does something at a time; what is entered first for one moment happens first."""
        self._entered += 1
        heappush(self._agenda, (max(when, self.now), self._entered, act, args))

    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        self.at(self.now + seconds, act, *args)

    @property
    def next_at(self) -> float:
        """When the next thing happens; infinity where nothing ever does."""
        return self._agenda[0][0] if self._agenda else float("inf")

    def run_until(self, end: float) -> None:
        agenda = self._agenda
        while agenda and agenda[0][0] <= end:
            self.now, _, act, args = heappop(agenda)
            act(*args)
        self.now = end
