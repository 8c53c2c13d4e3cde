"""Dead letters as blobs: one each, named by its place, so that writing one twice is one letter.

    {prefix}/{host}/{hub}/{group}/{partition}/{sequence}.json

Rules: they are not under the ledger's own prefix, which is listed all the time. What a list shows
stands in the metadata, so that listing reads no letter.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient

from tidegate.dead_letters.kept import Listed, by_place, place_of
from tidegate.delivery.letters import (
    DeadLetter,
    LetterError,
    decode_letter,
    encode_letter,
    letter_name,
)
from tidegate.handling import DeadLetterError
from tidegate.ledger import packing
from tidegate.ledger.access import BlobSettings, open_container
from tidegate.ledger.layout import GroupNames
from tidegate.ledger.refusals import Spot, is_missing_container, refusal_of

_LONGEST_ERROR = 500
_LONG_S = 30.0


class BlobLetters:
    """The dead letters of one group, in a container."""

    def __init__(self, settings: BlobSettings, names: GroupNames, prefix: str) -> None:
        self._settings = settings.checked()
        self._prefix = f"{prefix}/{names.prefix}"
        self._client: ContainerClient | None = None

    async def put(self, letter: DeadLetter) -> str:
        """Writes a letter; gives the blob's name. Raises DeadLetterError."""
        name = self._prefix + letter_name(letter.partition, letter.position.sequence)
        metadata = {
            "error": packing.escape(letter.error[:_LONGEST_ERROR])[:_LONGEST_ERROR],
            "attempts": str(letter.attempts),
        }
        body = encode_letter(letter)
        async with self._asking(name):
            try:
                await self._write(name, body, metadata)
            except AzureError as problem:
                if not (self._settings.create and is_missing_container(problem)):
                    raise
                with contextlib.suppress(ResourceExistsError):
                    await self._container().create_container()
                await self._write(name, body, metadata)
        return f"{self._settings.container}/{name}"

    async def _write(self, name: str, body: bytes, metadata: dict[str, str]) -> None:
        blob = self._container().get_blob_client(name)
        await blob.upload_blob(body, length=len(body), overwrite=True, metadata=metadata)

    async def list(self, partition: str = "") -> list[Listed]:
        """All letters, by partition and place. Raises DeadLetterError."""
        prefix = self._prefix + (f"{partition}/" if partition else "")
        found: list[Listed] = []
        async with self._asking(prefix, is_read=True):
            blobs = self._container().list_blobs(name_starts_with=prefix, include=["metadata"])
            async for blob in blobs:
                id = _id_of(blob.name[len(self._prefix) :])
                if id is not None:
                    said = blob.metadata or {}
                    found.append(
                        Listed(
                            id,
                            packing.unescape(said.get("error", "")),
                            int(said.get("attempts", "0")),
                            int(blob.size),
                            blob.last_modified.timestamp(),
                        )
                    )
        return sorted(found, key=by_place)

    async def read(self, id: str) -> DeadLetter:
        """One letter. Raises DeadLetterError where it is not there or cannot be read."""
        name = self._name_of(id)
        async with self._asking(name, is_read=True):
            try:
                stream = await self._container().get_blob_client(name).download_blob()
            except ResourceNotFoundError as problem:
                if is_missing_container(problem):
                    raise
                raise DeadLetterError(
                    f"there is no dead letter {id}, for there is no blob {name}: "
                    "`deadletters list` shows those that there are"
                ) from None
            stored = await stream.readall()
        try:
            return decode_letter(stored)
        except LetterError as problem:
            raise DeadLetterError(f"{name}: {problem}") from None

    async def remove(self, id: str) -> None:
        """Removes a letter; one that is not there is no matter."""
        name = self._name_of(id)
        async with self._asking(name):
            with contextlib.suppress(ResourceNotFoundError):
                await self._container().get_blob_client(name).delete_blob()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _name_of(self, id: str) -> str:
        return self._prefix + letter_name(*place_of(id))

    def _container(self) -> ContainerClient:
        if self._client is None:
            self._client = open_container(self._settings)
        return self._client

    @contextlib.asynccontextmanager
    async def _asking(self, name: str, *, is_read: bool = False) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_LONG_S):
                yield
        except (DeadLetterError, LetterError):
            raise
        except Exception as problem:
            # Whatever an answer was. None of their texts is safe to show.
            said = refusal_of(problem, Spot.of(self._settings, name), is_read=is_read)
            raise DeadLetterError(str(said)) from None


def _id_of(name: str) -> str | None:
    partition, _, file = name.rpartition("/")
    number = file.removesuffix(".json")
    return f"{partition}/{int(number)}" if partition and number.isdecimal() else None
