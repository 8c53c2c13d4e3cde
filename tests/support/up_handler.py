"""A handler for groups of `tidegate up`: it takes a hundredth of a second for each event, whatever
partition it is of, and writes down what it was given, as handled_log.py reads it.

Rules: a line is written before its events count as handled. It stands beside its group file, and
its log beside it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EVENT_S = 0.01
SEEN = Path(__file__).with_name("seen.log")
_one_at_a_time = asyncio.Lock()


async def handle(events: Sequence[Any], context: Any) -> None:
    async with _one_at_a_time:
        await asyncio.sleep(EVENT_S * len(events))
    first, last = events[0].sequence_number, events[-1].sequence_number
    who = f"{context.member}#{os.getpid()}"
    line = f"h {time.time():.3f} {who} {context.partition} {context.epoch} {first} {last}\n"
    with SEEN.open("ab") as log:
        log.write(line.encode())
