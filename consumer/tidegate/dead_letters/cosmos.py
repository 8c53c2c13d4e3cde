"""Dead letters as items of a Cosmos container, by the official SDK.

Rules: an item has what a letter in a blob has, under the same names. Its id follows from the group
and the event's place, and its partition key is the partition, so that one that is written twice is
one item; what is too large for one is in parts beside it (parts.py). A container with another
partition key is refused before anything is written to it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

from azure.core.exceptions import AzureError
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError, CosmosResourceNotFoundError

from tidegate.dead_letters.kept import Listed, by_place, place_of
from tidegate.dead_letters.parts import divided, joined, parts_of, without_event
from tidegate.delivery.letters import DeadLetter, LetterError, decode_letter, encode_letter
from tidegate.handling import DeadLetterError
from tidegate.ledger.layout import GroupNames
from tidegate.sources.cosmos.refusals import trouble_of

_LONG_S = 30.0
_KEY = "/partition"
_SETTING = "spec.delivery.deadLetters.cosmos"


class ContainerLetters:
    """See the module. Without a key the identity of the machine is used."""

    def __init__(
        self, endpoint: str, key: str, database: str, container: str, names: GroupNames
    ) -> None:
        self._endpoint = endpoint
        self._key = key
        self._database = database
        self._name = container
        self._where = f"container '{container}' of database '{database}'"
        self._group = names.prefix.rstrip("/")
        self._client: CosmosClient | None = None
        self._identity: Any = None
        self._found: ContainerProxy | None = None

    async def put(self, letter: DeadLetter) -> str:
        """Writes a letter; says where. Raises DeadLetterError."""
        id = self._id_of(letter.id)
        item, texts = divided(json.loads(encode_letter(letter)))
        ours = {"group": self._group, "partition": letter.partition}
        async with self._asking():
            container = await self._container()
            for name, text in zip(parts_of(item), texts, strict=True):
                part = {"id": self._parts_id(letter.id) + name, "of": id, "text": text}
                await container.upsert_item(part | ours)
            await container.upsert_item(item | ours | {"id": id})
        return f"{self._where}, item {id}"

    async def list(self, partition: str = "") -> list[Listed]:
        """All letters, by partition and place. Raises DeadLetterError."""
        found: list[Listed] = []
        async with self._asking():
            rows = (await self._container()).query_items(
                "SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)",
                parameters=[{"name": "@prefix", "value": self._id_of("")}],
                partition_key=partition or None,
            )
            async for item in rows:
                found.append(self._listed(item))
        return sorted(found, key=by_place)

    async def read(self, id: str) -> DeadLetter:
        """One letter. Raises DeadLetterError where it is not there or cannot be read."""
        partition, _ = place_of(id)
        async with self._asking():
            container = await self._container()
            try:
                item = await container.read_item(self._id_of(id), partition)
            except CosmosResourceNotFoundError:
                raise DeadLetterError(f"dead letter {id} is not in {self._where}") from None
            return self._decoded(await self._whole(container, id, item))

    async def _whole(
        self, container: ContainerProxy, id: str, item: dict[str, Any]
    ) -> dict[str, Any]:
        partition, _ = place_of(id)
        try:
            names = parts_of(item)
            found = await asyncio.gather(
                *(container.read_item(self._parts_id(id) + name, partition) for name in names)
            )
            return joined(item, [str(part["text"]) for part in found])
        except CosmosResourceNotFoundError:
            raise DeadLetterError(
                f"{self._where}, item {item['id']}: a part of its event is not there, so it cannot "
                f"be given again: somebody has deleted an item {self._parts_id(id)}…"
            ) from None
        except (KeyError, TypeError, ValueError) as problem:
            raise DeadLetterError(
                f"{self._where}, item {item['id']}: its event in parts cannot be read: {problem}"
            ) from None

    async def remove(self, id: str) -> None:
        """Removes a letter; one that is not there is no matter."""
        partition, _ = place_of(id)
        async with self._asking():
            container = await self._container()
            rows = container.query_items(
                "SELECT c.id FROM c WHERE STARTSWITH(c.id, @prefix)",
                parameters=[{"name": "@prefix", "value": self._parts_id(id)}],
                partition_key=partition,
            )
            for name in [self._id_of(id), *[str(row["id"]) async for row in rows]]:
                with suppress(CosmosResourceNotFoundError):
                    await container.delete_item(name, partition)

    async def close(self) -> None:
        for each in (self._client, self._identity):
            if each is not None:
                await each.close()
        self._client = self._identity = self._found = None

    def _id_of(self, letter: str) -> str:
        return quote(f"{self._group}/{letter}", safe="")

    def _parts_id(self, letter: str) -> str:
        """How the ids of a letter's parts begin, which is not as those of letters do."""
        return f"{quote(self._group, safe='')}!{quote(letter, safe='')}!"

    def _decoded(self, item: dict[str, Any]) -> DeadLetter:
        try:
            return decode_letter(json.dumps(item).encode())
        except LetterError as problem:
            raise DeadLetterError(f"{self._where}, item {item.get('id')}: {problem}") from None

    def _listed(self, item: dict[str, Any]) -> Listed:
        letter = self._decoded(without_event(item))
        size = int(item.get("size") or len(encode_letter(letter)))
        return Listed(letter.id, letter.error, letter.attempts, size, letter.put_aside_at)

    async def _container(self) -> ContainerProxy:
        """The container, once its partition key is known to be the right one."""
        if self._found is None:
            database = (await self._opened()).get_database_client(self._database)
            found = database.get_container_client(self._name)
            keys = (await found.read())["partitionKey"]["paths"]
            if keys != [_KEY]:
                raise DeadLetterError(
                    f"{self._where} has the partition key {', '.join(keys)}, and dead letters need "
                    f"{_KEY}: nothing was written. Make another container, and name it in "
                    f"{_SETTING}."
                )
            self._found = found
        return self._found

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_LONG_S):
                yield
        except TimeoutError:
            raise DeadLetterError(f"{self._where}: no answer within {_LONG_S:g} s") from None
        except CosmosHttpResponseError as error:
            status = error.status_code if isinstance(error.status_code, int) else None
            raise DeadLetterError(self._said(status, error.message or "")) from error
        except AzureError as error:
            raise DeadLetterError(trouble_of(self._where, None, str(error)).message) from error
        except (DeadLetterError, LetterError):
            raise
        except Exception as error:
            raise DeadLetterError(
                f"{self._where}: an answer could not be understood ({type(error).__name__})"
            ) from error

    def _said(self, status: int | None, words: str) -> str:
        match status:
            case 401 | 403:
                return (
                    f"{self._where}: the account does not let us in ({status}). Give a key of the "
                    "account that may write, or an identity with the role Cosmos DB Built-in Data "
                    "Contributor."
                )
            case 404:
                return (
                    f"{self._where} is not there (404). Create it with the partition key {_KEY}, "
                    f"or correct {_SETTING}."
                )
            case 413:
                return (
                    f"{self._where} does not take the letter, which is too large for an item "
                    "(413): keep dead letters in blobs, which may be of any size "
                    "(spec.delivery.deadLetters.blob)."
                )
            case 429:
                return f"{self._where} has no request units left for us (429): give it more."
        return trouble_of(self._where, status, words).message

    async def _opened(self) -> CosmosClient:
        if self._client is None:
            credential: Any = self._key
            if not self._key:
                # Imported here: only who uses an identity pays the time that this import takes.
                from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

                credential = self._identity = DefaultAzureCredential()
            client = CosmosClient(self._endpoint, credential=credential)
            try:
                await client.__aenter__()
            except BaseException:
                await client.close()
                raise
            self._client = client
        return self._client
