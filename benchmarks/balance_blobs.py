"""Blob Storage as the official checkpoint store sees it, in the simulator's virtual time.

It stands in for the SDK's `ContainerClient`, for the calls that `BlobCheckpointStore` makes of it.

Rules: conditions, ETags and times of change are those of the service, its Last-Modified of whole
seconds included. Every request is counted by the REST operation that it is. The requests of a
process that is dead never end.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn

from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

Metadata = dict[str, str]


class Blob(NamedTuple):
    """A blob of a listing, by the names that the SDK gives its properties."""

    name: str
    metadata: Metadata
    etag: str
    last_modified: datetime


@dataclass(slots=True)
class Account:
    """The blobs of one container, and what was asked of it."""

    now: Callable[[], float]
    latency: Callable[[], float]
    blobs: dict[str, Blob] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    _writes: int = 0

    def write(self, name: str, metadata: Metadata) -> dict[str, Any]:
        self._writes += 1
        modified = datetime.fromtimestamp(int(self.now()), UTC)
        blob = self.blobs[name] = Blob(name, dict(metadata), f'"{self._writes}"', modified)
        return {"etag": blob.etag, "last_modified": blob.last_modified}


async def for_ever() -> NoReturn:
    """Waits until it is cancelled."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody sets this future")


class Container:
    """The container as one process sees it."""

    def __init__(self, account: Account, is_dead: Callable[[], bool]) -> None:
        self._account = account
        self._is_dead = is_dead

    async def list_blobs(self, name_starts_with: str, **_options: object) -> AsyncIterator[Blob]:
        await self.reach("List Blobs")
        found = [b for name, b in self._account.blobs.items() if name.startswith(name_starts_with)]
        await self.return_from()
        for blob in found:
            yield blob

    def get_blob_client(self, name: str) -> BlobOfContainer:
        return BlobOfContainer(self, self._account, name)

    async def reach(self, operation: str) -> None:
        """The way there; the request counts once it has arrived."""
        if self._is_dead():
            await for_ever()
        await asyncio.sleep(self._account.latency())
        self._account.requests[operation] += 1

    async def return_from(self) -> None:
        await asyncio.sleep(self._account.latency())
        if self._is_dead():
            await for_ever()


class BlobOfContainer:
    """One blob, which may not be there yet."""

    def __init__(self, container: Container, account: Account, name: str) -> None:
        self._container = container
        self._account = account
        self._name = name

    async def set_blob_metadata(
        self, metadata: Metadata, if_match: str | None = None, if_none_match: str | None = None
    ) -> dict[str, Any]:
        return await self._write("Set Blob Metadata", metadata, if_match, if_none_match)

    async def upload_blob(
        self,
        metadata: Metadata,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **_content: object,
    ) -> dict[str, Any]:
        return await self._write("Put Blob", metadata, if_match, if_none_match)

    async def _write(
        self, operation: str, metadata: Metadata, if_match: str | None, if_none_match: str | None
    ) -> dict[str, Any]:
        kind = "ownership" if "/ownership/" in self._name else "checkpoint"
        await self._container.reach(f"{operation} of {kind}")
        there = self._account.blobs.get(self._name)
        problem: Exception | None = None
        written: dict[str, Any] = {}
        if there is None and operation != "Put Blob":
            problem = ResourceNotFoundError("there is no such blob")
        elif there is not None and (
            if_none_match is not None or if_match not in (None, there.etag)
        ):
            problem = ResourceModifiedError("the blob has changed")
        else:
            written = self._account.write(self._name, metadata)
        await self._container.return_from()
        if problem is not None:
            raise problem
        return written
