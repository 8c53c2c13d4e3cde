"""A user's plain handler that computes: each event takes a hundredth of a second of the processor,
by the clock of its thread.

It records its events in the format of appending_handler.py: one line at the end of each call.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobClient

EVENT_S = 0.01
_STORAGE = Path("/etc/tidegate/secrets/tidegate-embedded/storage")
_BEGUN = f"{time.time():.3f}"


def handle(events: Sequence[Any], context: Any) -> None:
    for _ in events:
        until = time.thread_time() + EVENT_S
        while time.thread_time() < until:
            sum(range(200))
    first, last = events[0].sequence_number, events[-1].sequence_number
    who = f"{context.member}#{_BEGUN}"
    line = f"h {time.time():.3f} {who} {context.partition} {context.epoch} {first} {last}\n"
    blob = context.memory.get("blob")
    if blob is None:
        address, container = _STORAGE.read_text().strip(), f"{context.group}-seen"
        blob = BlobClient.from_connection_string(address, container, context.partition)
        context.memory["blob"] = blob
    blob.append_block(line.encode())
