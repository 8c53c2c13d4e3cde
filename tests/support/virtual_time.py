"""An event loop whose clock stands still while anything is to be done, and else jumps ahead.

Rules: a test of half an hour takes milliseconds, and always the same course. Nothing in it may wait
for the world outside: where nobody is left to wake up, that is a failure and not a hang.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class NobodyIsLeft(AssertionError):
    """Everything waits, and nothing is going to happen."""


class _Jumping(selectors.SelectSelector):
    """Passes the time that the loop would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise NobodyIsLeft("everything waits for something that never happens")
        if not found and timeout:
            self.at += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, jumping: _Jumping) -> None:
        self._jumping = jumping
        super().__init__(jumping)

    def time(self) -> float:
        return self._jumping.at


def now() -> float:
    """The time of the loop that runs."""
    return asyncio.get_running_loop().time()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end on a loop of its own, from time 0."""
    with asyncio.Runner(loop_factory=lambda: _Loop(_Jumping())) as runner:
        return runner.run(coroutine)
