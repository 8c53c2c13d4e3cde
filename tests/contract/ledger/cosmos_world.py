"""A ledger in a lease container, and what other hands do to its documents.

No processor of Microsoft's knows these documents: what one would do is done by hand here, without
asking anybody, as Cosmos DB lets it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.ids import Ids
from tidegate.ledger.cosmos.ledger import CosmosLedger
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.model import Position
from tidegate.ports import Ledger

DATABASE = "ledgers"
CONTAINER = "leases"


class CosmosWorld:
    """See the module."""

    has_real_leases = False

    def __init__(self, settings: CosmosSettings, names: GroupNames) -> None:
        self.ledger: Ledger = CosmosLedger(settings, names)
        self._ids = Ids(names)
        self._items = LeaseContainer(settings)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def claim_by_other(self, partition: str, owner: str) -> bool:
        return await self._write(Place(Kind.OWNERSHIP, partition), {"ownerid": owner}, lease=None)

    async def checkpoint_by_other(self, partition: str, position: Position) -> None:
        metadata = {"offset": position.offset, "sequencenumber": str(position.sequence)}
        await self._write(Place(Kind.CHECKPOINT, partition), metadata)

    async def delete(self, kind: Kind, key: str) -> None:
        item = await self._items.read(self._ids.of(Place(kind, key)))
        assert item is not None
        assert await self._items.delete(item)

    async def break_by_hand(self, partition: str, seconds: int) -> None:
        item = await self._items.read(self._ids.of(Place(Kind.OWNERSHIP, partition)))
        assert item is not None
        item["lease"]["breaks"] = seconds
        assert await self._items.replace(item)

    async def spoil(self, kind: Kind, key: str) -> None:
        metadata = {"epoch": "junk", "offset": "1", "sequencenumber": "x1", "weight": "w"}
        await self._write(Place(kind, key), metadata, lease=None)

    async def _write(self, place: Place, metadata: dict[str, str], **changes: Any) -> bool:
        name = self._ids.of(place)
        item = await self._items.read(name)
        said = {"tag": uuid.uuid4().hex, "metadata": metadata, "written": None, **changes}
        if item is None:
            return await self._items.create({"id": name, **said}) is not None
        return await self._items.replace({**item, **said}) is not None

    async def close(self) -> None:
        await self.ledger.close()
        await self._items.close()


@asynccontextmanager
async def open_cosmos_world(
    connection_string: str, names: GroupNames
) -> AsyncIterator[CosmosWorld]:
    """A new world in an embedded Cosmos DB whose database is there."""
    settings = CosmosSettings(DATABASE, CONTAINER, connection_string=connection_string, create=True)
    world = CosmosWorld(settings, names)
    try:
        yield world
    finally:
        await world.close()
