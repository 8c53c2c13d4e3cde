"""The store: all partitions of all hubs, under one memory budget and one fsync policy.

The fsync policies, for a store with a data directory:

    always    the server acknowledges an append only after a `sync` that began after it returned,
              and readers get it no earlier; nothing acknowledged or read is lost, whatever ends
              the machine
    interval  the server calls `sync` once a second; a power cut can lose the last second, the end
              of the process loses nothing
    never     the operating system writes when it likes; a power cut can lose more, the end of the
              process still loses nothing

Without a data directory everything is gone when the process ends. Rules: one process at a time has
a data directory; one thread uses a store, except that `sync` may run on any.
"""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Literal

from tidegate_hub.storage.errors import NoSpill, StorageClosed, StorageError, TooSmall
from tidegate_hub.storage.files import DirectoryLock, OpenFiles, make_directory
from tidegate_hub.storage.hubs import StoredHub, directory_name, read_hubs, save_hubs
from tidegate_hub.storage.log import PartitionLog
from tidegate_hub.storage.memory import MemoryBudget
from tidegate_hub.storage.recovery import recover
from tidegate_hub.storage.retention import KEEP_FOR_EVER, Retention, first_to_keep
from tidegate_hub.storage.segment import Segment
from tidegate_hub.storage.shared import Shared
from tidegate_hub.storage.spill import SpillFolder
from tidegate_hub.storage.syncing import DirtyFiles

FsyncPolicy = Literal["always", "interval", "never"]
MEMORY_BUDGET_BYTES = 64 << 20
SEGMENT_BYTES = 32 << 20
MAX_OPEN_FILES = 128
_SMALLEST_SEGMENT_BYTES = 1 << 20
# Small segments, so that a full store drops little at a time, and many partitions keep something.
_SEGMENTS_OF_TOTAL = 1024


class Store:
    """Opens logs, flushes them, applies retention, and remembers which hubs there are."""

    def __init__(
        self,
        directory: Path | None,
        *,
        fsync: FsyncPolicy = "interval",
        memory_budget_bytes: int = MEMORY_BUDGET_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        max_open_files: int = MAX_OPEN_FILES,
        total_bytes: int | None = None,
    ) -> None:
        """`total_bytes` is the limit on the events of all hubs together; None: no limit."""
        self.directory = directory
        self.total_bytes = total_bytes
        self.fsync = fsync
        self.recovered: list[str] = []  # what recovery cut or missed, in words
        self.no_spill: NoSpill | None = None  # why temporary files cannot be written
        self._logs: dict[tuple[str, str], PartitionLog] = {}
        self._hubs: dict[str, StoredHub] = {}
        self._spilled = SpillFolder()
        self._closed = False
        self._lock: DirectoryLock | None = None
        durable = directory is not None and fsync != "never"
        if directory is None:
            # Whole segments are spilled, so they must be small against the budget.
            share = max(memory_budget_bytes // 8, _SMALLEST_SEGMENT_BYTES)
            segment_bytes = min(segment_bytes, share)
            self._spilled.remove_left_overs()
            self.no_spill = self._spilled.why_not(memory_budget_bytes)
        else:
            make_directory(directory, durable=durable)
            self._lock = DirectoryLock(directory)
        if total_bytes is not None:
            share = max(total_bytes // _SEGMENTS_OF_TOTAL, _SMALLEST_SEGMENT_BYTES)
            segment_bytes = min(segment_bytes, share)
        shown = str(self._spilled.base if directory is None else directory)
        self.memory = MemoryBudget(memory_budget_bytes)
        self._shared = Shared(
            files=OpenFiles(max_open_files, shown),
            memory=self.memory,
            dirty=DirtyFiles(),
            segment_bytes=segment_bytes,
            directory=shown,
            persistent=directory is not None,
            durable=durable,
            flushed_before_read=durable and fsync == "always",
            new_spill_path=self._spilled.new_path,
            rolled=self._keep_within_total,
        )

    def open_log(self, hub: str, partition: str) -> PartitionLog:
        """The log of a partition, recovered from its directory the first time it is asked for.

        What recovery had to cut or found missing is added to `recovered`.
        """
        self._require_open()
        log = self._logs.get((hub, partition))
        if log is None:
            self._require_room_for(len(self._logs) + 1)
            log = self._logs[hub, partition] = self._open(hub, partition)
        return log

    def _require_room_for(self, partitions: int) -> None:
        """Each has a segment that is written, and may keep one that is full."""
        each_bytes = 2 * self._shared.segment_bytes
        if self.total_bytes is not None and partitions * each_bytes > self.total_bytes:
            raise TooSmall(self.total_bytes, each_bytes)

    def _keep_within_total(self) -> None:
        """Let go of the segments that ended first, until those that are written can fill up."""
        if self.total_bytes is None:
            return
        logs = self._logs.values()
        while sum(log.claimed_bytes for log in logs) > self.total_bytes:
            ended = [(ms, log) for log in logs if (ms := log.oldest_ended_ms) is not None]
            if not ended:
                return
            min(ended, key=itemgetter(0))[1].drop_oldest()

    def _open(self, hub: str, partition: str) -> PartitionLog:
        name = f"{hub}/{partition}"
        if self.directory is None:
            return PartitionLog(self._shared, name, None, [Segment.first(self._shared)], None)
        home = self.directory / "hubs" / directory_name(hub) / directory_name(partition)
        made = recover(self._shared, home, name)
        self.recovered += made.report
        return PartitionLog(self._shared, name, home, made.segments, made.start)

    @property
    def sync_needed(self) -> bool:
        """Whether anything was written that a `sync` would flush."""
        return self._shared.dirty.needed

    def sync(self) -> None:
        """Flush everything appended before this call. From any thread; raises `SyncFailed`.

        Under fsync=never, and without a data directory, there is nothing to flush.
        """
        self._shared.dirty.sync()

    def apply_retention(self, now_ms: int) -> list[str]:
        """Trim every open log to what its hub keeps. Returns what went wrong, in words.

        One damaged or refused partition does not keep the others from being trimmed.
        """
        self._require_open()
        problems: list[str] = []
        for (hub, _), log in self._logs.items():
            stored = self._hubs.get(hub)
            if stored is None:
                continue
            try:
                log.trim_to(first_to_keep(log, stored.retention, now_ms))
            except StorageError as error:
                problems.append(f"{log.name}: retention: {error}")
        return problems

    def save_hub(
        self,
        name: str,
        partitions: int,
        groups: tuple[str, ...],
        created_ms: int,
        retention: Retention = KEEP_FOR_EVER,
    ) -> StoredHub:
        """Remember a hub, or what has changed about it, and the retention of its partitions."""
        self._require_open()
        hub = StoredHub(name, partitions, tuple(groups), created_ms, retention)
        if self._hubs.get(name) == hub:
            return hub
        hubs = {**self._hubs, name: hub}
        if self.directory is not None:
            save_hubs(self.directory, list(hubs.values()), durable=self._shared.durable)
        self._hubs = hubs
        return hub

    def load_hubs(self) -> list[StoredHub]:
        """The hubs that were saved, in the order of their first saving."""
        self._require_open()
        if self.directory is not None:
            self._hubs = {hub.name: hub for hub in read_hubs(self.directory)}
        return list(self._hubs.values())

    def close(self) -> None:
        """Flush, keep the indexes, let go of files and the directory. Again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.sync()
            for log in self._logs.values():
                log.close()
        finally:
            self._shared.files.close()
            self._spilled.remove()
            if self._lock is not None:
                self._lock.release()

    def _require_open(self) -> None:
        if self._closed:
            raise StorageClosed
