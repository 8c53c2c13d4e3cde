"""The places that the ledger's contract is tested in, and what other hands do to the blobs there.

A world has a ledger of one new group, a clock, and the deeds of official processors and of people.
In memory the clock is virtual. On Azurite the official processor is the unmodified store of
azure-eventhub-checkpointstoreblob, and a person uses the storage SDK.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore
from azure.storage.blob.aio import BlobLeaseClient, ContainerClient

from contract.ledger.cosmos_world import open_cosmos_world
from support.ledger_thread import LedgerThread
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.ledger.memory import MemoryClient, MemoryLedger
from tidegate.model import Checkpoint, Listing, Ownership, Position
from tidegate.ports import (
    Ledger,
    LedgerError,
    List,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    Reply,
)

HOST = "localhost:5672"
CONTAINER = "ledgers"
OLD_VERSION = "2017-11-09"

BACKENDS = ("memory", "blob", f"blob-{OLD_VERSION}", "thread", "cosmos")

_groups = itertools.count(1)


def new_names() -> GroupNames:
    """A group that no other test uses; with capitals, which are lowered, and a percent sign."""
    return GroupNames(HOST, f"Hub-%2e{next(_groups)}-{uuid.uuid4().hex[:6]}", "$Default")


def new_id() -> str:
    return str(uuid.uuid4())


class World(Protocol):
    """One group's ledger, its clock, and other hands."""

    ledger: Ledger
    # Whether the service itself refuses what a lease forbids, whoever asks.
    has_real_leases: bool

    async def sleep(self, seconds: float) -> None: ...

    async def claim_by_other(self, partition: str, owner: str) -> bool:
        """An official processor tries to claim; whether the blob says so afterwards."""
        ...

    async def checkpoint_by_other(self, partition: str, position: Position) -> None: ...

    async def delete(self, kind: Kind, key: str) -> None: ...

    async def break_by_hand(self, partition: str, seconds: int) -> None: ...

    async def spoil(self, kind: Kind, key: str) -> None: ...


class MemoryWorld:
    """The ledger in memory under a virtual clock."""

    has_real_leases = True

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.blobs = MemoryLedger()
        self.ledger: Ledger = MemoryClient(self.blobs, lambda: self.now)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def claim_by_other(self, partition: str, owner: str) -> bool:
        try:
            self.blobs.claim_by_other(partition, owner, self.now)
        except LedgerError as refused:
            assert refused.refusal is Refusal.CHANGED
            return False
        return True

    async def checkpoint_by_other(self, partition: str, position: Position) -> None:
        self.blobs.checkpoint_by_other(partition, position, self.now)

    async def delete(self, kind: Kind, key: str) -> None:
        self.blobs.delete_by_hand(kind, key)

    async def break_by_hand(self, partition: str, seconds: int) -> None:
        self.blobs.break_by_hand(partition, self.now, seconds)

    async def spoil(self, kind: Kind, key: str) -> None:
        self.blobs.spoil_by_hand(kind, key, self.now)


class BlobWorld:
    """A ledger on Azurite."""

    has_real_leases = True

    def __init__(self, connection_string: str, ledger: Ledger, names: GroupNames) -> None:
        self.ledger = ledger
        self.names = names
        self.container = ContainerClient.from_connection_string(connection_string, CONTAINER)
        self.store = BlobCheckpointStore.from_connection_string(connection_string, CONTAINER)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def claim_by_other(self, partition: str, owner: str) -> bool:
        rows = {row["partition_id"]: row for row in await self.store.list_ownership(*self.where)}
        claim = rows.get(partition, self.of(partition)) | {"owner_id": owner}
        # What it answers is not asked: the Python store takes a refusal for lack of a lease as an
        # unexpected error, and believes that it has claimed.
        await self.store.claim_ownership([claim])
        rows = {row["partition_id"]: row for row in await self.store.list_ownership(*self.where)}
        return (rows[partition]["owner_id"] or "") == owner

    async def checkpoint_by_other(self, partition: str, position: Position) -> None:
        stored = {"offset": position.offset, "sequence_number": position.sequence}
        await self.store.update_checkpoint(self.of(partition) | stored)

    async def delete(self, kind: Kind, key: str) -> None:
        blob = self.container.get_blob_client(self.names.of(Place(kind, key)))
        state = (await blob.get_blob_properties()).lease.state
        if state == "leased":
            await BlobLeaseClient(blob).break_lease(0)
        await blob.delete_blob()

    async def break_by_hand(self, partition: str, seconds: int) -> None:
        name = self.names.of(Place(Kind.OWNERSHIP, partition))
        await BlobLeaseClient(self.container.get_blob_client(name)).break_lease(seconds)

    async def spoil(self, kind: Kind, key: str) -> None:
        metadata = {"epoch": "junk", "offset": "1", "sequencenumber": "x1", "weight": "w"}
        await self.container.get_blob_client(self.names.of(Place(kind, key))).upload_blob(
            b"junk", overwrite=True, metadata=metadata
        )

    @property
    def where(self) -> tuple[str, str, str]:
        return self.names.host, self.names.hub, self.names.group

    def of(self, partition: str) -> dict[str, Any]:
        """A partition in the official store's words."""
        host, hub, group = self.where
        return {
            "fully_qualified_namespace": host,
            "eventhub_name": hub,
            "consumer_group": group,
            "partition_id": partition,
        }

    async def close(self) -> None:
        await self.container.close()
        await self.store.close()


class ThreadedLedger:
    """A ledger on a thread of its own, used from here."""

    def __init__(self, thread: LedgerThread) -> None:
        self._thread = thread

    async def perform(self, operation: Operation) -> Reply:
        return await asyncio.wrap_future(self._thread.submit(operation))

    async def close(self) -> None:
        await asyncio.to_thread(self._thread.close)


@asynccontextmanager
async def open_world(
    backend: str, connection_string: str, names: GroupNames | None = None
) -> AsyncIterator[World]:
    """A new world; the connection string is of its service, and empty for memory."""
    if backend == "memory":
        yield MemoryWorld()
        return
    if backend == "cosmos":
        async with open_cosmos_world(connection_string, new_names()) as opened:
            yield opened
        return
    version = OLD_VERSION if backend.endswith(OLD_VERSION) else BlobSettings(CONTAINER).api_version
    settings = BlobSettings(
        CONTAINER, connection_string=connection_string, create=True, api_version=version
    )
    names = names or new_names()
    ledger: Ledger
    if backend == "thread":
        ledger = ThreadedLedger(LedgerThread(lambda: BlobLedger(settings, names)))
    else:
        ledger = BlobLedger(settings, names)
    world = BlobWorld(connection_string, ledger, names)
    try:
        yield world
    finally:
        await ledger.close()
        await world.close()


async def listed(ledger: Ledger) -> Listing:
    listing = await ledger.perform(List())
    assert isinstance(listing, Listing)
    return listing


async def ownership(ledger: Ledger, partition: str) -> Ownership:
    found = await ledger.perform(ReadOwnership(partition))
    assert isinstance(found, Ownership)
    return found


async def checkpoint(ledger: Ledger, partition: str) -> Checkpoint:
    found = await ledger.perform(ReadCheckpoint(partition))
    assert isinstance(found, Checkpoint)
    return found


async def refusal(ledger: Ledger, operation: Operation) -> Refusal:
    """How an operation is refused; an AssertionError where it is not."""
    try:
        reply = await ledger.perform(operation)
    except LedgerError as refused:
        return refused.refusal
    raise AssertionError(f"{operation} was not refused: {reply}")
