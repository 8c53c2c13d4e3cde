"""What every Event Hubs source promises of the events that it gives."""

from __future__ import annotations

import time

import pytest

from contract.source.hubs import SourceWorld, bodies_from, events_from
from support.hub_messages import annotated, data
from tidegate.model import BEGINNING, Position
from tidegate.sources.start import Start
from tidegate_amqp.encode import encode, encode_described, encode_list, encode_map, encode_string
from tidegate_amqp.sections import APPLICATION_PROPERTIES, PROPERTIES

MORE_THAN_A_FRAME = 200_000


def numbered(count: int, first: int = 0) -> list[bytes]:
    return [b"event %d" % number for number in range(first, first + count)]


async def test_all_events_come_once_and_in_order(world: SourceWorld) -> None:
    world.send(numbered(3_000))
    reader = world.reader()
    await reader.open()
    assert await bodies_from(reader, 3_000) == numbered(3_000)
    assert list(await reader.receive()) == []


async def test_events_that_are_sent_later_come_too(world: SourceWorld) -> None:
    reader = world.reader()
    await reader.open()
    world.send(numbered(2))
    assert await bodies_from(reader, 2) == numbered(2)
    world.send(numbered(1, first=2))
    assert await bodies_from(reader, 1) == numbered(1, first=2)


async def test_positions_grow_by_one_and_reading_goes_on_behind_each(world: SourceWorld) -> None:
    world.send(numbered(10))
    reader = world.reader()
    await reader.open()
    events = await events_from(reader, 10)
    assert [event.position.sequence for event in events] == list(range(10))
    again = world.reader(position=events[6].position, epoch=2)
    await again.open()
    assert await bodies_from(again, 3) == numbered(3, first=7)


async def test_a_position_may_be_a_sequence_number_alone(world: SourceWorld) -> None:
    world.send(numbered(5))
    reader = world.reader(position=Position(sequence=2))
    await reader.open()
    assert await bodies_from(reader, 2) == numbered(2, first=3)


