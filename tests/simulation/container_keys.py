"""The keys that items of a world's container have. There are few, and each has many items."""

from __future__ import annotations

from functools import cache

from tidegate.model import PartitionId
from tidegate.sources.cosmos.ranges import range_of

COUNT = 16
ABOVE = 64
KEYS = tuple(f"{number * (ABOVE // COUNT):02X}" for number in range(COUNT))


@cache
def keys_of(partition: PartitionId) -> tuple[str, ...]:
    """Those that a partition has; none where that is not the name of one."""
    span = range_of(partition)
    return tuple(key for key in KEYS if span is not None and span.low <= key < span.high)
