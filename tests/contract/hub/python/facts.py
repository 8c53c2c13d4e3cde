"""Scenarios of the Python clients: what the hub tells about itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contract.hub.clients import Reading, events_of, texts
from contract.hub.python.stage import Stage


async def runtime_metrics(stage: Stage) -> None:
    await stage.client.send(texts(20), partition_id="0")
    async with stage.client.read(Reading(metrics=True)) as reader:
        events = await events_of(reader, 20)
    told = reader.heard.metrics["0"]
    last = events[-1][1]
    assert told["sequence_number"] == 19 == last.sequence_number
    assert told["offset"] == last.offset
    assert told["enqueued_time"] == last.enqueued_time
    assert abs(datetime.now(UTC) - told["retrieval_time"]) < timedelta(minutes=1)


async def hub_properties(stage: Stage) -> None:
    told = await stage.client.hub_properties()
    assert told["eventhub_name"] == stage.hub
    assert told["partition_ids"] == ["0", "1"]
    assert timedelta(0) <= datetime.now(UTC) - told["created_at"] < timedelta(hours=1)


async def partition_ids(stage: Stage) -> None:
    assert await stage.client.partition_ids() == [str(number) for number in range(12)]


async def properties_of_an_empty_partition(stage: Stage) -> None:
    await stage.client.send(texts(1), partition_id="1")
    told = await stage.client.partition_properties("0")
    assert told["eventhub_name"] == stage.hub
    assert told["id"] == "0"
    assert told["is_empty"] is True
    assert told["last_enqueued_sequence_number"] == -1
    assert told["last_enqueued_offset"] == "-1"


async def properties_of_a_partition(stage: Stage) -> None:
    await stage.client.send(texts(15), partition_id="1")
    told = await stage.client.partition_properties("1")
    async with stage.client.read(Reading(partition="1")) as reader:
        events = await events_of(reader, 15)
    last = events[-1][1]
    assert told == {
        "eventhub_name": stage.hub,
        "id": "1",
        "is_empty": False,
        "beginning_sequence_number": 0,
        "last_enqueued_sequence_number": 14,
        "last_enqueued_offset": last.offset,
        "last_enqueued_time_utc": last.enqueued_time,
    }
