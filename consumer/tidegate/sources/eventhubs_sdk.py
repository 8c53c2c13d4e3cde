"""Event Hubs by the official SDK's partition receivers (`transport: sdk`).

Rules:
- Only the SDK's public interface is used: one consumer client a reader, with `owner_level` as the
  epoch. The SDK's own balancing is never switched on.
- The SDK calls back; a queue of one batch turns that into `receive`, so that the SDK fetches no
  further batch before the handler has taken the last.
- What the SDK says of a stolen link becomes StolenError with the level that it names. What it has
  tried in vain is told once: its own retries come before that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from azure.eventhub import EventData, TransportType
from azure.eventhub.aio import EventHubConsumerClient
from azure.eventhub.exceptions import AuthenticationError, EventHubError

from tidegate.model import (
    BEGINNING,
    NO_OFFSET,
    NO_SEQUENCE,
    PartitionEnd,
    PartitionId,
    Position,
    Rewind,
)
from tidegate.ports import SourceError, StolenError
from tidegate.sources.native.endpoint import Endpoint, Transport, endpoint_of
from tidegate.sources.native.refusals import level_in
from tidegate.sources.native.requests import identity_of
from tidegate.sources.start import From, Start, resolve, start_of

__all__ = ["SdkEvent", "SdkReader", "SdkSource", "Start"]

_STOLEN = ("amqp:link:stolen", "higher epoch", "epoch of")
# What the SDK's own words say of a thing that does not come right by itself.
_FATAL = (
    *("amqp:not-found", "errorcondition.notfound", "unauthorized", "argument-error"),
    *("argument-out-of-range", "wrong partition id"),
)
_QUIET_S = 1.0
_START_LIMIT_S = 10.0
_BATCH_EVENTS = 300
# How long a goodbye may take.
_CLOSE_S = 0.25


class SdkEvent:
    """An event of the SDK with what reading in order needs; all else is the EventData's own.

    A handler may change the EventData: its place and its properties as they came are kept.
    """

    __slots__ = ("_data", "_enqueued_at", "_position", "_properties")

    def __init__(self, data: EventData) -> None:
        at = data.enqueued_time
        self._data = data
        self._position = Position(str(data.offset), int(data.sequence_number or 0))
        self._enqueued_at = at.timestamp() if isinstance(at, datetime) else None
        self._properties = dict(data.properties or {})

    @property
    def data(self) -> EventData:
        return self._data

    @property
    def position(self) -> Position:
        return self._position

    @property
    def enqueued_at(self) -> float | None:
        return self._enqueued_at

    def as_received(self) -> SdkEvent:
        """The event with its properties as they came."""
        self._data.properties = dict(self._properties)
        return self

    @property
    def content(self) -> bytes:
        """The body of an event of data sections, in one piece."""
        return b"".join(cast(Iterable[bytes], self._data.body))

    @property
    def size(self) -> int:
        """Bytes of the body: the SDK does not tell those of the message."""
        return len(self.content)

    def __getattr__(self, name: str) -> Any:
        if name == "_data":
            # Of a copy that is being made: it has nothing yet.
            raise AttributeError(name)
        return getattr(self._data, name)


class SdkFacts(NamedTuple):
    """What the SDK tells of a partition."""

    first_sequence: int
    end: PartitionEnd


class _Begin(NamedTuple):
    """Where a receiver begins, in the SDK's words."""

    place: str | int | datetime
    is_inclusive: bool


def _behind(position: Position) -> _Begin:
    if position.offset == NO_OFFSET and position.sequence != NO_SEQUENCE:
        return _Begin(position.sequence, False)
    return _Begin(position.offset, False)


def _from_on(place: From) -> _Begin:
    if place.sequence is not None:
        return _Begin(place.sequence, True)
    assert place.at is not None
    return _Begin(datetime.fromtimestamp(place.at, UTC), True)


def _ways(endpoint: Endpoint, ca_file: str) -> dict[str, Any]:
    """How a client of the SDK gets to an endpoint."""
    ways: dict[str, Any] = {}
    if ca_file:
        ways["connection_verify"] = ca_file
    is_web = endpoint.transport is Transport.WEBSOCKET
    if is_web:
        ways["transport_type"] = TransportType.AmqpOverWebsocket
    if is_web or endpoint.is_tls:
        # The SDK passes over the port of a connection string, except without TLS.
        ways["custom_endpoint_address"] = f"sb://{endpoint.name}"
    return ways