async def test_an_event_larger_than_a_frame_comes_whole(world: SourceWorld) -> None:
    large = bytes(range(256)) * (MORE_THAN_A_FRAME // 256)
    world.send([b"before", large, b"after"])
    reader = world.reader()
    await reader.open()
    assert await bodies_from(reader, 3) == [b"before", large, b"after"]


async def test_an_event_says_all_that_its_sender_and_the_service_said(world: SourceWorld) -> None:
    properties = encode_list([encode_string("id-1"), encode("user"), encode(None)])
    message = (
        annotated({"x-opt-partition-key": "home-1"})
        + encode_described(PROPERTIES, properties)
        + encode_described(APPLICATION_PROPERTIES, encode_map({"kind": "door", "count": 3}))
        + data(b'{"open": true}')
    )
    before = time.time() - 1
    world.send_messages([message])
    reader = world.reader()
    await reader.open()
    (event,) = await events_from(reader, 1)
    assert (event.sequence_number, event.offset) == (0, "0")
    assert event.partition_key == b"home-1"
    assert event.properties == {b"kind": b"door", b"count": 3}
    assert event.system_properties[b"message-id"] == b"id-1"
    assert event.system_properties[b"x-opt-sequence-number"] == 0
    assert event.message_id == "id-1"
    assert b"".join(event.body) == event.content == b'{"open": true}'
    assert event.body_as_json() == {"open": True}
    assert before < event.enqueued_at < time.time() + 1
    assert event.enqueued_time.timestamp() == event.enqueued_at


async def test_a_quiet_partition_gives_no_events_and_no_error(world: SourceWorld) -> None:
    reader = world.reader()
    await reader.open()
    begun = time.monotonic()
    assert list(await reader.receive()) == []
    assert list(await reader.receive()) == []
    assert time.monotonic() - begun < 30


async def test_partitions_are_read_at_the_same_time_by_one_source(world: SourceWorld) -> None:
    source = world.source()
    readers = [world.reader(partition, source=source) for partition in ("0", "1")]
    for reader in readers:
        await reader.open()
    world.send([b"one"], "1")
    world.send([b"zero"], "0")
    assert [await bodies_from(reader, 1) for reader in readers] == [[b"zero"], [b"one"]]


async def test_groups_read_the_same_events(world: SourceWorld) -> None:
    world.send(numbered(2))
    for group in ("$default", "analytics"):
        reader = world.reader(source=world.source(group=group))
        await reader.open()
        assert await bodies_from(reader, 2) == numbered(2)


async def test_a_partition_that_is_added_while_running_is_named_and_read(
    world: SourceWorld,
) -> None:
    source = world.source()
    assert await source.partitions() == ("0", "1")
    reader = world.reader(source=source)
    await reader.open()
    world.server.grow_hub(world.hub, 3)
    assert await source.partitions() == ("0", "1", "2")
    added = world.reader("2", source=source)
    await added.open()
    world.send([b"new"], "2")
    assert await bodies_from(added, 1) == [b"new"]
    world.send([b"old"])
    assert await bodies_from(reader, 1) == [b"old"]


# --- where a partition without a checkpoint begins


async def test_latest_is_behind_the_last_event(world: SourceWorld) -> None:
    world.send(numbered(4))
    source = world.source(Start("latest"))
    position = await source.resolve_start("0")
    assert position.sequence == 3
    assert (await source.end("0")).offset == position.offset
    reader = world.reader(position=position, source=source)
    await reader.open()
    world.send([b"next"])
    assert await bodies_from(reader, 1) == [b"next"]


@pytest.mark.parametrize("kind", ["latest", "earliest"])
async def test_an_empty_partition_begins_at_the_beginning(world: SourceWorld, kind: str) -> None:
    assert await world.source(Start(kind)).resolve_start("0") == BEGINNING


async def test_earliest_is_the_beginning(world: SourceWorld) -> None:
    world.send(numbered(4))
    assert await world.source(Start("earliest")).resolve_start("0") == BEGINNING


async def test_a_time_is_behind_the_last_event_before_it(world: SourceWorld) -> None:
    world.send(numbered(3))
    reader = world.reader()
    await reader.open()
    early = await events_from(reader, 3)
    while int(time.time() * 1000) <= int(early[-1].enqueued_at * 1000):
        assert list(await reader.receive()) == []
    world.send(numbered(2, first=3))
    late = await events_from(reader, 2)
    await reader.close()
    found = await world.source(Start("time", at=late[0].enqueued_at)).resolve_start("0")
    assert found == early[-1].position


async def test_a_time_before_all_events_is_the_beginning(world: SourceWorld) -> None:
    world.send(numbered(3))
    found = await world.source(Start("time", at=time.time() - 3_600)).resolve_start("0")
    assert found == BEGINNING


async def test_a_time_after_all_events_is_the_end(world: SourceWorld) -> None:
    world.send(numbered(3))
    found = await world.source(Start("time", at=time.time() + 3_600)).resolve_start("0")
    assert found.sequence == 2


async def test_a_sequence_number_to_start_behind_gets_its_offset(world: SourceWorld) -> None:
    world.send(numbered(5))
    reader = world.reader()
    await reader.open()
    events = await events_from(reader, 5)
    await reader.close()
    start = Start("position", position=Position(sequence=2))
    assert await world.source(start).resolve_start("0") == events[2].position


async def test_the_end_of_a_partition_is_told_with_its_time(world: SourceWorld) -> None:
    source = world.source()
    empty = await source.end("0")
    assert (empty.sequence, empty.offset, empty.enqueued_at) == (-1, "-1", None)
    before = time.time() - 1
    world.send(numbered(7))
    end = await source.end("0")
    assert end.sequence == 6
    assert end.enqueued_at is not None
    assert before < end.enqueued_at < time.time() + 1
    assert end.begins_at == 0
    world.inject("expire_retention", before_sequence=4)
    assert (await source.end("0")).begins_at == 4
