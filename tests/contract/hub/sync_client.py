"""The synchronous Python SDK behind the calls that scenarios make.

Rules: every call runs on a thread, because the SDK blocks. `receive_batch` blocks until `close()`
is called from another thread, so each reader has a thread of its own, which is joined at the end.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from azure.eventhub import EventHubConsumerClient, EventHubProducerClient
from azure.eventhub.extensions.checkpointstoreblob import BlobCheckpointStore

from contract.hub.clients import Heard, HubClient, Reader, Reading, sequence_of

JOIN_SECONDS = 20.0


class SyncReader:
    """A consumer client on a thread of its own."""

    def __init__(self, connection_string: str, options: dict[str, Any], reading: Reading) -> None:
        self.heard = Heard()
        self.heard.refusals = self.heard.errors  # this SDK tells all refusals as errors
        self._reading = reading
        arguments = {**options, **reading.client_arguments()}
        if reading.store is not None:
            arguments["checkpoint_store"] = BlobCheckpointStore.from_connection_string(
                reading.store.connection_string, reading.store.container
            )
        self._client = EventHubConsumerClient.from_connection_string(connection_string, **arguments)
        self._thread = threading.Thread(target=self._receive, daemon=True)

    def _receive(self) -> None:
        try:
            self._client.receive_batch(
                self._on_events,
                on_error=lambda context, error: self.heard.errors.append(error),
                on_partition_initialize=lambda at: self.heard.owned.add(at.partition_id),
                on_partition_close=lambda at, why: self.heard.owned.discard(at.partition_id),
                **self._reading.receive_arguments(),
            )
        except Exception as error:
            self.heard.errors.append(error)

    def _on_events(self, context: Any, events: list[Any]) -> None:
        self.heard.took(context, events, metrics=self._reading.metrics)
        event = self._reading.to_checkpoint(events)
        if event is not None:
            context.update_checkpoint(event)
            self.heard.checkpoints[context.partition_id] = sequence_of(event)

    async def __aenter__(self) -> Reader:
        self._thread.start()
        return self

    async def __aexit__(self, *reason: object) -> None:
        await asyncio.to_thread(self._client.close)
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)
        assert not self._thread.is_alive(), "the reader did not stop when its client was closed"


class SyncHubClient(HubClient):
    """A producer client of the synchronous SDK, and readers on demand."""

    kind = "sync"
    producer_type = EventHubProducerClient
    reader_type = SyncReader

    async def send(self, events: Any, **to: Any) -> None:
        await asyncio.to_thread(self._producer.send_batch, events, **to)

    async def send_event(self, event: Any, **to: Any) -> None:
        await asyncio.to_thread(self._producer.send_event, event, **to)

    async def create_batch(self, **limits: Any) -> Any:
        return await asyncio.to_thread(self._producer.create_batch, **limits)

    async def hub_properties(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._producer.get_eventhub_properties)

    async def partition_ids(self) -> list[str]:
        return await asyncio.to_thread(self._producer.get_partition_ids)

    async def partition_properties(self, partition: str) -> dict[str, Any]:
        return await asyncio.to_thread(self._producer.get_partition_properties, partition)

    async def close_producer(self) -> None:
        await asyncio.to_thread(self._producer.close)
