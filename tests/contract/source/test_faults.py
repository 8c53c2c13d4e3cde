"""What goes wrong at the hub while a source reads: it resumes, or says the right thing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contract.source.hubs import SourceWorld, bodies_from, events_from, failure_of, refusal_of
from tidegate.model import Position
from tidegate.ports import Reader, SourceError, StolenError, lost_position
from tidegate.sources.eventhubs import NativeSettings

EVENTS = 400


def numbered(count: int, first: int = 0) -> list[bytes]:
    return [b"event %d" % number for number in range(first, first + count)]


async def reads_on_after(world: SourceWorld, kind: str, **fields: Any) -> None:
    """Half of the events, then the fault, then the other half: each once, in order."""
    half = EVENTS // 2
    world.send(numbered(half))
    reader = world.reader()
    await reader.open()
    got = await bodies_from(reader, half)
    world.inject(kind, **fields)
    world.send(numbered(half, first=half))
    got += await bodies_from(reader, half)
    assert got == numbered(EVENTS)


async def test_a_reader_reads_on_after_its_link_was_detached(world: SourceWorld) -> None:
    await reads_on_after(world, "detach_link")


async def test_a_reader_reads_on_after_the_connection_was_cut(world: SourceWorld) -> None:
    await reads_on_after(world, "drop_connection")


async def test_a_reader_reads_on_after_the_service_failed_inside(world: SourceWorld) -> None:
    await reads_on_after(
        world, "detach_link", condition="amqp:internal-error", description="please retry"
    )


async def test_a_reader_reads_on_after_the_hub_was_changed(world: SourceWorld) -> None:
    await reads_on_after(
        world, "detach_link", condition="com.microsoft:entity-updated", description="Entity updated"
    )


async def test_a_slow_service_is_waited_for(world: SourceWorld) -> None:
    await reads_on_after(world, "delay", times=3, seconds=0.5)


async def test_a_reader_opens_once_a_busy_service_lets_it(native: SourceWorld) -> None:
    native.send(numbered(3))
    native.inject("server_busy", times=1, wait_seconds=1, on="attach")
    reader = native.reader()
    await reader.open()
    assert await bodies_from(reader, 3) == numbered(3)


async def test_a_reader_opens_though_the_first_connections_are_cut(native: SourceWorld) -> None:
    native.send(numbered(3))
    native.inject("drop_connection", times=3, on="attach")
    reader = native.reader()
    await reader.open()
    assert await bodies_from(reader, 3) == numbered(3)


# --- epochs


async def test_a_higher_epoch_takes_the_partition_and_the_error_names_it(
    world: SourceWorld,
) -> None:
    first, second = world.reader(epoch=3), world.reader(epoch=7)
    await first.open()
    await second.open()
    error = await failure_of(first.receive)
    assert isinstance(error, StolenError)
    assert error.level == 7
    world.send([b"mine"])
    assert await bodies_from(second, 1) == [b"mine"]


async def test_a_lower_epoch_is_refused_and_the_error_names_the_higher(world: SourceWorld) -> None:
    owner, late = world.reader(epoch=7), world.reader(epoch=3)
    await owner.open()
    error = await refusal_of(late)
    assert isinstance(error, StolenError)
    assert error.level == 7
    world.send([b"mine"])
    assert await bodies_from(owner, 1) == [b"mine"]


async def test_a_reader_that_was_closed_makes_way(world: SourceWorld) -> None:
    first = world.reader(epoch=3)
    await first.open()
    await first.close()
    world.send(numbered(2))
    second = world.reader(epoch=3)
    await second.open()
    assert await bodies_from(second, 2) == numbered(2)


async def test_what_waits_is_not_given_any_more_once_the_partition_is_stolen(
    native: SourceWorld,
) -> None:
    native.send(numbered(10))
    first = native.reader(epoch=1)
    await first.open()
    second = native.reader(epoch=2)
    await second.open()
    assert await bodies_from(second, 10) == numbered(10)
    error = await failure_of(first.receive)
    assert isinstance(error, StolenError)


# --- what does not come right by itself


async def fatal(reader: Reader) -> str:
    error = await refusal_of(reader)
    assert isinstance(error, SourceError), repr(error)
    assert error.is_fatal
    return str(error)


async def test_a_hub_that_does_not_exist_is_named(world: SourceWorld) -> None:
    said = await fatal(world.reader(source=world.source(hub="no-such-hub")))
    assert "no-such-hub" in said


# The SDK says nothing of the next two: its receivers go on as if the partition were quiet.


async def test_a_group_that_does_not_exist_is_named(native: SourceWorld) -> None:
    assert "nobody" in await fatal(native.reader(source=native.source(group="nobody")))


async def test_a_position_beyond_the_end_says_what_to_do(native: SourceWorld) -> None:
    native.send(numbered(3))
    said = lost_position(await fatal(native.reader(position=Position("999999", 999))))
    assert said.startswith(f"hub '{native.hub}', group '$default', partition 0: ")
    assert "The supplied offset '999999' is invalid" in said
    assert "rewind the partition, or delete its checkpoint" in said
    assert "TrackingId" not in said


async def test_a_partition_that_does_not_exist_is_fatal(world: SourceWorld) -> None:
    await fatal(world.reader("17"))


async def test_what_is_refused_is_told_by_open(native: SourceWorld) -> None:
    with pytest.raises(SourceError, match="no-such-hub"):
        await native.reader(source=native.source(hub="no-such-hub")).open()


async def test_a_hub_that_does_not_exist_has_no_partitions(world: SourceWorld) -> None:
    error = await failure_of(world.source(hub="no-such-hub").partitions)
    assert isinstance(error, SourceError)


async def test_a_refused_token_is_told_and_the_next_try_may_be_taken(native: SourceWorld) -> None:
    fault = native.inject("refuse_token")
    source = native.source()
    error = await failure_of(source.partitions)
    assert isinstance(error, SourceError)
    assert error.is_fatal
    assert "the token was refused" in str(error)
    assert "SharedAccessKey" not in str(error)
    native.server.end_fault(fault)
    assert await source.partitions() == ("0", "1")


@pytest.mark.slow
async def test_the_sdk_says_of_a_refused_token_that_it_is_fatal(hub_server: Any) -> None:
    world = SourceWorld(hub_server, "sdk")
    fault = world.inject("refuse_token")
    try:
        error = await failure_of(world.source().partitions)
        assert isinstance(error, SourceError)
        assert error.is_fatal
    finally:
        world.server.end_fault(fault)
        await world.close()


async def test_a_service_that_stays_away_is_told_after_the_patience_and_found_again(
    native: SourceWorld,
) -> None:
    source = native.source(settings=NativeSettings(patience_s=1.0, timeout_s=10.0, quiet_s=0.2))
    native.send(numbered(2))
    reader = native.reader(source=source)
    await reader.open()
    assert await bodies_from(reader, 2) == numbered(2)
    fault = native.inject("drop_connection", on="attach", for_seconds=600)
    native.inject("drop_connection")
    error = await failure_of(reader.receive)
    assert isinstance(error, SourceError)
    assert not error.is_fatal
    native.server.end_fault(fault)
    native.send(numbered(2, first=2))
    assert await bodies_from(reader, 2) == numbered(2, first=2)


async def test_retention_that_passes_a_reader_moves_it_to_what_is_left(native: SourceWorld) -> None:
    native.send(numbered(20))
    native.inject("expire_retention", before_sequence=15)
    reader = native.reader()
    await reader.open()
    events = await events_from(reader, 5)
    assert [event.sequence_number for event in events] == list(range(15, 20))


async def test_receiving_may_be_given_up_at_any_moment(native: SourceWorld) -> None:
    reader = native.reader()
    await reader.open()
    for _ in range(5):
        task = asyncio.create_task(reader.receive())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    native.send(numbered(3))
    assert await bodies_from(reader, 3) == numbered(3)
