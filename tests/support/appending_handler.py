"""A user's handler that writes down what it is given, in a blob of its partition that is there.

A line is written before its events count as handled, so nothing is handled that is not written.
The lines are those of handled_log.py. It is laid into a ConfigMap by cluster_counting.py.
SEEN names the storage of those blobs; without it, it is that of the release. Where chaos_clock.py
makes the pod's clock wrong, times are of the true one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azure.storage.blob.aio import BlobClient

_STORAGE = Path("/etc/tidegate/secrets/tidegate-embedded/storage")
# Which life of its member this process is.
_now = getattr(time, "true_time", time.time)
_BEGUN = f"{_now():.3f}"
_blobs: dict[str, BlobClient] = {}


async def handle(events: Sequence[Any], context: Any) -> None:
    first, last = events[0].sequence_number, events[-1].sequence_number
    who = f"{context.member}#{_BEGUN}"
    line = f"h {_now():.3f} {who} {context.partition} {context.epoch} {first} {last}\n"
    blob = _blobs.get(context.partition)
    if blob is None:
        address = os.environ.get("SEEN") or _STORAGE.read_text().strip()
        container = f"{context.group}-seen"
        blob = BlobClient.from_connection_string(address, container, context.partition)
        _blobs[context.partition] = blob
    await blob.append_block(line.encode())


async def on_close(partition: str, reason: str) -> None:
    if partition in _blobs:
        await _blobs.pop(partition).close()
