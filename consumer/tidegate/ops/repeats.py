"""Repeated lines of the log: the first few of a period are written, the others counted. Pure.

    if repeats.take(key, line, now):      # write it
    for left in repeats.due(now): ...     # write how many were left out, once the period is over
    for left in repeats.rest(now): ...    # the same of all, at the end

Rules:
- Lines with the same key repeat each other. A period begins with the first of them, which is always
  written at once.
- Nothing is left out without being counted; the count comes with the end of the period, or when
  there are more different keys than are kept, or at the end of the process.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

PERIOD_S = 60.0
MOST = 5
MOST_KEYS = 1_000


@dataclass(slots=True)
class Run(Generic[T]):
    """Lines of one key in one period."""

    since: float
    last: T
    written: int = 1
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Left(Generic[T]):
    """How many lines like this one were not written, and in which time."""

    line: T
    count: int
    seconds: float


class Repeats(Generic[T]):
    """See the module."""

    def __init__(self) -> None:
        # In the order in which their periods began.
        self._runs: dict[Hashable, Run[T]] = {}

    @property
    def has_left_out(self) -> bool:
        return any(run.left_out for run in self._runs.values())

    def take(self, key: Hashable, line: T, now: float) -> bool:
        """Whether to write a line. Call `due` first."""
        run = self._runs.get(key)
        if run is None:
            self._runs[key] = Run(now, line)
            return True
        if run.written < MOST:
            run.written += 1
            return True
        run.last = line
        run.left_out += 1
        return False

    def due(self, now: float) -> Iterator[Left[T]]:
        """Counts of the lines left out in finished periods."""
        while self._runs:
            key, run = next(iter(self._runs.items()))
            if now - run.since < PERIOD_S and len(self._runs) <= MOST_KEYS:
                return
            del self._runs[key]
            if run.left_out:
                yield Left(run.last, run.left_out, now - run.since)

    def rest(self, now: float) -> Iterator[Left[T]]:
        """Counts of the lines left out in all periods."""
        runs, self._runs = self._runs, {}
        for run in runs.values():
            if run.left_out:
                yield Left(run.last, run.left_out, now - run.since)
