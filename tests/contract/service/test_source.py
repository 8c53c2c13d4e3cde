"""The source contract, against the real service: what every transport promises there too."""

from __future__ import annotations

import time
import uuid

import pytest
from azure.eventhub import EventData

from contract.service.place import ServicePlace, events_from, failure_of
from tidegate.model import Position
from tidegate.ports import SourceError, StolenError
from tidegate.sources.start import Start

pytestmark = pytest.mark.slow

FIRST = "0"


def numbered(count: int) -> tuple[list[EventData], list[str]]:
    """Events of this test alone, and what they say."""
    run = uuid.uuid4().hex
    bodies = [f"{run} {number}" for number in range(count)]
    return [EventData(body) for body in bodies], bodies


def epoch_now() -> int:
    """Higher than any epoch that an earlier run read with."""
    return int(time.time() * 1000)


async def test_it_names_the_partitions_that_the_sdk_names(place: ServicePlace) -> None:
    assert list(await place.source().partitions()) == place.partition_ids()


async def test_all_events_come_once_in_order_and_behind_each_position(place: ServicePlace) -> None:
    begin = await place.end(FIRST)
    events, bodies = numbered(500)
    place.send(events, partition_id=FIRST)
    reader = await place.opened(FIRST, begin, epoch_now())
    found = await events_from(reader, 500)
    assert [event.body_as_str() for event in found] == bodies
    assert [event.position.sequence - begin.sequence for event in found] == list(range(1, 501))
    again = await place.opened(FIRST, found[399].position, epoch_now())
    assert [event.body_as_str() for event in await events_from(again, 100)] == bodies[400:]


async def test_a_position_may_be_a_sequence_number_alone(place: ServicePlace) -> None:
    begin = await place.end(FIRST)
    events, bodies = numbered(5)
    place.send(events, partition_id=FIRST)
    position = Position(sequence=begin.sequence + 3)
    reader = await place.opened(FIRST, position, epoch_now())
    assert [event.body_as_str() for event in await events_from(reader, 2)] == bodies[3:]


async def test_an_event_says_all_that_its_sender_and_the_service_said(place: ServicePlace) -> None:
    starts = {name: await place.end(name) for name in place.partition_ids()}
    event = EventData('{"open": true}')
    event.properties = {"kind": "door", "count": 3}
    event.message_id = "id-1"
    before = time.time() - 60
    place.send([event], partition_key="home-1")
    # The service chose the partition by the key.
    ends = {name: await place.end(name) for name in starts}
    (partition,) = [name for name in starts if ends[name] != starts[name]]
    reader = await place.opened(partition, starts[partition], epoch_now())
    (got,) = await events_from(reader, 1)
    assert got.body_as_json() == {"open": True}
    assert got.partition_key == b"home-1"
    assert got.properties == {b"kind": b"door", b"count": 3}
    assert got.message_id == "id-1"
    assert got.position == ends[partition]
    assert before < got.enqueued_at < time.time() + 60


async def test_an_event_larger_than_a_frame_comes_whole(place: ServicePlace) -> None:
    begin = await place.end(FIRST)
    body = bytes(range(256)) * 800
    place.send([EventData(body)], partition_id=FIRST)
    reader = await place.opened(FIRST, begin, epoch_now())
    (got,) = await events_from(reader, 1)
    assert got.content == body


async def test_a_time_is_behind_the_last_event_before_it(place: ServicePlace) -> None:
    begin = await place.end(FIRST)
    (early, late), bodies = numbered(2)
    # Two clients, one after the other: there is more than a moment between the two.
    place.send([early], partition_id=FIRST)
    place.send([late], partition_id=FIRST)
    reader = await place.opened(FIRST, begin, epoch_now())
    first, second = await events_from(reader, 2)
    assert first.enqueued_at < second.enqueued_at
    # While somebody reads with an epoch, nobody may look without one.
    await reader.close()
    position = await place.source(Start("time", at=second.enqueued_at)).resolve_start(FIRST)
    assert position == first.position
    again = await place.opened(FIRST, position, epoch_now())
    (found,) = await events_from(again, 1)
    assert found.body_as_str() == bodies[1]


async def test_a_higher_epoch_takes_the_partition_and_a_lower_is_refused(
    place: ServicePlace,
) -> None:
    begin, epoch = await place.end(FIRST), epoch_now()
    owner = await place.opened(FIRST, begin, epoch)
    taker = await place.opened(FIRST, begin, epoch + 2)
    events, bodies = numbered(1)
    place.send(events, partition_id=FIRST)
    assert [event.body_as_str() for event in await events_from(taker, 1)] == bodies
    assert isinstance(await failure_of(owner), StolenError)
    late = place.source().reader(FIRST, begin, epoch + 1)
    try:
        assert isinstance(await failure_of(late), StolenError)
    finally:
        await late.close()


async def test_the_end_of_a_partition_is_told_with_its_time(place: ServicePlace) -> None:
    before = await place.source().end(FIRST)
    events, _ = numbered(3)
    place.send(events, partition_id=FIRST)
    after = await place.source().end(FIRST)
    assert after.sequence == before.sequence + 3
    assert after.enqueued_at is not None
    assert abs(after.enqueued_at - time.time()) < 120


async def test_a_wrong_key_is_fatal_and_never_shown(place: ServicePlace) -> None:
    *parts, hub = place.connection_string.split(";SharedAccessKey=")[0], f"EntityPath={place.hub}"
    wrong = ";".join([*parts, "SharedAccessKey=d3Jvbmc=", hub])
    if "UseDevelopmentEmulator" in place.connection_string:
        pytest.skip("a hub that stands in for the service lets every key in unless it is told")
    with pytest.raises(SourceError) as raised:
        await place.source(text=wrong).partitions()
    assert raised.value.is_fatal
    assert "d3Jvbmc" not in str(raised.value)


async def test_a_hub_that_does_not_exist_is_named(place: ServicePlace) -> None:
    text = place.connection_string.replace(f"EntityPath={place.hub}", "EntityPath=no-such-hub")
    with pytest.raises(SourceError, match="no-such-hub"):
        await place.source(text=text, hub="no-such-hub").partitions()
