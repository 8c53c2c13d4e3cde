"""Storage of the hub: partition logs on disk or in memory.

`Store` opens `PartitionLog`s, which hold `Batch`es; everything that can go wrong is in `errors`.
"""

from __future__ import annotations

from tidegate_hub.storage.batch import Batch
from tidegate_hub.storage.hubs import StoredHub
from tidegate_hub.storage.log import PartitionLog
from tidegate_hub.storage.retention import Retention
from tidegate_hub.storage.store import FsyncPolicy, Store

__all__ = ["Batch", "FsyncPolicy", "PartitionLog", "Retention", "Store", "StoredHub"]
