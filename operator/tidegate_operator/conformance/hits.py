"""What comes of an act: what it was done to, or why not, or what it did not bring about in time.

Rules: pure, but for the clock of `within`. What was not done at all is Refused. What was done, and
had not the effect that Tidegate promises in its time, is `overdue`: it is judged, and is broken.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass


class Refused(Exception):
    """It cannot be done now; the message says why."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What it was done to, and which partitions that had."""

    target: str = ""
    partitions: tuple[str, ...] = ()
    # When it really happened, where that was not at once.
    at: float | None = None
    # What should have come of it in time, and did not.
    overdue: str = ""


@contextlib.asynccontextmanager
async def within(seconds: float, what: str) -> AsyncIterator[None]:
    """Raises TimeoutError, which says what was not so then: "no consumer had left"."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as late:
        raise TimeoutError(f"after {seconds:.0f} s {what}") from late
