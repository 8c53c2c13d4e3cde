"""The asyncio Python SDK behind the calls that scenarios make.

Rules: each reader is a task on the scenario's own loop; it ends when its client is closed, and a
failure of the task itself counts as an error that the reader was given.

This SDK drops the hub's reason for refusing an attach and asks again for ever (`_receive_task`
takes an error that comes before the link is open for its own close). What the hub said is in the
SDK's log of frames, from which a reader that expects a refusal takes it.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import Any

from azure.eventhub import exceptions
from azure.eventhub.aio import EventHubConsumerClient, EventHubProducerClient
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore

from contract.hub.clients import Heard, HubClient, Reader, Reading, sequence_of

STOP_SECONDS = 20.0

_link_log = logging.getLogger("azure.eventhub._pyamqp.aio._link_async")
_current: ContextVar[Heard] = ContextVar("the reader whose task this is")


class _Refusals(logging.Handler):
    """Gives each reader the errors of the detach frames that came for it."""

    def emit(self, record: logging.LogRecord) -> None:
        frame = record.args[0] if isinstance(record.args, tuple) and record.args else None
        error = getattr(frame, "error", None)
        if record.msg == "<- %r" and error and _current.get(None) is not None:
            words = error[1].decode()
            refusal = exceptions.EventHubError(words)
            refusal.error = error[0].decode().partition(":")[2]
            _current.get().refusals.append(refusal)


def _listen_to_refusals() -> None:
    if not any(isinstance(handler, _Refusals) for handler in _link_log.handlers):
        _link_log.addHandler(_Refusals())
        _link_log.setLevel(logging.DEBUG)


class AioReader:
    """A consumer client in a task."""

    def __init__(self, connection_string: str, options: dict[str, Any], reading: Reading) -> None:
        self.heard = Heard()
        self._reading = reading
        arguments = {**options, **reading.client_arguments()}
        self._store: BlobCheckpointStore | None = None
        if reading.store is not None:
            self._store = BlobCheckpointStore.from_connection_string(
                reading.store.connection_string, reading.store.container
            )
            arguments["checkpoint_store"] = self._store
        self._client = EventHubConsumerClient.from_connection_string(connection_string, **arguments)
        self._task: asyncio.Task[None] | None = None

    async def _receive(self) -> None:
        _current.set(self.heard)  # the SDK's own tasks start from this one and inherit it
        if self._reading.expects_refusal:
            _listen_to_refusals()
        try:
            await self._client.receive_batch(
                self._on_events,
                on_error=self._on_error,
                on_partition_initialize=self._on_open,
                on_partition_close=self._on_close,
                **self._reading.receive_arguments(),
            )
        except Exception as error:
            self.heard.errors.append(error)

    async def _on_error(self, context: Any, error: Exception) -> None:
        self.heard.errors.append(error)

    async def _on_open(self, context: Any) -> None:
        self.heard.owned.add(context.partition_id)

    async def _on_close(self, context: Any, reason: Any) -> None:
        self.heard.owned.discard(context.partition_id)

    async def _on_events(self, context: Any, events: list[Any]) -> None:
        self.heard.took(context, events, metrics=self._reading.metrics)
        event = self._reading.to_checkpoint(events)
        if event is not None:
            await context.update_checkpoint(event)
            self.heard.checkpoints[context.partition_id] = sequence_of(event)

    async def __aenter__(self) -> Reader:
        self._task = asyncio.create_task(self._receive())
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self._client.close()
        assert self._task is not None
        await asyncio.wait_for(self._task, STOP_SECONDS)
        if self._store is not None:
            await self._store.close()


class AioHubClient(HubClient):
    """A producer client of the asyncio SDK, and readers on demand."""

    kind = "aio"
    producer_type = EventHubProducerClient
    reader_type = AioReader

    async def send(self, events: Any, **to: Any) -> None:
        await self._producer.send_batch(events, **to)

    async def send_event(self, event: Any, **to: Any) -> None:
        await self._producer.send_event(event, **to)

    async def create_batch(self, **limits: Any) -> Any:
        return await self._producer.create_batch(**limits)

    async def hub_properties(self) -> dict[str, Any]:
        return dict(await self._producer.get_eventhub_properties())

    async def partition_ids(self) -> list[str]:
        return list(await self._producer.get_partition_ids())

    async def partition_properties(self, partition: str) -> dict[str, Any]:
        return dict(await self._producer.get_partition_properties(partition))

    async def close_producer(self) -> None:
        await self._producer.close()
