"""The official Python SDK, sync and aio, behind one face, so that each guarantee is written once.

Rules: nothing of the SDK is patched or configured away but its patience: retries are few and short.
What the sync SDK does blocks the loop of the test; the server has a thread of its own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from azure.core import MatchConditions
from azure.cosmos import ContainerProxy, CosmosClient
from azure.cosmos.aio import ContainerProxy as AioContainerProxy
from azure.cosmos.aio import CosmosClient as AioCosmosClient

Item = dict[str, Any]


@dataclass
class Page:
    """What one walk of the feed gave: its items page by page, and where to go on."""

    pages: list[list[Item]] = field(default_factory=list)
    headers: list[Any] = field(default_factory=list)

    @property
    def items(self) -> list[Item]:
        return [item for page in self.pages for item in page]

    @property
    def ids(self) -> list[str]:
        return [str(item["id"]) for item in self.items]

    @property
    def token(self) -> str:
        # The SDK puts the composite token into the headers that it has given, after the page.
        return str(self.headers[-1]["etag"])

    def sub_ranges(self) -> list[tuple[str, str]]:
        """The ranges that the composite token has places in."""
        told = json.loads(base64.b64decode(self.token))["continuation"]["continuation"]
        return sorted((each["range"]["min"], each["range"]["max"]) for each in told)


class Sdk:
    """One client of one server."""

    def __init__(self, is_async: bool, endpoint: str, key: str) -> None:
        self.is_async = is_async
        options: dict[str, Any] = {"retry_total": 3, "connection_timeout": 5}
        make: Any = AioCosmosClient if is_async else CosmosClient
        self.client: Any = make(endpoint, key, **options)

    async def close(self) -> None:
        if self.is_async:
            await self.client.close()
        else:
            self.client.close()

    async def call(self, method: Any, *arguments: Any, **named: Any) -> Any:
        """Calls a method of the SDK, and waits for it where it is async."""
        made = method(*arguments, **named)
        return await made if hasattr(made, "__await__") else made

    async def listed(self, iterable: AsyncIterator[Any] | Iterator[Any]) -> list[Any]:
        if isinstance(iterable, AsyncIterator) or hasattr(iterable, "__aiter__"):
            return [each async for each in iterable]
        return list(iterable)

    def container(self, database: str, name: str) -> Container:
        held = self.client.get_database_client(database).get_container_client(name)
        return Container(self, held)


class Container:
    """What the contract does with a container."""

    def __init__(self, sdk: Sdk, held: ContainerProxy | AioContainerProxy) -> None:
        self._sdk = sdk
        self.held: Any = held

    async def create(self, item: Item, **named: Any) -> Item:
        return dict(await self._sdk.call(self.held.create_item, item, **named))

    async def upsert(self, item: Item, **named: Any) -> Item:
        return dict(await self._sdk.call(self.held.upsert_item, item, **named))

    async def read(self, item_id: str, key: Any, **named: Any) -> Item:
        return dict(await self._sdk.call(self.held.read_item, item_id, key, **named))

    async def replace(self, item: Item, etag: str | None = None) -> Item:
        return dict(
            await self._sdk.call(self.held.replace_item, item["id"], item, **_condition(etag))
        )

    async def delete(self, item_id: str, key: Any, etag: str | None = None) -> None:
        await self._sdk.call(self.held.delete_item, item_id, key, **_condition(etag))

    async def query(self, text: str, **named: Any) -> list[Any]:
        parameters = [
            {"name": f"@{name}", "value": value} for name, value in named.pop("having", {}).items()
        ]
        if "partition_key" not in named and not self._sdk.is_async:
            named["enable_cross_partition_query"] = True
        found = self.held.query_items(text, parameters=parameters, **named)
        return await self._sdk.listed(found)

    async def all_items(self, **named: Any) -> list[Item]:
        return await self._sdk.listed(self.held.read_all_items(**named))

    async def feed_ranges(self, **named: Any) -> list[Any]:
        found = await self._sdk.call(self.held.read_feed_ranges, **named)
        return await self._sdk.listed(found)

    async def feed(self, pages: int = 1_000, **named: Any) -> Page:
        """Walks the feed for so many pages, or until it has nothing more."""
        told = Page()

        def note(headers: Any, _body: Any) -> None:
            told.headers.append(headers)

        walk = self.held.query_items_change_feed(response_hook=note, **named).by_page()
        while len(told.pages) < pages:
            try:
                page = await anext(walk) if self._sdk.is_async else next(walk)
            except (StopAsyncIteration, StopIteration):
                break
            told.pages.append(await self._sdk.listed(page))
        return told


def _condition(etag: str | None) -> dict[str, Any]:
    if etag is None:
        return {}
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}
