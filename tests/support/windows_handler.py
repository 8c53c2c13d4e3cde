"""A user's handler that counts numbered events in windows and writes their totals to blobs.

Each total is written again and again under the same name, so that a second time does no harm. It
is laid beside a group file together with numbered_events.py and seen.py (command_group.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from azure.storage.blob.aio import ContainerClient
from numbered_events import WINDOWS, count, name_of  # type: ignore[import-not-found]
from seen import see  # type: ignore[import-not-found]

# One for each partition, because a partition's end is told and the process's is not.
_clients: dict[str, ContainerClient] = {}


async def on_close(partition: str, reason: str) -> None:
    if partition in _clients:
        await _clients.pop(partition).close()


async def handle(events: Sequence[Any], context: Any) -> None:
    windows = WINDOWS.of(context)
    for event in events:
        count(windows, event.body_as_json())
    first, last = events[0].sequence_number, events[-1].sequence_number
    who = f"{context.member}#{os.getpid()}"
    see("h", time.time(), who, context.partition, context.epoch, first, last)
    await write_due(windows, context)


async def on_time(context: Any) -> None:
    await write_due(WINDOWS.of(context), context)


async def write_due(windows: Any, context: Any) -> None:
    client = _clients.get(context.partition)
    if client is None:
        container = f"{context.group}-totals"
        client = ContainerClient.from_connection_string(os.environ["STORAGE"], container)
        _clients[context.partition] = client
    for window in windows.due(context.now):
        name = f"{context.partition}/{name_of(window.start)}"
        await client.upload_blob(name, window.as_json(), overwrite=True)
