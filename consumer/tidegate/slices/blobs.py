"""The blobs of slices: written, read, listed, removed.

Rules: many at once, but not more than LIMIT. What the service refuses is told in words without a
secret. Nothing is tried again here: who writes a batch gives the batch again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace

from azure.core.exceptions import (
    AzureError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob.aio import ContainerClient

from tidegate.ledger.access import BlobSettings, open_container
from tidegate.ledger.blob import Condition, unchanged
from tidegate.ledger.blob_reads import bare, list_blobs
from tidegate.ledger.refusals import (
    MissingContainerError,
    Spot,
    is_missing_container,
    refusal_of,
)
from tidegate.slices.life import Files
from tidegate.slices.listing import projections
from tidegate.slices.naming import Version, version_of
from tidegate.slices.shape import SliceGone, SliceStorageError
from tidegate.slices.together import together

LIMIT = 32
TIMEOUT_S = 30.0


class SliceBlobs:
    """The slices of one output in a container. It belongs to one event loop."""

    def __init__(self, settings: BlobSettings, prefix: str) -> None:
        self._settings = replace(settings, timeout_s=TIMEOUT_S).checked()
        self.prefix = prefix.strip("/")
        self._client: ContainerClient | None = None
        self._room = asyncio.Semaphore(LIMIT)

    async def put(self, version: Version, suffix: str, data: bytes, known: str = "") -> str:
        """Writes a version, where there is none or still the one of this ETag; its ETag then."""
        name = version.name(self.prefix, suffix)
        async with self._asking(name) as container:
            try:
                return await _upload(container, name, data, known)
            except (ResourceExistsError, ResourceModifiedError):
                raise SliceStorageError(_meanwhile(name)) from None
            except AzureError as problem:
                if not (self._settings.create and is_missing_container(problem)):
                    raise
                with contextlib.suppress(ResourceExistsError):
                    await container.create_container()
                return await _upload(container, name, data, known)

    async def get(self, version: Version, suffix: str) -> bytes:
        name = version.name(self.prefix, suffix)
        async with self._asking(name, is_read=True) as container:
            stream = await container.get_blob_client(name).download_blob()
            return await stream.readall()

    async def range(self, version: Version, suffix: str, offset: int, length: int) -> bytes:
        """A part of a version; fewer bytes where it ends before."""
        name = version.name(self.prefix, suffix)
        async with self._asking(name, is_read=True) as container:
            blob = container.get_blob_client(name)
            return await (await blob.download_blob(offset, length)).readall()

    async def versions(self, slice_: Version) -> dict[Version, dict[str, str]]:
        """The versions of a slice, and the ETags of the blobs of each by their suffixes."""
        found: dict[Version, dict[str, str]] = {}
        folder = slice_.folder(self.prefix)
        with contextlib.suppress(_MissingContainer):
            async with self._asking(folder, is_read=True) as container:
                async for blob in container.list_blobs(name_starts_with=folder):
                    parsed = version_of(blob.name)
                    if parsed is not None:
                        found.setdefault(parsed[0], {})[parsed[1]] = bare(str(blob.etag))
        return found

    async def below(self, beginning: str) -> dict[Version, int]:
        """The projections whose names go on like this below the prefix, and their sizes.

        One request, and thirty times less CPU than by the SDK's own reading of it.
        """
        folder = f"{self.prefix}/{beginning}"
        with contextlib.suppress(_MissingContainer):
            async with self._asking(folder, is_read=True) as container:
                size = self._settings.page_size
                return dict((await list_blobs(container, folder, size, projections))[0])
        return {}

    async def remove(self, versions: Iterable[Version], suffixes: Iterable[str]) -> None:
        """Removes versions; what is not there is no matter."""
        names = [version.name(self.prefix, suffix) for version in versions for suffix in suffixes]
        await together(self._remove(name) for name in names)

    async def withdraw(self, beyond: Mapping[Version, Files]) -> None:
        """Removes blobs that are as they were; what was written again since stays."""
        await together(
            self._remove(version.name(self.prefix, suffix), etag)
            for version, files in beyond.items()
            for suffix, etag in files.items()
        )

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _remove(self, name: str, etag: str = "") -> None:
        async with self._asking(name) as container:
            with contextlib.suppress(ResourceNotFoundError, ResourceModifiedError):
                await container.get_blob_client(name).delete_blob(**_only(etag))

    @contextlib.asynccontextmanager
    async def _asking(self, name: str, *, is_read: bool = False) -> AsyncIterator[ContainerClient]:
        if self._client is None:
            self._client = open_container(self._settings)
        try:
            async with self._room, asyncio.timeout(TIMEOUT_S):
                yield self._client
        except SliceStorageError:
            raise
        except Exception as problem:
            # Whatever an answer was. None of their texts is safe to show.
            said = refusal_of(problem, Spot.of(self._settings, name), is_read=is_read)
            kind = SliceStorageError
            if isinstance(said, MissingContainerError):
                kind = _MissingContainer
            elif isinstance(problem, ResourceNotFoundError):
                kind = SliceGone
            raise kind(str(said)) from None


class _MissingContainer(SliceGone):
    """There is no such container yet."""


async def _upload(container: ContainerClient, name: str, data: bytes, known: str) -> str:
    blob, only = container.get_blob_client(name), _only(known)
    # Without `overwrite` it writes only where there is nothing.
    told = await blob.upload_blob(data, length=len(data), overwrite=bool(known), **only)
    return bare(str(told["etag"]))


def _only(etag: str) -> Condition:
    return unchanged(etag) if etag else {}


def _meanwhile(name: str) -> str:
    return (
        f"{name} was written meanwhile: by the next owner of the partition, or by an attempt of "
        "which no answer came. It is read anew and tried again"
    )
