"""An asyncio loop in the simulator's virtual time: coroutines and its agenda share one clock.

Rules: no real time passes and no socket is touched. Where no coroutine can go on, the clock moves
to the next timer or to the next entry of the agenda, whichever comes first.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any

from simulation.clock import Clock


class NothingHappensError(RuntimeError):
    """Every coroutine waits for something that will never come."""


class _ClockSelector(selectors.BaseSelector):
    """What the loop sleeps in: sleeping moves the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []
        timer_at = float("inf") if timeout is None else self._clock.now + timeout
        due = min(timer_at, self._clock.next_at)
        if due == float("inf"):
            raise NothingHappensError("no timer is set and the agenda is empty")
        self._clock.run_until(due)
        return []

    # The loop registers the pipe by which other threads wake it; there are none.

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, 0, None)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        raise KeyError(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {}


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(_ClockSelector(clock))
        self._clock = clock

    def time(self) -> float:
        return self._clock.now
