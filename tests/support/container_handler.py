"""A user's handler of a container's changes: twenty in a second in each consumer, and not more with
more partitions. What it is given it writes down, in a blob of its member.

A line, `TIME MEMBER PARTITION NUMBERS…`, is written before its changes count as handled. It is laid
into a ConfigMap by cluster_container.py. SEEN says where the storage is, or the group's own secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob.aio import BlobClient

EVENT_S = 0.05
_STORAGE = Path("/etc/tidegate/secrets/tidegate-embedded/storage")
_one_at_a_time = asyncio.Lock()
_blobs: list[BlobClient] = []


async def handle(changes: Sequence[Any], context: Any) -> None:
    async with _one_at_a_time:
        await asyncio.sleep(EVENT_S * len(changes))
        numbers = " ".join(str(change["n"]) for change in changes)
        line = f"{time.time():.3f} {context.member} {context.partition} {numbers}\n"
        await (await _blob(context)).append_block(line.encode())


async def _blob(context: Any) -> BlobClient:
    if not _blobs:
        address = os.environ.get("SEEN") or _STORAGE.read_text()
        address, container = address.strip(), f"{context.group}-seen"
        blob = BlobClient.from_connection_string(address, container, context.member)
        # A container that began again in its pod goes on with its blob.
        with contextlib.suppress(ResourceExistsError):
            await blob.create_append_blob(match_condition=MatchConditions.IfMissing)
        _blobs.append(blob)
    return _blobs[0]
