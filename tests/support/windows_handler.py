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

_clients: list[ContainerClient] = []


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
    if not _clients:
        container = f"{context.group}-totals"
        _clients.append(ContainerClient.from_connection_string(os.environ["STORAGE"], container))
    for window in windows.due(context.now):
        name = f"{context.partition}/{name_of(window.start)}"
        await _clients[0].upload_blob(name, window.as_json(), overwrite=True)
