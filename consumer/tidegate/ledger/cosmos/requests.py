"""Requests to a lease container, over the official SDK: one item, or all below a prefix.

Rules:
- What requests cost is counted here, apart from what reading the monitored container costs.
- An item that is seen goes into `ages`, which knows how long its last write has stood, at least: by
  the service's clock, or by ours, since that very version was first seen.
- A container whose partition key no lease container has is refused before anything is written.
- Where the partition key is not the item's name it is the writer's own, and is known once the item
  was seen.
- A container that is deleted while members run is created again if `create` is set. Some
  emulators do not say that it is the container that is missing: a query or the making of an item
  tells.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError, CosmosResourceExistsError

from tidegate.ledger.cosmos.access import CosmosSettings, open_client
from tidegate.ledger.cosmos.ages import Ages
from tidegate.ledger.cosmos.charges import Charges
from tidegate.ledger.cosmos.refusals import Spot, is_absent, is_missing, refusal_of
from tidegate.ports import LedgerError, Refusal
from tidegate.sources.cosmos.tokens import charge_of

Item = dict[str, Any]
T = TypeVar("T")

# What lease containers are partitioned by: /partitionKey is of accounts with the Gremlin API.
PARTITION_KEYS = ("/id", "/partitionKey")

_CALLED = "SELECT * FROM c WHERE c.id = @name"
_BELOW = "SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)"


class LeaseContainer:
    """See the module. It belongs to one event loop."""

    def __init__(
        self,
        settings: CosmosSettings,
        charges: Charges | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings.checked()
        self.charges = charges or Charges()
        self.ages = Ages(clock)
        self._client: CosmosClient | None = None
        self._checked: ContainerProxy | None = None
        self._key = "/id"
        # By name, of those items whose partition key is another text.
        self._keys: dict[str, str] = {}

    async def close(self) -> None:
        client, self._client, self._checked = self._client, None, None
        if client is not None:
            await client.close()

    async def client(self) -> CosmosClient:
        if self._client is None:
            self._client = open_client(self.settings)
        return self._client

    async def read(self, name: str) -> Item | None:
        """The item, or None."""
        container = await self._container()
        key = self._keys.get(name, name)
        try:
            return self._seen(await container.read_item(name, key, response_hook=self._heard))
        except CosmosHttpResponseError as problem:
            self._charged(problem)
            if not is_absent(problem):
                raise
        self._keys.pop(name, None)
        found = await self._asked(_CALLED, "@name", name) if self._key != "/id" else []
        return found[0] if found else None

    async def create(self, item: Mapping[str, Any]) -> Item | None:
        """The item as it stands now, or None where there is one of its name."""

        async def make(container: ContainerProxy) -> Item | None:
            body = dict(item)
            if self._key == "/partitionKey":
                body.setdefault("partitionKey", body["id"])
            try:
                return self._seen(await container.create_item(body, response_hook=self._heard))
            except CosmosHttpResponseError as problem:
                self._charged(problem)
                if problem.status_code != 409:
                    raise
                return None

        return await self._in_container(make)

    async def replace(self, item: Mapping[str, Any]) -> Item | None:
        """The item as it stands now, or None where it was not the version that `item` has."""
        container = await self._container()
        try:
            return self._seen(
                await container.replace_item(
                    str(item["id"]),
                    dict(item),
                    etag=str(item["_etag"]),
                    match_condition=MatchConditions.IfNotModified,
                    response_hook=self._heard,
                )
            )
        except CosmosHttpResponseError as problem:
            self._charged(problem)
            if problem.status_code != 412 and not is_absent(problem):
                raise
            return None

    async def delete(self, item: Mapping[str, Any]) -> bool:
        """Whether it was removed: False where it was not the version that `item` has."""
        container = await self._container()
        name = str(item["id"])
        try:
            await container.delete_item(
                name,
                self._key_of(item),
                etag=str(item["_etag"]),
                match_condition=MatchConditions.IfNotModified,
                response_hook=self._heard,
            )
        except CosmosHttpResponseError as problem:
            self._charged(problem)
            if problem.status_code != 412 and not is_absent(problem):
                raise
            return False
        self.ages.forget(name)
        self._keys.pop(name, None)
        return True

    async def below(self, prefix: str) -> list[Item]:
        """All items whose names begin so."""
        return await self._asked(_BELOW, "@prefix", prefix)

    async def _asked(self, query: str, parameter: str, value: str) -> list[Item]:
        async def ask(container: ContainerProxy) -> list[Item]:
            found = container.query_items(
                query,
                parameters=[{"name": parameter, "value": value}],
                response_hook=self._heard,
            )
            return [self._seen(item) async for item in found]

        return await self._in_container(ask)

    async def _in_container(self, ask: Callable[[ContainerProxy], Awaitable[T]]) -> T:
        """Asks for what can only be missing if the container is; looks for it again then."""
        try:
            return await ask(await self._container())
        except CosmosHttpResponseError as problem:
            if not is_missing(problem):
                raise
            self._checked = None
        return await ask(await self._container())

    @property
    def server_time(self) -> float:
        """By the service's clock, as far as it has told it."""
        return self.ages.server_time

    async def _container(self) -> ContainerProxy:
        """The container, once it is known to be one for leases."""
        if self._checked is not None:
            return self._checked
        client = await self.client()
        database = client.get_database_client(self.settings.database)
        container = database.get_container_client(self.settings.container)
        try:
            properties: Mapping[str, Any] = await container.read(response_hook=self._heard)
        except CosmosHttpResponseError as problem:
            self._charged(problem)
            if not is_missing(problem):
                raise
            if not self.settings.create:
                raise refusal_of(problem, Spot.of(self.settings), is_read=True) from None
            properties = await self._create(container)
        self._key = self._checked_key(properties)
        self._checked = container
        return container

    async def _create(self, container: ContainerProxy) -> Mapping[str, Any]:
        client = await self.client()
        database = client.get_database_client(self.settings.database)
        with contextlib.suppress(CosmosResourceExistsError):  # another member was quicker
            # Other processors' locks have a time to live of their own.
            await database.create_container(
                self.settings.container, PartitionKey("/id"), default_ttl=-1
            )
        return await container.read(response_hook=self._heard)

    def _checked_key(self, properties: Mapping[str, Any]) -> str:
        paths = (properties.get("partitionKey") or {}).get("paths") or []
        if len(paths) == 1 and paths[0] in PARTITION_KEYS:
            return str(paths[0])
        raise LedgerError(
            Refusal.INVALID,
            f"{Spot.of(self.settings)} has the partition key {', '.join(paths) or '(none)'}, and "
            "no lease container has that: /id, or /partitionKey with the Gremlin API. Is it the "
            "monitored container? Name another one; nothing was written.",
        )

    def _key_of(self, item: Mapping[str, Any]) -> str:
        return str(item.get(self._key[1:], item["id"]))

    def _seen(self, item: Mapping[str, Any]) -> Item:
        found = dict(item)
        self.ages.see(found)
        name, key = str(found["id"]), self._key_of(found)
        if key != name:
            self._keys[name] = key
        return found

    def _heard(self, headers: Mapping[str, Any], _: object) -> None:
        told = {str(key).lower(): value for key, value in headers.items()}
        self.charges.add(charge_of(told))
        if told.get("date"):
            self.ages.told_time(parsedate_to_datetime(str(told["date"])).timestamp())

    def _charged(self, problem: CosmosHttpResponseError) -> None:
        self._heard(dict(problem.headers or {}), None)
