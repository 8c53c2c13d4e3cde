"""What the two Python clients have in common: how a scenario asks to read, and what it then heard.

Rules: a scenario is written once and runs on both clients. The SDK retries nothing here, so the
first error that the hub gives is the one that the scenario sees. Reading ends when the scenario
leaves the `async with` of its reader.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Protocol, cast

from azure.eventhub import EventData

from support.wait import wait_until_async

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Blob:
    """The container that a processor keeps its ownership and checkpoints in."""

    connection_string: str
    container: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read: one partition, or as a processor all that the store gives it."""

    partition: str | None = "0"
    start: str | int | datetime | dict[str, Any] = "-1"
    inclusive: bool = False
    group: str = "$Default"
    owner_level: int | None = None
    metrics: bool = False
    expects_refusal: bool = False
    store: Blob | None = None
    checkpoint_when: Callable[[EventData], bool] = lambda event: False

    def to_checkpoint(self, events: Sequence[EventData]) -> EventData | None:
        """The last event of this batch that the scenario wants a checkpoint at."""
        return next((event for event in reversed(events) if self.checkpoint_when(event)), None)

    def receive_arguments(self) -> dict[str, Any]:
        """The keywords of the SDK's receive_batch, handlers apart."""
        arguments: dict[str, Any] = {
            "starting_position": self.start,
            "starting_position_inclusive": self.inclusive,
            "track_last_enqueued_event_properties": self.metrics,
        }
        if self.partition is not None:
            arguments["partition_id"] = self.partition
        if self.owner_level is not None:
            arguments["owner_level"] = self.owner_level
        return arguments

    def client_arguments(self) -> dict[str, Any]:
        """The keywords of the SDK's consumer client."""
        arguments: dict[str, Any] = {
            "consumer_group": self.group,
            "load_balancing_interval": 0.5,
            "retry_total": 0,
            "logging_enable": self.expects_refusal,
        }
        if self.store is not None:
            arguments["partition_ownership_expiration_interval"] = 4
        return arguments


@dataclass(slots=True)
class Heard:
    """All that a reader was told, in the order it was told.

    `refusals` are the attaches that the hub refused. The asyncio SDK tells its caller of those
    only where the reason is `amqp:link:stolen`, so they are kept apart from `errors`.
    """

    events: list[tuple[str, EventData]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    refusals: list[Exception] = field(default_factory=list)
    owned: set[str] = field(default_factory=set)
    checkpoints: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)

    def took(self, context: Any, events: Sequence[EventData], *, metrics: bool) -> None:
        if metrics and events:
            self.metrics[context.partition_id] = dict(context.last_enqueued_event_properties)
        self.events.extend((context.partition_id, event) for event in events)

    def bodies(self) -> list[str]:
        return [event.body_as_str() for _, event in self.events]

    def sequences(self, since: int = 0) -> dict[str, list[int]]:
        """Sequence numbers by partition, of the events from the given place in the list on."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for partition, event in self.events[since:]:
            found[partition].append(sequence_of(event))
        return dict(found)


class Reader(Protocol):
    """One consumer client that reads in the background while its `async with` lasts."""

    heard: Heard

    async def __aenter__(self) -> Reader: ...
    async def __aexit__(self, *reason: object) -> None: ...


class HubClient(ABC):
    """One kind of Python client on one hub: the calls of the producer, made awaitable."""

    kind: ClassVar[str]
    producer_type: ClassVar[Any]  # of the SDK
    reader_type: ClassVar[Callable[..., Reader]]

    def __init__(self, connection_string: str, hub: str, **options: Any) -> None:
        self.connection_string = connection_string
        self._options = {"eventhub_name": hub, **options}
        self._producer = self.producer_type.from_connection_string(
            connection_string, retry_total=0, **self._options
        )
        self._others: list[HubClient] = []

    @abstractmethod
    async def send(self, events: Any, **to: Any) -> None: ...

    @abstractmethod
    async def send_event(self, event: Any, **to: Any) -> None: ...

    @abstractmethod
    async def create_batch(self, **limits: Any) -> Any: ...

    @abstractmethod
    async def hub_properties(self) -> dict[str, Any]: ...

    @abstractmethod
    async def partition_ids(self) -> list[str]: ...

    @abstractmethod
    async def partition_properties(self, partition: str) -> dict[str, Any]: ...

    @abstractmethod
    async def close_producer(self) -> None: ...

    def read(self, reading: Reading) -> Reader:
        return self.reader_type(self.connection_string, self._options, reading)

    def on(self, **changes: Any) -> HubClient:
        """A client like this one with other options; it is closed with this one."""
        options = {**self._options, **changes}
        connection_string = options.pop("connection_string", self.connection_string)
        other = type(self)(connection_string, options.pop("eventhub_name"), **options)
        self._others.append(other)
        return other

    async def close(self) -> None:
        for other in self._others:
            await other.close()
        await self.close_producer()


async def events_of(
    reader: Reader, count: int, seconds: float = PATIENCE_SECONDS
) -> list[tuple[str, EventData]]:
    """Await that many events; an error that the reader is given instead is raised at once."""
    heard = reader.heard
    await wait_until_async(
        lambda: heard.errors or len(heard.events) >= count,
        seconds,
        f"{count} events",
        detail=lambda: f"{len(heard.events)} events",
    )
    if heard.errors:
        raise heard.errors[0]
    return list(heard.events)


async def error_of(reader: Reader, seconds: float = PATIENCE_SECONDS) -> Exception:
    """Await the first error that the SDK tells the reader."""
    heard = reader.heard
    await wait_until_async(
        lambda: heard.errors,
        seconds,
        "an error for the reader",
        detail=lambda: f"{len(heard.events)} events and no error",
    )
    return heard.errors[0]


async def refusal_of(reader: Reader, seconds: float = PATIENCE_SECONDS) -> Exception:
    """Await the hub's refusal of the reader's attach; ask for it with `expects_refusal`."""
    heard = reader.heard
    await wait_until_async(
        lambda: heard.refusals,
        seconds,
        "the hub to refuse the reader",
        detail=lambda: f"{len(heard.events)} events and errors {heard.errors}",
    )
    assert heard.events == []
    return heard.refusals[0]


def condition_of(error: BaseException) -> str:
    """The AMQP condition behind an SDK error, which keeps what follows the first colon of it."""
    return str(getattr(error, "error", None) or f"{type(error).__name__}: {error}")


def sequence_of(event: EventData) -> int:
    """The sequence number that the hub stamped; every event that was received has one."""
    assert event.sequence_number is not None
    return event.sequence_number


def time_of(event: EventData) -> datetime:
    """The time that the hub stamped."""
    assert event.enqueued_time is not None
    return event.enqueued_time


def offset_of(event: EventData) -> str:
    """The offset that the hub stamped."""
    assert event.offset is not None
    return event.offset


def sections_of(event: EventData) -> list[Any]:
    """The sections of a body of data, or the lists of a body of sequences."""
    return list(cast("Iterable[Any]", event.body))


def data_of(event: EventData) -> bytes:
    """The body of data as one run of bytes."""
    return b"".join(sections_of(event))


def texts(count: int, word: str = "event") -> list[EventData]:
    """Plain events whose bodies tell them apart."""
    return [EventData(f"{word}-{number}") for number in range(count)]
