"""Sends numbered events: to each partition of a hub in turn, or as items of a Cosmos container.

Rules: an event counts as sent once the service has accepted it. A stream's numbers have no gap, and
what cannot be sent ends the sender, for then it is not known what is there.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from azure.cosmos.aio import CosmosClient
from azure.eventhub.aio import EventHubConsumerClient

from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing
from tidegate_operator.conformance.agent_place import COSMOS, EVENTS, AgentPlace
from tidegate_operator.conformance.recorder import HOMES

# Items are written one after another, so that each home's come in order.
_ITEMS_A_TICK = 8


class Sender(ABC):
    """See the module."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._stop = asyncio.Event()
        self._done = asyncio.Event()

    @abstractmethod
    async def begin(self) -> None:
        """Learns where the streams begin."""

    @abstractmethod
    async def _send(self) -> None:
        """One tick's events, all accepted or under way."""

    @abstractmethod
    async def _flush(self) -> None: ...

    @abstractmethod
    def sent(self) -> dict[str, tuple[int, int]]:
        """By stream: the first number, and how many were sent; all are accepted after `stop`."""

    @abstractmethod
    async def close(self) -> None: ...

    async def run(self) -> None:
        """Until it is stopped."""
        loop = asyncio.get_running_loop()
        next_at = loop.time()
        try:
            while not self._stop.is_set():
                await self._send()
                next_at = max(next_at + self._every_s, loop.time() - 1.0)
                await asyncio.sleep(max(next_at - loop.time(), 0.0))
            await self._flush()
        finally:
            self._done.set()

    async def stop(self) -> None:
        """All that was sent is accepted then."""
        self._stop.set()
        await self._done.wait()


class HubSender(Sender):
    """An event to each partition, each tick."""

    def __init__(self, address: str, hub: str, every_s: float) -> None:
        super().__init__(every_s)
        self._address, self._hub = address, hub
        self._native = NativeSender(address, hub)
        self._first: dict[str, int] = {}
        self._ticks = 0

    async def begin(self) -> None:
        client = EventHubConsumerClient.from_connection_string(
            self._address, "$Default", eventhub_name=self._hub, retry_total=1
        )
        async with client:
            for partition in await client.get_partition_ids():
                found = await client.get_partition_properties(partition)
                last = int(found["last_enqueued_sequence_number"])
                self._first[partition] = 0 if found["is_empty"] and last < 0 else last + 1

    async def _send(self) -> None:
        body = b'{"n":%d}' % self._ticks
        await self._native.send([Outgoing(body, partition=each) for each in self._first])
        self._ticks += 1

    async def _flush(self) -> None:
        await self._native.flush()
        want = self._ticks * len(self._first)
        if self._native.accepted != want:
            raise RuntimeError(f"the hub accepted {self._native.accepted} events of {want}")

    def sent(self) -> dict[str, tuple[int, int]]:
        """Before `stop` the last ticks may be under way still."""
        return {partition: (first, self._ticks) for partition, first in self._first.items()}

    async def close(self) -> None:
        await self._native.close()


class ItemSender(Sender):
    """Some items each tick, each written once."""

    def __init__(self, address: str, database: str, container: str, every_s: float) -> None:
        super().__init__(every_s)
        self._client: Any = CosmosClient.from_connection_string(address)
        database_client = self._client.get_database_client(database)
        self._items = database_client.get_container_client(container)
        self._written = 0

    async def begin(self) -> None:
        await self._client.__aenter__()
        await self._items.read()

    async def _send(self) -> None:
        for _ in range(_ITEMS_A_TICK):
            number = self._written
            await self._items.upsert_item(
                {"id": str(number), "home": f"h{number % HOMES}", "n": number}
            )
            self._written += 1

    async def _flush(self) -> None:
        """Each write was answered."""

    def sent(self) -> dict[str, tuple[int, int]]:
        return {
            f"home-{home}": (0, (self._written - home + HOMES - 1) // HOMES)
            for home in range(min(HOMES, self._written))
        }

    async def close(self) -> None:
        await self._client.close()


def sender_for(place: AgentPlace, environment: Mapping[str, str]) -> Sender:
    if place.source == "cosmos":
        address = environment[COSMOS]
        return ItemSender(address, place.database, place.container, place.every_s)
    return HubSender(environment[EVENTS], place.hub, place.every_s)