class SdkSource:
    """One hub and consumer group, by the official SDK. `address` is a connection string, or with a
    credential the host name of the namespace."""

    def __init__(
        self,
        address: str,
        hub: str,
        group: str,
        start: Start | None = None,
        *,
        credential: Any = None,
        transport: Transport = Transport.TCP,
        ca_file: str = "",
    ) -> None:
        self._address = address
        self._credential = credential
        self._endpoint = endpoint_of(address, transport)
        self._ways = _ways(self._endpoint, ca_file)
        self._hub = hub
        self._group = group
        self._start = (start or Start()).checked()
        self._client = self._new_client()

    def _new_client(self) -> EventHubConsumerClient:
        if self._credential is not None:
            return EventHubConsumerClient(
                self._endpoint.host, self._hub, self._group, self._credential, **self._ways
            )
        return EventHubConsumerClient.from_connection_string(
            self._address, consumer_group=self._group, eventhub_name=self._hub, **self._ways
        )

    def _place(self, partition: PartitionId) -> str:
        return f"hub '{self._hub}', group '{self._group}', partition {partition}"

    async def partitions(self) -> tuple[PartitionId, ...]:
        try:
            return tuple(await self._client.get_partition_ids())
        except EventHubError as error:
            raise _source_error(f"hub '{self._hub}'", error) from error

    async def identity(self) -> str:
        """The hub's name and its time of creation. Raises SourceError."""
        try:
            facts = await self._client.get_eventhub_properties()
        except EventHubError as error:
            raise _source_error(f"hub '{self._hub}'", error) from error
        created_at = facts["created_at"]
        if not isinstance(created_at, datetime):
            return ""
        return identity_of(str(facts["eventhub_name"]), round(created_at.timestamp() * 1000))

    async def end(self, partition: PartitionId) -> PartitionEnd:
        """How far a partition has come. Raises SourceError."""
        return (await self._facts(partition)).end

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        start = self._start if rewind is None else start_of(rewind)

        async def first(place: From) -> SdkEvent:
            return await self._first(partition, place)

        return await resolve(start, lambda: self._facts(partition), first)

    async def _facts(self, partition: PartitionId) -> SdkFacts:
        try:
            facts = await self._client.get_partition_properties(partition)
        except EventHubError as error:
            raise _source_error(self._place(partition), error) from error
        at = None if facts["is_empty"] else facts["last_enqueued_time_utc"].timestamp()
        first = int(facts["beginning_sequence_number"])
        end = PartitionEnd(
            int(facts["last_enqueued_sequence_number"]),
            str(facts["last_enqueued_offset"]),
            at,
            time.time(),
            first,
        )
        return SdkFacts(first, end)

    async def _first(self, partition: PartitionId, place: From) -> SdkEvent:
        reader = SdkReader(
            self._new_client(), partition, self._place(partition), _from_on(place), None
        )
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await reader.open()
                while True:
                    events = await reader.receive()
                    if events:
                        return events[0]
        except TimeoutError as error:
            raise SourceError(
                f"{self._place(partition)}: the event to start at did not come within "
                f"{_START_LIMIT_S:g} s"
            ) from error
        finally:
            await reader.close()

    async def check_unread(self, partition: PartitionId) -> None:
        """Raises StolenError where a reader with an epoch of ours has the partition."""
        reader = self.reader(partition, BEGINNING, 0)
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await reader.open()
        except (SourceError, TimeoutError):
            # The reader that is opened next meets any other error, and reports it.
            return
        finally:
            await reader.close()

    def reader(self, partition: PartitionId, position: Position, epoch: int) -> SdkReader:
        return SdkReader(
            self._new_client(), partition, self._place(partition), _behind(position), epoch
        )

    async def close(self) -> None:
        await _closed(self._client)


class SdkReader:
    """One partition receiver of the SDK."""

    def __init__(
        self,
        client: EventHubConsumerClient,
        partition: PartitionId,
        place: str,
        begin: _Begin,
        epoch: int | None,
    ) -> None:
        self._client = client
        self._partition = partition
        self._place = place
        self._begin = begin
        self._epoch = epoch
        self._batches: asyncio.Queue[list[EventData] | Exception] = asyncio.Queue(maxsize=1)
        self._task: asyncio.Task[None] | None = None
        self._first: list[EventData] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._receive(), name=f"sdk-reader-{self._partition}")
        self._first = await self._next()

    async def _receive(self) -> None:
        try:
            await self._client.receive_batch(
                on_event_batch=self._on_batch,
                on_error=self._on_error,
                partition_id=self._partition,
                owner_level=self._epoch,
                starting_position=self._begin.place,
                starting_position_inclusive=self._begin.is_inclusive,
                max_batch_size=_BATCH_EVENTS,
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

    @property
    def known_end(self) -> PartitionEnd | None:
        """The SDK's receivers are not asked for it: see SdkSource.end."""
        return None

    async def _next(self) -> list[EventData]:
        batch = await self._batches.get()
        if not isinstance(batch, Exception):
            return batch
        text = str(batch)
        if any(words in text for words in _STOLEN):
            raise StolenError(f"{self._place}: {text}", level_in(text)) from batch
        raise _source_error(self._place, batch) from batch

    async def close(self) -> None:
        # Its receiver may wait for room in our queue, or to try a connection again.
        if self._task is not None:
            self._task.cancel()
        await _closed(self._client)


async def _closed(client: EventHubConsumerClient) -> None:
    """Closes it, unless the service does not answer: then its connections end with the process."""
    closing = asyncio.ensure_future(client.close())
    await asyncio.wait([closing], timeout=_CLOSE_S)
    if not closing.done():
        # The SDK looks once a second whether its receivers have ended: they have been told.
        closing.cancel()
        return
    closing.result()


def _source_error(place: str, error: Exception) -> SourceError:
    text = str(error)
    is_fatal = isinstance(error, AuthenticationError) or any(
        words in text.lower() for words in _FATAL
    )
    return SourceError(f"{place}: {text}", is_fatal=is_fatal)
