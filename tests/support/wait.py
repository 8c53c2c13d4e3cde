"""Waiting for a condition in tests, with a deadline and a sentence that says what was waited for.

Rules: a test never sleeps in place of a condition. The predicate is asked at once, then every few
milliseconds, and once more at the deadline. Whatever true value it gives is handed back. A detail
function, where given, is asked only on failure, for the facts that explain it.
A deadline tells what never comes from what comes late, and measures nothing: a machine that is
busy has AT_LEAST_S for everything. What must come soon is told by what must not have come before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.01
AT_LEAST_S = 30.0


class WaitedTooLong(AssertionError):
    """The condition did not come true in time."""


def _answers(predicate: Callable[[], T], seconds: float) -> Iterator[T]:
    """What the predicate gives, each time it is asked, until the deadline; pause in between."""
    deadline = time.monotonic() + seconds
    late = False
    while not late:
        late = time.monotonic() >= deadline
        yield predicate()


async def comes_true(predicate: Callable[[], object], seconds: float) -> bool:
    """Whether the predicate becomes true within this time; no error where it does not."""
    for answer in _answers(predicate, seconds):
        if answer:
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


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
    seconds = max(seconds, AT_LEAST_S)
    for answer in _answers(predicate, seconds):
        if answer:
            return answer
        time.sleep(POLL_SECONDS)
    raise _gave_up(seconds, what, detail)


async def wait_until_async(
    predicate: Callable[[], T],
    seconds: float,
    what: str,
    detail: Callable[[], object] | None = None,
) -> T:
    """The same without blocking the event loop."""
    seconds = max(seconds, AT_LEAST_S)
    for answer in _answers(predicate, seconds):
        if answer:
            return answer
        await asyncio.sleep(POLL_SECONDS)
    raise _gave_up(seconds, what, detail)
