"""A user's handler that misbehaves where it is told to, by files in its pod's scratch volume:

- slow: each call takes as many seconds as stand there; `slow-began` says that one has begun
- greedy: it takes memory until it is killed for that; it does so once

An event whose body is `poison` cannot be handled: a batch with one fails. Alone, it is written down
the first time that it is given, so that what is written has no gap where it was put aside.

What it is given it writes down as appending_handler.py does, which stands beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Both are laid into one ConfigMap.
import appending  # type: ignore[import-not-found]

POISON = b"poison"
_SCRATCH = Path("/scratch")
_SLOW, _GREEDY = _SCRATCH / "slow", _SCRATCH / "greedy"
_written: set[tuple[str, int]] = set()


async def handle(events: Sequence[Any], context: Any) -> None:
    if _SLOW.exists():
        (_SCRATCH / "slow-began").touch()
        await asyncio.sleep(float(_SLOW.read_text()))
    if _GREEDY.exists():
        _GREEDY.unlink()
        _take_all_memory()
    if any(event.content == POISON for event in events):
        place = (context.partition, events[0].sequence_number)
        if len(events) == 1 and place not in _written:
            _written.add(place)
            await appending.handle(events, context)
        raise ValueError("this event cannot be handled")
    await appending.handle(events, context)


def _take_all_memory() -> None:
    held = []
    while True:
        held.append(b"x" * (1 << 20))


async def on_close(partition: str, reason: str) -> None:
    await appending.on_close(partition, reason)
