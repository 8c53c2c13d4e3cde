"""Batches by count, bytes and time, from what the source gives. Pure.

Rules: events stay in order; a batch always has at least one event, however large; what is gathered
and not yet given is not handled, so when the partition is given away it is simply left to the next
owner. Where the source's own batch fits, it is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Generic, TypeVar

from tidegate.handling import NEVER

E = TypeVar("E")


class Gathering(Generic[E]):
    """Events of one partition on their way to the handler."""

    def __init__(
        self,
        max_events: int,
        max_bytes: int,
        max_wait_s: float,
        size_of: Callable[[E], int],
    ) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._max_wait_s = max_wait_s
        self._size_of = size_of
        self._events: list[E] = []
        self._next = 0  # of _events; those before it are given
        self._since = NEVER  # when the oldest that waits has come

    def __len__(self) -> int:
        return len(self._events) - self._next

    @property
    def give_at(self) -> float:
        """When what waits is given although the batch is not full."""
        return self._since + self._max_wait_s if len(self) else NEVER

    def add(self, events: Sequence[E], now: float) -> None:
        if not len(self):
            self._since = now
        del self._events[: self._next]
        self._next = 0
        self._events += events

    def take(self, now: float, fitting: int | None = None) -> Sequence[E]:
        """The next batch, if one is full or its time has come; else none. With `fitting`, one of
        that many events is full."""
        most = self._max_events if fitting is None else min(fitting, self._max_events)
        count, is_full = self._measure(most)
        if not count or not (is_full or now >= self.give_at):
            return ()
        batch = self._events[self._next : self._next + count]
        self._next += count
        # What stays came later; for that its wait begins anew, and a batch is never late by two.
        self._since = now
        return batch

    def _measure(self, most: int) -> tuple[int, bool]:
        """How many events the next batch has, and whether it is full."""
        size = 0
        count = 0
        for event in islice(self._events, self._next, self._next + most):
            size += self._size_of(event)
            if size > self._max_bytes and count:
                return count, True
            count += 1
        return count, count >= most or size >= self._max_bytes
