"""Waiting for a condition in tests, with a deadline and a sentence that says what was waited for.

Rules: a test never sleeps in place of a condition. The predicate is asked at once, then every few
milliseconds, and once more at the deadline. Whatever true value it gives is handed back. A detail
function, where given, is asked only on failure, for the facts that explain it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.01


class WaitedTooLong(AssertionError):
    """The condition did not come true in time."""


async def comes_true(predicate: Callable[[], object], seconds: float) -> bool:
    """Whether the predicate becomes true within this time; no error where it does not."""
    deadline = time.monotonic() + seconds
    while not predicate():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def _gave_up(seconds: float, what: str, detail: Callable[[], object] | None) -> WaitedTooLong:
    facts = f" What there was instead: {detail()}" if detail is not None else ""
    return WaitedTooLong(f"waited {seconds:g} s for {what}, and it did not come.{facts}")


def wait_until(
    predicate: Callable[[], T],
    seconds: float,
    what: str,
    detail: Callable[[], object] | None = None,
) -> T:
    """Block until the predicate is true and return its value."""
    deadline = time.monotonic() + seconds
    while True:
        late = time.monotonic() >= deadline
        value = predicate()
        if value:
            return value
        if late:
            raise _gave_up(seconds, what, detail)
        time.sleep(POLL_SECONDS)


async def wait_until_async(
    predicate: Callable[[], T],
    seconds: float,
    what: str,
    detail: Callable[[], object] | None = None,
) -> T:
    """The same without blocking the event loop."""
    deadline = time.monotonic() + seconds
    while True:
        late = time.monotonic() >= deadline
        value = predicate()
        if value:
            return value
        if late:
            raise _gave_up(seconds, what, detail)
        await asyncio.sleep(POLL_SECONDS)
