"""Event Hubs by the official SDK's partition receivers (`transport: sdk`).

Rules:
- Only the SDK's public interface is used: one consumer client a reader, with `owner_level` as the
  epoch. The SDK's own balancing is never switched on.
- The SDK calls back; a queue of one batch turns that into `receive`, so that the SDK fetches no
  further batch before the handler has taken the last.
- What the SDK says of a stolen link becomes StolenError with the level that it names.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient
from azure.eventhub.exceptions import EventHubError

from tidegate.model import BEGINNING, PartitionId, Position
from tidegate.ports import SourceError, StolenError

_LEVEL = re.compile(r"epoch (?:of )?'(\d+)'")
_STOLEN = ("amqp:link:stolen", "higher epoch", "epoch of")
_QUIET_S = 1.0
_BEGINNING = "-1"


@dataclass(frozen=True, slots=True)
class SdkEvent:
    """An event of the SDK with what reading in order needs."""

    data: EventData

    @property
    def position(self) -> Position:
        return Position(str(self.data.offset), int(self.data.sequence_number or 0))

    @property
    def enqueued_at(self) -> float | None:
        at = self.data.enqueued_time
        return at.timestamp() if isinstance(at, datetime) else None


@dataclass(frozen=True, slots=True)
class Start:
    """Where partitions without a checkpoint begin."""

    kind: str = "latest"  # or "earliest"


class SdkSource:
    """One hub and consumer group, by the official SDK."""

    def __init__(
        self, connection_string: str, hub: str, group: str, start: Start | None = None
    ) -> None:
        self._connection_string = connection_string
        self._hub = hub
        self._group = group
        self._start = start or Start()
        self._client = self._new_client()

    def _new_client(self) -> EventHubConsumerClient:
        return EventHubConsumerClient.from_connection_string(
            self._connection_string, consumer_group=self._group, eventhub_name=self._hub
        )

    async def partitions(self) -> tuple[PartitionId, ...]:
        try:
            return tuple(await self._client.get_partition_ids())
        except EventHubError as error:
            raise SourceError(f"hub {self._hub!r}: {error.message}") from error

    async def resolve_start(self, partition: PartitionId) -> Position:
        if self._start.kind == "earliest":
            return BEGINNING
        try:
            facts = await self._client.get_partition_properties(partition)
        except EventHubError as error:
            raise SourceError(f"hub {self._hub!r}/{partition}: {error.message}") from error
        return Position(
            str(facts["last_enqueued_offset"]), int(facts["last_enqueued_sequence_number"])
        )

    def reader(self, partition: PartitionId, position: Position, epoch: int) -> SdkReader:
        return SdkReader(self._new_client(), partition, position, epoch)

    async def close(self) -> None:
        await self._client.close()


class SdkReader:
    """One partition receiver of the SDK."""

    def __init__(
        self,
        client: EventHubConsumerClient,
        partition: PartitionId,
        position: Position,
        epoch: int,
    ) -> None:
        self._client = client
        self._partition = partition
        self._position = position
        self._epoch = epoch
        self._batches: asyncio.Queue[list[EventData] | Exception] = asyncio.Queue(maxsize=1)
        self._task: asyncio.Task[None] | None = None
        self._first: list[EventData] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._receive(), name=f"sdk-reader-{self._partition}")
        self._first = await self._next()

    async def _receive(self) -> None:
        offset = self._position.offset
        try:
            await self._client.receive_batch(
                on_event_batch=self._on_batch,
                on_error=self._on_error,
                partition_id=self._partition,
                owner_level=self._epoch,
                starting_position=_BEGINNING if self._position == BEGINNING else offset,
                starting_position_inclusive=False,
                max_wait_time=_QUIET_S,
            )
        except EventHubError as error:
            await self._batches.put(error)

    async def _on_batch(self, _context: Any, events: list[EventData]) -> None:
        await self._batches.put(events)

    async def _on_error(self, _context: Any, error: Exception) -> None:
        await self._batches.put(error)

    async def receive(self) -> Sequence[SdkEvent]:
        events, self._first = self._first, None
        if events is None:
            events = await self._next()
        return [SdkEvent(event) for event in events]

    async def _next(self) -> list[EventData]:
        batch = await self._batches.get()
        if not isinstance(batch, Exception):
            return batch
        text = str(batch)
        if any(words in text for words in _STOLEN):
            found = _LEVEL.search(text)
            raise StolenError(text, int(found.group(1)) if found else None) from batch
        raise SourceError(f"partition {self._partition}: {text}") from batch

    async def close(self) -> None:
        # The SDK's receiver waits for its callback, and the callback for room in our queue.
        closing = asyncio.create_task(self._client.close())
        while not closing.done():
            while not self._batches.empty():
                self._batches.get_nowait()
            await asyncio.wait([closing], timeout=0.05)
        await closing
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
