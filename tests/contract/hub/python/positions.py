"""Scenarios of the Python clients: where a reader starts."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from azure.eventhub import EventData

from contract.hub.clients import (
    Reading,
    condition_of,
    events_of,
    offset_of,
    refusal_of,
    texts,
    time_of,
)
from contract.hub.python.stage import Stage
from support.wait import comes_true, wait_until_async


async def _ten_events(stage: Stage) -> list[EventData]:
    """Ten events in partition 0, appended in ten calls, as the hub stamped them."""
    for event in texts(10):
        await stage.client.send([event], partition_id="0")
    async with stage.client.read(Reading()) as reader:
        return [event for _, event in await events_of(reader, 10)]


async def _assert_starts_with(stage: Stage, reading: Reading, sequence: int) -> None:
    """The reader gets the events from that sequence number to the last, and no other."""
    async with stage.client.read(reading) as reader:
        await events_of(reader, 10 - sequence)
    assert reader.heard.sequences() == {"0": list(range(sequence, 10))}


async def start_at_earliest(stage: Stage) -> None:
    await _ten_events(stage)
    await _assert_starts_with(stage, Reading(start="-1"), 0)


async def start_at_latest(stage: Stage) -> None:
    """Events are sent until one arrives: nobody can see when a reader has attached."""
    await stage.client.send(texts(10, "old"), partition_id="0")
    async with stage.client.read(Reading(start="@latest")) as reader:
        for event in texts(200, "new"):
            await stage.client.send([event], partition_id="0")
            if await comes_true(lambda: reader.heard.events or reader.heard.errors, 0.1):
                break
        bodies = [event.body_as_str() for _, event in await events_of(reader, 1)]
    assert all(body.startswith("new-") for body in bodies)


async def start_after_offset(stage: Stage) -> None:
    events = await _ten_events(stage)
    await _assert_starts_with(stage, Reading(start=offset_of(events[6])), 7)


async def start_at_offset(stage: Stage) -> None:
    events = await _ten_events(stage)
    await _assert_starts_with(stage, Reading(start=offset_of(events[6]), inclusive=True), 6)


async def start_after_sequence_number(stage: Stage) -> None:
    await _ten_events(stage)
    await _assert_starts_with(stage, Reading(start=3), 4)


async def start_at_sequence_number(stage: Stage) -> None:
    await _ten_events(stage)
    await _assert_starts_with(stage, Reading(start=3, inclusive=True), 3)


async def start_after_enqueued_time(stage: Stage) -> None:
    """The eleventh event is sent only when the hub's clock has passed the tenth's millisecond."""
    events = await _ten_events(stage)
    last = time_of(events[-1])

    async def _later() -> datetime:
        await stage.client.send([EventData("later")], partition_id="0")
        properties = await stage.client.partition_properties("0")
        return cast("datetime", properties["last_enqueued_time_utc"])

    sent = 1
    while await _later() <= last:
        sent += 1
    async with stage.client.read(Reading(start=last)) as reader:
        await wait_until_async(
            lambda: reader.heard.errors or 9 + sent in reader.heard.sequences().get("0", []),
            20,
            "the event that was sent later",
        )
    assert reader.heard.errors == []
    assert all(time_of(event) > last for _, event in reader.heard.events)


async def start_at_enqueued_time(stage: Stage) -> None:
    """Events before the seventh may share its millisecond: those are to come too."""
    times = [time_of(event) for event in await _ten_events(stage)]
    first = times.index(times[6])
    await _assert_starts_with(stage, Reading(start=times[6], inclusive=True), first)


async def offset_beyond_the_end_is_refused(stage: Stage) -> None:
    await _ten_events(stage)
    async with stage.client.read(Reading(start="99999999", expects_refusal=True)) as reader:
        error = await refusal_of(reader)
    assert condition_of(error) == "argument-error"
    assert "The supplied offset '99999999' is invalid" in str(error)


async def sequence_number_beyond_the_end_is_refused(stage: Stage) -> None:
    await _ten_events(stage)
    async with stage.client.read(Reading(start=5000, expects_refusal=True)) as reader:
        error = await refusal_of(reader)
    assert condition_of(error) == "argument-error"
    assert "The supplied sequence number '5000' is invalid" in str(error)
