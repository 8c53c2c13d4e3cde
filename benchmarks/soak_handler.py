"""The handler of the soak: it counts in its state, and writes down what it was given.

Rules: SOAK names the folder that it writes to. What it was given is as handled_log.py reads it. A
line of totals says what the state counts up to this batch, which must be the number of all events
up to it, whoever was killed; and how many tasks the consumer's loop has.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["SOAK"])


async def handle(events: Sequence[Any], context: Any) -> None:
    total = context.state.get("total", 0) + len(events)
    context.state["total"] = total
    first, last = events[0].sequence_number, events[-1].sequence_number
    at, who = time.time(), f"{context.member}#{os.getpid()}"
    _write("totals.log", f"{at:.3f} {who} {last} {total} {len(asyncio.all_tasks())}\n")
    _write("seen.log", f"h {at:.3f} {who} {context.partition} {context.epoch} {first} {last}\n")


def _write(name: str, line: str) -> None:
    with (FOLDER / name).open("ab") as log:
        log.write(line.encode())
