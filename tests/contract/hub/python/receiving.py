"""Scenarios of the Python clients: who may read, and how soon an event is there."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack

from azure.eventhub import EventData, TransportType

from contract.hub.clients import (
    Reading,
    condition_of,
    data_of,
    error_of,
    events_of,
    refusal_of,
    texts,
)
from contract.hub.python.stage import Stage
from support.wait import wait_until_async

IDLE_SECONDS = 1.0
PROMPT_SECONDS = 1.0
QUOTA = 5


async def groups_are_independent(stage: Stage) -> None:
    await stage.client.send(texts(5), partition_id="0")
    bodies = []
    for group in ("audit", "$Default"):
        async with stage.client.read(Reading(group=group)) as reader:
            await events_of(reader, 5)
            bodies.append(reader.heard.bodies())
    assert bodies == [[f"event-{number}" for number in range(5)]] * 2


async def idle_reader_hears_promptly(stage: Stage) -> None:
    """The idle time is real: a reader that has long had nothing is what this is about."""
    async with stage.client.read(Reading()) as reader:
        await stage.client.send(texts(1), partition_id="0")
        await events_of(reader, 1)
        idle_until = time.monotonic() + IDLE_SECONDS
        await wait_until_async(
            lambda: time.monotonic() > idle_until or len(reader.heard.events) > 1, 5, "idle time"
        )
        assert len(reader.heard.events) == 1
        await stage.client.send([EventData("now")], partition_id="0")
        await events_of(reader, 2, seconds=PROMPT_SECONDS)
        assert reader.heard.bodies() == ["event-0", "now"]


async def _stolen(stage: Stage, first_level: int, second_level: int) -> None:
    await stage.client.send(texts(3), partition_id="0")
    async with stage.client.read(Reading(owner_level=first_level)) as first:
        await events_of(first, 3)
        async with stage.client.read(Reading(owner_level=second_level)) as second:
            await events_of(second, 3)
            error = await error_of(first)
    assert condition_of(error) == "link:stolen"
    assert f"with higher epoch of '{second_level}'" in str(error)


async def higher_owner_level_steals(stage: Stage) -> None:
    await _stolen(stage, 1, 2)


async def equal_owner_level_steals(stage: Stage) -> None:
    await _stolen(stage, 7, 7)


async def _refused_beside_owner(stage: Stage, level: int | None) -> None:
    """The owner of level 2 keeps reading while the other is refused."""
    await stage.client.send(texts(3), partition_id="0")
    async with stage.client.read(Reading(owner_level=2)) as owner:
        await events_of(owner, 3)
        async with stage.client.read(Reading(owner_level=level)) as other:
            error = await error_of(other)
        assert condition_of(error) == "link:stolen"
        assert other.heard.events == []
        await stage.client.send(texts(1, "more"), partition_id="0")
        await events_of(owner, 4)


async def lower_owner_level_is_refused(stage: Stage) -> None:
    await _refused_beside_owner(stage, 1)


async def no_owner_level_is_refused_beside_one(stage: Stage) -> None:
    await _refused_beside_owner(stage, None)


async def sixth_reader_is_over_the_quota(stage: Stage) -> None:
    await stage.client.send(texts(1), partition_id="0")
    async with AsyncExitStack() as readers:
        for _ in range(QUOTA):
            reader = await readers.enter_async_context(stage.client.read(Reading()))
            await events_of(reader, 1)
        async with stage.client.read(Reading(expects_refusal=True)) as sixth:
            error = await refusal_of(sixth)
        assert condition_of(error) == "resource-limit-exceeded"
        assert "5" in str(error)
    async with stage.client.read(Reading()) as reader:
        await events_of(reader, 1)


async def over_websockets(stage: Stage) -> None:
    """The SDK dials port 443 unless a custom endpoint names another."""
    authority = stage.client.connection_string.split("sb://")[1].split(";")[0]
    client = stage.client.on(
        transport_type=TransportType.AmqpOverWebsocket,
        custom_endpoint_address=f"sb://{authority.rstrip('/')}",
    )
    await client.send(texts(50), partition_id="0")
    await client.send([EventData(b"x" * 300_000)], partition_id="0")
    assert await client.partition_ids() == ["0", "1"]
    async with client.read(Reading()) as reader:
        events = await events_of(reader, 51)
    assert reader.heard.bodies()[:50] == [f"event-{number}" for number in range(50)]
    assert data_of(events[-1][1]) == b"x" * 300_000
