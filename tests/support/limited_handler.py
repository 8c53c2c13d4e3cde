"""A user's handler that takes a hundredth of a second for each event, whatever partition it is of:
one consumer handles a hundred a second, and not more with more partitions.

What it is given it writes down as appending_handler.py does, which stands beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

# Both are laid into one ConfigMap.
import appending  # type: ignore[import-not-found]

EVENT_S = 0.01
_one_at_a_time = asyncio.Lock()


async def handle(events: Sequence[Any], context: Any) -> None:
    async with _one_at_a_time:
        await asyncio.sleep(EVENT_S * len(events))
    await appending.handle(events, context)


async def on_close(partition: str, reason: str) -> None:
    await appending.on_close(partition, reason)
