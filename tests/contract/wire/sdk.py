"""The official asyncio SDK as the victim of faults: a sender, and a reader that notes all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient, EventHubProducerClient

from contract.wire.place import Place
from support.hub_messages import data
from support.wait import wait_until_async
from tidegate_amqp import Accepted

# Quick, so that tests are; a busy server still makes the SDK wait for its four seconds.
RETRIES: dict[str, Any] = {"retry_total": 6, "retry_backoff_factor": 0.05, "retry_backoff_max": 1}
GROUP = "$Default"


def producer(place: Place, **options: Any) -> EventHubProducerClient:
    return EventHubProducerClient.from_connection_string(
        place.server.connection_string, eventhub_name=place.hub, **{**RETRIES, **options}
    )


async def send(place: Place, *bodies: str, client: EventHubProducerClient | None = None) -> None:
    """Sends each body in a delivery of its own to partition 0."""
    async with contextlib.AsyncExitStack() as stack:
        sender: Any = client or await stack.enter_async_context(producer(place))
        for body in bodies:
            await sender.send_batch([EventData(body)], partition_id="0")


def publish(place: Place, *bodies: str) -> None:
    """Stores each body in partition 0, past the SDK, which takes its time to connect."""
    peer = place.open()
    link = peer.attach_sender(place.input())
    for body in bodies:
        assert peer.publish(link, data(body.encode())) == Accepted()


class Reader:
    """What a reader was given, and the errors that it was told."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.errors: list[Exception] = []
        self.sequences: list[int] = []

    async def on_event(self, _context: Any, event: Any) -> None:
        if event is not None:
            self.bodies.append(event.body_as_str())
            self.sequences.append(event.sequence_number)

    async def on_error(self, _context: Any, error: Exception) -> None:
        self.errors.append(error)

    async def until(self, *bodies: str, seconds: float = 60) -> None:
        """Waits until exactly these have come, in this order."""
        await wait_until_async(
            lambda: len(self.bodies) >= len(bodies),
            seconds,
            f"{len(bodies)} events",
            lambda: (self.bodies, self.errors),
        )
        assert self.bodies == [*bodies]


@contextlib.asynccontextmanager
async def reading(place: Place, **options: Any) -> AsyncIterator[Reader]:
    """Reads partition 0 from its beginning until the block ends."""
    reader = Reader()
    client = EventHubConsumerClient.from_connection_string(
        place.server.connection_string,
        GROUP,
        eventhub_name=place.hub,
        load_balancing_interval=0.2,  # which is also how soon it notices that it is closed
        **{**RETRIES, **options},
    )
    receiving = asyncio.create_task(
        client.receive(
            reader.on_event,
            on_error=reader.on_error,
            partition_id="0",
            starting_position="-1",
            max_wait_time=0.2,
        )
    )
    try:
        yield reader
    finally:
        await client.close()
        await asyncio.wait_for(receiving, 60)
