"""Scenarios of the Python clients: sending, and where what was sent arrives."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from azure.eventhub import EventData

from contract.hub.clients import Reading, condition_of, data_of, events_of, texts, time_of
from contract.hub.python.stage import Stage
from contract.hub.scenarios import KEY_PARTITIONS
from support.wait import wait_until_async

HUB_LIMIT_BYTES = 1_048_576


async def send_one(stage: Stage) -> None:
    await stage.client.send([EventData(b"hello")], partition_id="0")
    async with stage.client.read(Reading()) as reader:
        [(partition, event)] = await events_of(reader, 1)
    assert partition == "0"
    assert data_of(event) == b"hello"
    assert event.sequence_number == 0
    assert event.offset == "0"
    assert abs(datetime.now(UTC) - time_of(event)) < timedelta(minutes=1)


async def send_many(stage: Stage) -> None:
    await stage.client.send(texts(500), partition_id="1")
    async with stage.client.read(Reading(partition="1")) as reader:
        await events_of(reader, 500)
    assert reader.heard.bodies() == [f"event-{number}" for number in range(500)]
    assert reader.heard.sequences() == {"1": list(range(500))}


async def batch_keeps_its_size_limit(stage: Stage) -> None:
    batch = await stage.client.create_batch(partition_id="0", max_size_in_bytes=4096)
    taken = 0
    with pytest.raises(ValueError, match="size limit"):
        for number in range(1000):
            batch.add(EventData(f"{number:>100}"))
            taken = number + 1
    assert 20 < taken < 40
    assert batch.size_in_bytes <= 4096
    await stage.client.send(batch)
    async with stage.client.read(Reading()) as reader:
        await events_of(reader, taken)
    assert [int(body) for body in reader.heard.bodies()] == list(range(taken))


async def link_tells_the_size_limit(stage: Stage) -> None:
    batch = await stage.client.create_batch()
    assert batch.max_size_in_bytes == HUB_LIMIT_BYTES


async def too_large_is_refused(stage: Stage) -> None:
    large = EventData(b"x" * (HUB_LIMIT_BYTES + 1))
    with pytest.raises(Exception, match=r"(?i)size") as refusal:
        await stage.client.send_event(large, partition_id="0")
    assert condition_of(refusal.value) == "link:message-size-exceeded"
    with pytest.raises(ValueError, match="limit"):
        await stage.client.send([large], partition_id="0")
    await stage.client.send_event(EventData("small"), partition_id="0")
    async with stage.client.read(Reading()) as reader:
        await events_of(reader, 1)
    assert reader.heard.bodies() == ["small"]


async def partition_key_picks_the_partition(stage: Stage) -> None:
    for key in KEY_PARTITIONS:
        await stage.client.send([EventData(key), EventData(key)], partition_key=key)
        await stage.client.send_event(EventData(key), partition_key=key)
    async with stage.client.read(Reading(partition=None)) as reader:
        events = await events_of(reader, 3 * len(KEY_PARTITIONS))
    found = sorted((event.body_as_str(), partition) for partition, event in events)
    assert found == sorted(3 * list(KEY_PARTITIONS.items()))
    keys = [event.partition_key for _, event in events]
    assert keys == [body.encode() for body in reader.heard.bodies()]


async def partition_id_picks_the_partition(stage: Stage) -> None:
    for partition in ("1", "0", "1"):
        await stage.client.send([EventData(f"for {partition}")], partition_id=partition)
    await stage.client.send_event(EventData("for 1"), partition_id="1")
    async with stage.client.read(Reading(partition=None)) as reader:
        events = await events_of(reader, 4)
    assert all(event.body_as_str() == f"for {partition}" for partition, event in events)
    assert sorted(partition for partition, _ in events) == ["0", "1", "1", "1"]
    assert all(event.partition_key is None for _, event in events)


async def events_without_a_key_are_spread(stage: Stage) -> None:
    for event in texts(60):
        await stage.client.send([event])
    async with stage.client.read(Reading(partition=None)) as reader:
        events = await events_of(reader, 60)
    assert {partition for partition, _ in events} == {"0", "1", "2", "3"}


async def large_event(stage: Stage) -> None:
    body = random.Random(900).randbytes(900 * 1024)
    await stage.client.send([EventData(body)], partition_id="0")
    await stage.client.send_event(EventData(body[::-1]), partition_id="0")
    async with stage.client.read(Reading()) as reader:
        [(_, first), (_, second)] = await events_of(reader, 2)
    assert data_of(first) == body
    assert data_of(second) == body[::-1]


async def ten_thousand_in_order(stage: Stage) -> None:
    per_partition = 2500
    async with stage.client.read(Reading(partition=None)) as reader:
        for start in range(0, per_partition, 500):
            for partition in "0123":
                batch = await stage.client.create_batch(partition_id=partition)
                for number in range(start, start + 500):
                    batch.add(EventData(f"{partition}/{number}"))
                await stage.client.send(batch)
        await wait_until_async(
            lambda: len(reader.heard.events) >= 4 * per_partition,
            30,
            "10,000 events",
            detail=lambda: (len(reader.heard.events), reader.heard.errors),
        )
    assert reader.heard.sequences() == {at: list(range(per_partition)) for at in "0123"}
    for partition in "0123":
        bodies = [event.body_as_str() for at, event in reader.heard.events if at == partition]
        assert bodies == [f"{partition}/{number}" for number in range(per_partition)]
