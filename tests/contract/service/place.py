"""A real Event Hubs namespace and storage account, where the environment names them.

Rules: the event hub is one that nothing else uses meanwhile; it is written to, and never changed or
emptied, so every test begins at the end that it finds. Containers are made and removed again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest
from azure.eventhub import EventData, EventHubConsumerClient, EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage

from tidegate.model import PartitionId, Position
from tidegate.ports import Reader
from tidegate.sources.choose import EndingSource
from tidegate.sources.eventhubs import NativeSource, Transport
from tidegate.sources.eventhubs_sdk import SdkSource
from tidegate.sources.native.endpoint import endpoint_of
from tidegate.sources.start import Start

# What the environment has to name, each a connection string; that of the hub ends in EntityPath.
EVENTS = "TIDEGATE_TEST_SERVICE_EVENTS"
STORAGE = "TIDEGATE_TEST_SERVICE_STORAGE"
# A consumer group that nothing else reads with.
GROUP = "TIDEGATE_TEST_SERVICE_CONSUMER_GROUP"

_PATIENCE_S = 60.0


def wanted(name: str) -> str:
    """A connection string of the environment; the test is skipped, with the reason, without it."""
    found = os.environ.get(name, "")
    if not found:
        pytest.skip(f"{name} is not set: nothing is tried against the real service")
    return found


class ServicePlace:
    """The hub, read by one transport."""

    def __init__(self, transport: str) -> None:
        self.connection_string = wanted(EVENTS)
        self.hub = endpoint_of(self.connection_string).hub
        assert self.hub, f"{EVENTS} does not name its hub: add ;EntityPath=NAME"
        self.group = os.environ.get(GROUP, "$Default")
        self.transport = transport
        self._sources: list[EndingSource] = []
        self._readers: list[Reader] = []

    def source(
        self, start: Start | None = None, *, text: str = "", hub: str = "", group: str = ""
    ) -> EndingSource:
        text, hub, group = text or self.connection_string, hub or self.hub, group or self.group
        made: EndingSource
        if self.transport == "sdk":
            made = SdkSource(text, hub, group, start)
        else:
            way = Transport.WEBSOCKET if self.transport == "websocket" else Transport.TCP
            made = NativeSource(text, hub, group, start, transport=way)
        self._sources.append(made)
        return made

    async def end(self, partition: PartitionId) -> Position:
        """The position of the last event."""
        return await self.source(Start("latest")).resolve_start(partition)

    async def opened(self, partition: PartitionId, position: Position, epoch: int) -> Reader:
        reader = self.source().reader(partition, position, epoch)
        self._readers.append(reader)
        await reader.open()
        return reader

    async def close(self) -> None:
        for reader in self._readers:
            await reader.close()
        for source in self._sources:
            await source.close()

    # --- by the official SDK

    def partition_ids(self) -> list[str]:
        with EventHubConsumerClient.from_connection_string(
            self.connection_string, self.group, eventhub_name=self.hub
        ) as client:
            return list(client.get_partition_ids())

    def send(self, events: Sequence[EventData | AmqpAnnotatedMessage], **place: Any) -> None:
        with EventHubProducerClient.from_connection_string(
            self.connection_string, eventhub_name=self.hub
        ) as client:
            client.send_batch(list(events), **place)


async def events_from(reader: Reader, count: int) -> list[Any]:
    """So many events of a reader, and those that it gives with them."""
    found: list[Any] = []
    async with asyncio.timeout(_PATIENCE_S):
        while len(found) < count:
            found += await reader.receive()
    return found


async def failure_of(reader: Reader) -> Exception:
    """The error with which a reader ends; that of one that never ends is a TimeoutError."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await reader.open()
            while True:
                await reader.receive()
    except Exception as error:
        return error
