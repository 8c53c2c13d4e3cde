"""The alarms of all homes, each told once, within seconds.

Every reading is looked at. What is an alarm goes to the guards' desk, which is asked about each
batch and takes its time for it: DESK_READINGS_PER_S from one consumer, where that is set. So this
group, unlike `activity`, is as large as the desk makes it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any


class Desk:
    """The guards' desk: one consumer is answered so many readings a second."""

    def __init__(self, readings_per_s: float) -> None:
        self._readings_per_s = readings_per_s
        self._free_at = 0.0

    async def look_at(self, readings: int) -> None:
        """Until the desk has looked at so many."""
        if not self._readings_per_s:
            return
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now) + readings / self._readings_per_s
        await asyncio.sleep(self._free_at - now)


_desk = Desk(float(os.environ.get("DESK_READINGS_PER_S") or 0))


async def handle(events: Sequence[Any], context: Any) -> None:
    """Tells the alarms of a batch."""
    found = [event for event in events if b'"alarm":true' in event.body]
    await _desk.look_at(len(events))
    told = context.state.get("told", 0)
    for event in found:
        reading = event.body_as_json()
        # Its place tells a second time from a first one, wherever this is read.
        place = f"{context.partition}-{event.sequence_number}"
        print(f"alarm {place}: {reading['home']} {reading['kind']}", flush=True)
    context.state["told"] = told + len(found)
