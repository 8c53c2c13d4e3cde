"""A container of a test's own on tidegate-cosmos, items for it, and our source over it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any

from azure.cosmos.aio import ContainerProxy, CosmosClient

from tidegate.model import BEGINNING, Position
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.pages import client_of
from tidegate.sources.cosmos.reader import FeedReader
from tidegate.sources.cosmos.settings import FeedSettings
from tidegate.sources.cosmos.source import CosmosSource
from tidegate.sources.start import Start
from tidegate_cosmos.testing import RunningCosmos

DATABASE = "home"
_numbers = itertools.count(1)


class World:
    """See the module."""

    def __init__(self, server: RunningCosmos, ranges: int = 2) -> None:
        self.server = server
        self.name = f"source-{next(_numbers)}"
        server.add_container(DATABASE, self.name, "/home", ranges=ranges)
        self._client: CosmosClient | None = None
        self._sources: list[CosmosSource] = []

    def source(
        self, start: Start | None = None, *, key: str = "", container: str = "", **options: Any
    ) -> CosmosSource:
        settings = FeedSettings(
            DATABASE, container or self.name, **{"poll_s": 0.05, "patience_s": 5.0, **options}
        )
        made = CosmosSource(
            settings, lambda: client_of(self.server.endpoint, key or self.server.key), start
        )
        self._sources.append(made)
        return made

    async def reader(
        self,
        partition: str = "-ff",
        position: Position = BEGINNING,
        source: CosmosSource | None = None,
        **options: Any,
    ) -> FeedReader:
        reader = (source or self.source(**options)).reader(partition, position, 1)
        await reader.open()
        return reader

    # --- the container

    async def items(self) -> ContainerProxy:
        if self._client is None:
            self._client = CosmosClient(self.server.endpoint, self.server.key)
            await self._client.__aenter__()
        return self._client.get_database_client(DATABASE).get_container_client(self.name)

    async def write(self, numbers: Iterable[int], homes: int = 16) -> None:
        """Items `N`, each of the home `N % homes`."""
        items = await self.items()
        for number in numbers:
            await items.upsert_item({"id": str(number), "home": f"h{number % homes}", "n": number})

    async def remake(self, ranges: int = 2) -> None:
        """Deletes the container, and makes another one of its name."""
        await self.drop()
        self.server.add_container(DATABASE, self.name, "/home", ranges=ranges)

    async def drop(self) -> None:
        items = await self.items()
        assert self._client is not None
        await self._client.get_database_client(DATABASE).delete_container(items)
        # What it knows of the container that was is of no use.
        client, self._client = self._client, None
        await client.close()

    def ranges(self) -> list[str]:
        """The ids of the server's ranges, in the order of their keys."""
        found = self.server.ranges(DATABASE, self.name)
        return sorted(found, key=lambda id: found[id][0])

    def split(self, index: int = 0) -> None:
        self.server.split(DATABASE, self.name, self.ranges()[index])

    def merge(self, index: int = 0) -> None:
        first, second = self.ranges()[index : index + 2]
        self.server.merge(DATABASE, self.name, first, second)

    def inject(self, kind: str, **fields: Any) -> str:
        return self.server.inject(kind, container=self.name, **fields)

    async def close(self) -> None:
        for source in self._sources:
            await source.close()
        if self._client is not None:
            await self._client.close()


async def changes_from(reader: FeedReader, count: int, seconds: float = 30.0) -> list[Change]:
    """So many changes of a reader, and none more than it gives with them."""
    found: list[Change] = []
    async with asyncio.timeout(seconds):
        while len(found) < count:
            found += await reader.receive()
    return found


async def until_quiet(reader: FeedReader, seconds: float = 30.0) -> list[Change]:
    """All that comes until nothing more does."""
    found: list[Change] = []
    async with asyncio.timeout(seconds):
        while True:
            batch = await reader.receive()
            found += batch
            end = reader.known_end
            if not batch and end is not None and end.sequence == reader.place.lsn:
                return found


def numbers_of(changes: Iterable[Change]) -> list[int]:
    return [change["n"] for change in changes]
