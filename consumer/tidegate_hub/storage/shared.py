"""What all partitions of a store share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidegate_hub.storage.files import OpenFiles
from tidegate_hub.storage.memory import MemoryBudget
from tidegate_hub.storage.syncing import DirtyFiles


@dataclass(frozen=True, slots=True)
class Shared:
    """The store, as its segments and logs see it."""

    files: OpenFiles
    memory: MemoryBudget
    dirty: DirtyFiles
    segment_bytes: int
    directory: str  # for messages
    persistent: bool  # there is a data directory
    durable: bool  # there is one, and it is flushed: fsync is not `never`
    flushed_before_read: bool  # fsync is `always`: readers get what no power cut can take back
    new_spill_path: Callable[[], Path]  # a fresh name in the temporary directory
    rolled: Callable[[], None]  # to be called when a log has begun another segment
