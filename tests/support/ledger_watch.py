"""Watches the ledger of a group from outside: who owns what over time, and how checkpoints move.

    with ledger_watch(azurite, group.container) as ledger:
        ...
        assert ledger.steps_back() == []

Rules: it reads the blobs by the storage SDK alone, as any tool would, and knows nothing of ours;
it looks often enough to see every owner that lasts, not every write.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import ContainerClient

_EVERY_S = 0.2


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint said when it was seen."""

    sequence: int
    epoch: int
    at: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True)
class Change:
    """An owner that was not there at the last look; the name alone."""

    at: float
    partition: str
    owner: str


class LedgerWatch:
    """See the module. Made by `ledger_watch`."""

    def __init__(self, container: ContainerClient) -> None:
        self._container = container
        self._lock = threading.Lock()
        self._owners: dict[str, str] = {}
        self._changes: list[Change] = []
        self._free: list[tuple[float, str]] = []
        self._checkpoints: dict[str, list[Checkpoint]] = {}

    def look(self) -> None:
        """Takes in what is there now; nothing if the container was deleted."""
        try:
            rows = list(self._container.list_blobs(include=["metadata"]))
        except ResourceNotFoundError:
            return
        with self._lock:
            for row in rows:
                kind, partition = row.name.split("/")[-2:]
                metadata = row.metadata or {}
                if kind == "ownership":
                    self._see_owner(partition, metadata.get("ownerid") or "")
                    if row.lease.state != "leased":
                        self._free.append((time.time(), partition))
                elif kind == "checkpoint" and "epoch" in metadata:
                    seen = self._checkpoints.setdefault(partition, [])
                    found = Checkpoint(
                        int(metadata["sequencenumber"]), int(metadata["epoch"]), time.time()
                    )
                    if seen[-1:] != [found]:
                        seen.append(found)

    def _see_owner(self, partition: str, ownerid: str) -> None:
        owner = ownerid.partition("/")[0]
        if owner and self._owners.get(partition) != owner:
            self._owners[partition] = owner
            self._changes.append(Change(time.time(), partition, owner))

    def owners(self) -> dict[str, str]:
        """Who owned each partition when it was looked at last."""
        with self._lock:
            return dict(self._owners)

    def changes(self, since: float) -> list[Change]:
        """The owners that were new since a moment."""
        with self._lock:
            return [change for change in self._changes if change.at >= since]

    def free(self, since: float) -> set[str]:
        """The partitions whose lease was seen to have ended, or to be let go, since a moment."""
        with self._lock:
            return {partition for at, partition in self._free if at >= since}

    def checkpoints(self) -> dict[str, list[Checkpoint]]:
        """Every checkpoint that was seen, by partition and time."""
        with self._lock:
            return {partition: list(seen) for partition, seen in self._checkpoints.items()}

    def epochs(self) -> dict[str, int]:
        """The epoch of each checkpoint."""
        with self._lock:
            return {partition: seen[-1].epoch for partition, seen in self._checkpoints.items()}

    def steps_back(self) -> list[str]:
        """Checkpoints that went back, in position or in epoch."""
        with self._lock:
            return [
                f"{partition}: {before} to {after}"
                for partition, seen in self._checkpoints.items()
                for before, after in pairwise(seen)
                if after.sequence < before.sequence or after.epoch < before.epoch
            ]


@contextlib.contextmanager
def ledger_watch(storage: str, container: str) -> Iterator[LedgerWatch]:
    """Watches a container until the block ends; one last look is taken then."""
    stop = threading.Event()
    ended: Future[None] = Future()
    with ContainerClient.from_connection_string(storage, container) as client:
        watch = LedgerWatch(client)

        def run() -> None:
            try:
                while not stop.wait(_EVERY_S):
                    watch.look()
                watch.look()
                ended.set_result(None)
            except BaseException as error:
                ended.set_exception(error)

        threading.Thread(target=run, name="ledger-watch", daemon=True).start()
        try:
            yield watch
        finally:
            stop.set()
            ended.result(30)
