"""A user's pipeline of a container's changes: what a batch has is written down before it counts.

A line, `TIME MEMBER PARTITION NUMBERS…`, for each partition, in the blob of its driver, as
container_handler.py writes them. It is laid into a ConfigMap by cluster_container.py.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobClient

_STORAGE = Path("/etc/tidegate/secrets/tidegate-embedded/storage")
_blobs: list[BlobClient] = []


def pipeline(df: Any, context: Any) -> None:
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in df.select("partition", "n").collect():
        numbers[row.partition].append(row.n)
    lines = [
        f"{time.time():.3f} {context.member} {partition} {' '.join(map(str, found))}\n"
        for partition, found in numbers.items()
    ]
    if lines:
        _blob(context).append_block("".join(lines).encode())


def _blob(context: Any) -> BlobClient:
    if not _blobs:
        address, container = _STORAGE.read_text().strip(), f"{context.group}-seen"
        blob = BlobClient.from_connection_string(address, container, context.member)
        # A container that began again in its pod goes on with its blob.
        with contextlib.suppress(ResourceExistsError):
            blob.create_append_blob(match_condition=MatchConditions.IfMissing)
        _blobs.append(blob)
    return _blobs[0]
