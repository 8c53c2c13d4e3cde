"""What the source of a Cosmos container does when the service does not do its part."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from azure.cosmos.aio import ContainerProxy

from contract.source_cosmos.world import DATABASE, World, changes_from, numbers_of, until_quiet
from tidegate.model import Position
from tidegate.ports import SourceError, lost_position
from tidegate.sources.cosmos.places import parsed

WRONG_KEY = "d3Jvbmc="


async def failure(world: World, *, key: str = "", container: str = "") -> SourceError:
    with pytest.raises(SourceError) as raised:
        await world.source(key=key, container=container).partitions()
    return raised.value


async def test_a_wrong_key_is_said_with_what_to_do_and_without_the_key(world: World) -> None:
    error = await failure(world, key=WRONG_KEY)
    assert error.is_fatal
    assert "does not let us in (401)" in str(error) and WRONG_KEY not in str(error)


async def test_a_missing_container_is_said_by_its_name(world: World) -> None:
    error = await failure(world, container="nowhere")
    assert error.is_fatal
    assert "container 'nowhere' of database 'home' is not there (404" in str(error)


async def test_a_position_of_a_container_that_was_made_anew_is_refused(world: World) -> None:
    await world.write(range(4))
    change = (await until_quiet(await world.reader()))[1]
    place = parsed(change.position.offset)
    assert place is not None
    old = replace(place, rid="AAAAAAAAAAA=").position
    with pytest.raises(SourceError, match="another container of this name") as raised:
        await world.reader("-ff", old)
    assert raised.value.is_fatal


async def test_a_token_that_the_service_does_not_know_is_told_as_a_lost_position(
    world: World,
) -> None:
    await world.write(range(4))
    change = (await until_quiet(await world.reader()))[1]
    place = parsed(change.position.offset)
    assert place is not None
    feeds = tuple(replace(feed, token='"987654321"') for feed in place.feeds)
    lost = replace(place, feeds=feeds).position
    source = world.source()
    for ask in ((await world.reader("-ff", lost, source)).receive(), source.reach("-ff", lost)):
        with pytest.raises(SourceError) as raised:
            await ask
        assert raised.value.is_fatal
        said = lost_position(str(raised.value))
        assert "does not know the stored position any more" in said
        assert f"of container '{world.name}'" in said and "Rewind" in said


async def test_a_refusal_that_is_not_for_the_position_is_not_told_as_one(world: World) -> None:
    await world.write(range(4))
    change = (await until_quiet(await world.reader()))[1]
    world.inject("refuse", operations=["feed"], status=400, times=3)
    reader = await world.reader("-ff", change.position)
    with pytest.raises(SourceError, match="does not take the request") as raised:
        await reader.receive()
    assert not lost_position(str(raised.value))


async def test_an_offset_of_something_else_is_refused(world: World) -> None:
    with pytest.raises(SourceError, match="none of a change feed"):
        await world.reader("-ff", Position("4096", 12))


async def test_throttling_is_waited_out_for_as_long_as_the_service_asks(world: World) -> None:
    await world.write(range(6))
    world.inject("throttle", operations=["feed"], times=3, retry_after_ms=200)
    reader = await world.reader()
    begun = time.monotonic()
    assert sorted(numbers_of(await changes_from(reader, 6))) == list(range(6))
    assert time.monotonic() - begun >= 0.6


async def test_throttling_without_an_end_is_said_once_patience_is_over(world: World) -> None:
    await world.write(range(2))
    world.inject("throttle", operations=["feed"], retry_after_ms=50)
    reader = await world.reader(patience_s=0.5)
    with pytest.raises(SourceError, match="has no request units left for us") as raised:
        await changes_from(reader, 1)
    assert not raised.value.is_fatal


async def test_an_answer_that_hangs_is_given_up_and_asked_for_again(world: World) -> None:
    await world.write(range(4))
    world.inject("delay", operations=["feed"], times=1, seconds=20)
    reader = await world.reader(timeout_s=1.0)
    begun = time.monotonic()
    assert sorted(numbers_of(await changes_from(reader, 4))) == [0, 1, 2, 3]
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("kind", ["reset", "cut_reply", "lose_reply"])
async def test_a_connection_that_breaks_loses_nothing_and_doubles_nothing(
    world: World, kind: str
) -> None:
    await world.write(range(30))
    reader = await world.reader(page_items=3)
    found = await changes_from(reader, 3)
    world.inject(kind, operations=["feed"], times=6)
    found += await until_quiet(reader)
    assert sorted(numbers_of(found)) == list(range(30))


@pytest.mark.parametrize(
    "refusal",
    [(410, 1002), (410, 1007), (404, 1002), (408, 0), (449, 0), (500, 0), (503, 0)],
    ids=lambda refusal: f"{refusal[0]}-{refusal[1]}",
)
@pytest.mark.parametrize("is_warm", [True, False])
async def test_a_refusal_that_passes_loses_nothing_and_doubles_nothing(
    world: World, refusal: tuple[int, int], is_warm: bool
) -> None:
    """At the first request too, when the SDK has no session yet."""
    await world.write(range(30))
    reader = await world.reader(page_items=3)
    found = await changes_from(reader, 3) if is_warm else []
    status, substatus = refusal
    fault = world.inject("refuse", operations=["feed"], times=5, status=status, substatus=substatus)
    found += await until_quiet(reader)
    assert not world.server.fault_stands(fault)
    assert sorted(numbers_of(found)) == list(range(30))
    assert [each.lsn for each in found[:3]] == sorted(each.lsn for each in found[:3])


async def test_a_range_that_is_away_while_it_splits_loses_nothing_and_doubles_nothing(
    world: World,
) -> None:
    source = world.source(page_items=3, timeout_s=0.5)
    first, _ = await source.partitions()
    reader = await world.reader(first, source=source)
    await world.write(range(40))
    found = await changes_from(reader, 3)
    fault = world.inject("refuse", operations=["feed"], status=410, substatus=1007)
    for _ in range(3):
        assert list(await reader.receive()) == []
    world.split()
    assert list(await reader.receive()) == []
    await world.write(range(40, 80))
    world.server.end_fault(fault)
    found += await until_quiet(reader)
    expected = numbers_of(await until_quiet(await world.reader(first)))
    assert sorted(numbers_of(found)) == sorted(expected)


async def test_a_session_that_stays_away_is_said_as_what_it_is(world: World) -> None:
    await world.write(range(2))
    world.inject("refuse", operations=["feed"], status=404, substatus=1002)
    reader = await world.reader(patience_s=0.5)
    with pytest.raises(SourceError, match=r"has not come as far .* \(404/1002\)") as raised:
        await changes_from(reader, 1)
    assert not raised.value.is_fatal


async def test_an_error_of_the_sdks_own_code_is_logged_and_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await world.write(range(6))
    reader = await world.reader(page_items=2)
    found = await changes_from(reader, 2)
    ask, failures = ContainerProxy.query_items_change_feed, iter([True, True])

    def broken(*args: Any, **options: Any) -> Any:
        if next(failures, False):
            raise KeyError("its own")
        return ask(*args, **options)

    monkeypatch.setattr(ContainerProxy, "query_items_change_feed", broken)
    found += await until_quiet(reader)
    assert sorted(numbers_of(found)) == list(range(6))
    assert caplog.text.count("the SDK failed by itself with KeyError") == 2
    failures = iter([True])
    with pytest.raises(SourceError, match=r"failed by itself \(KeyError\)") as raised:
        await world.source().end_behind("-ff", None)
    assert not raised.value.is_fatal


async def test_receive_comes_back_now_and_then_while_nothing_comes(world: World) -> None:
    reader = await world.reader(poll_s=60.0, quiet_s=0.2)
    await reader.receive()
    async with asyncio.timeout(5):
        for _ in range(5):
            assert list(await reader.receive()) == []


async def test_a_quiet_partition_is_asked_once_a_poll_interval(world: World) -> None:
    reader = await world.reader("-ff", poll_s=0.4)
    await until_quiet(reader)

    def asked() -> int:
        return world.server.requests().get("feed 304", 0)

    before, begun = asked(), time.monotonic()
    async with asyncio.timeout(30):
        while asked() - before < 10:
            assert list(await reader.receive()) == []
    # Two ranges, once an interval each; what had begun before, and an interval that has begun.
    assert asked() - before <= 2 * ((time.monotonic() - begun) / 0.4 + 2)
    assert time.monotonic() - begun > 3 * 0.4


async def test_a_budget_bounds_what_is_spent_and_nothing_is_left_out(world: World) -> None:
    await world.write(range(40))
    free = world.source(page_items=2)
    await until_quiet(await world.reader(source=free))
    cost = free.budget.spent
    source = world.source(page_items=2, units_per_s=cost / 2)
    reader = await world.reader(source=source)
    spent, begun = source.budget.spent, time.monotonic()
    found = await until_quiet(reader)
    took = time.monotonic() - begun
    assert sorted(numbers_of(found)) == list(range(40))
    assert source.budget.spent - spent <= cost / 2 * (took + 1.0) + 5
    assert took > 0.5, "it was not bounded"


async def test_the_charge_that_is_counted_is_the_one_of_the_service(world: World) -> None:
    await world.write(range(20))
    source = world.source(page_items=3)
    readers = [await world.reader(each, source=source) for each in await source.partitions()]
    before, spent = world.server.charge(DATABASE, world.name), source.budget.spent
    for reader in readers:
        await until_quiet(reader)
    cost = world.server.charge(DATABASE, world.name) - before
    assert cost > 5
    assert source.budget.spent - spent == pytest.approx(cost)


@pytest.mark.parametrize("status", [500, 503, 408, 404])
async def test_what_failed_is_counted_too_and_so_is_a_look_at_the_ranges(
    world: World, status: int
) -> None:
    source = world.source()
    reader = await world.reader(source=source)
    await until_quiet(reader)
    before, spent = world.server.charge(DATABASE, world.name), source.budget.spent
    fault = world.inject("refuse", operations=["feed"], times=8, status=status, substatus=1002)
    await until_quiet(reader)
    while world.server.fault_stands(fault):
        await reader.receive()
    for _ in range(3):
        await source.partitions()
    await source.resolve_start("-ff")
    cost = world.server.charge(DATABASE, world.name) - before
    assert cost > 14
    assert source.budget.spent - spent == pytest.approx(cost)
