"""What the source of a Cosmos container promises of the changes that it gives."""

from __future__ import annotations

import asyncio
import time

import pytest

from contract.source_cosmos.world import World, changes_from, numbers_of, until_quiet
from tidegate.model import BEGINNING, Checkpoint, Position, Rewind
from tidegate.ports import SourceError
from tidegate.sources.cosmos.places import parsed
from tidegate.sources.cosmos.settings import FeedMode
from tidegate.sources.start import Start


async def test_the_ranges_of_the_service_are_the_partitions(world: World) -> None:
    first, second = await world.source().partitions()
    assert first.startswith("-") and second.endswith("-ff")
    assert first.partition("-")[2] == second.partition("-")[0]


@pytest.mark.parametrize("page_items", [1, 3, 1000])
async def test_all_changes_come_once_and_in_order(world: World, page_items: int) -> None:
    await world.write(range(60))
    source = world.source(page_items=page_items)
    found = []
    for partition in await source.partitions():
        changes = await until_quiet(await world.reader(partition, source=source))
        assert [each.lsn for each in changes] == sorted(each.lsn for each in changes)
        found += numbers_of(changes)
    assert sorted(found) == list(range(60))


async def test_changes_that_are_written_later_come_too(world: World) -> None:
    reader = await world.reader()
    await world.write(range(3))
    assert sorted(numbers_of(await changes_from(reader, 3))) == [0, 1, 2]
    await world.write([1])
    assert numbers_of(await changes_from(reader, 1)) == [1]
    assert list(await reader.receive()) == []


async def test_reading_goes_on_behind_each_position_also_within_a_page(world: World) -> None:
    await world.write(range(40))
    first, _ = await world.source().partitions()
    changes = await until_quiet(await world.reader(first))
    assert len(changes) > 5
    for index, change in enumerate(changes):
        again = await until_quiet(await world.reader(first, change.position))
        assert numbers_of(again) == numbers_of(changes[index + 1 :])


async def test_a_change_says_what_it_is_and_when_it_was(world: World) -> None:
    before = int(time.time())
    await world.write([7])
    (change,) = await changes_from(await world.reader(), 1)
    assert isinstance(change, dict)
    assert (change["id"], change["home"], change["n"]) == ("7", "h7", 7)
    assert change["_lsn"] == change.lsn
    assert change["_ts"] == change.enqueued_at
    assert before <= change["_ts"] <= time.time() + 1
    assert change.current is change and change.previous is None
    assert change.operation == "upsert"
    assert b'"n":7' in change.content and change.size > 0


async def test_all_versions_and_deletes_tell_operations_and_what_was_before(world: World) -> None:
    source = world.source(mode=FeedMode.ALL_VERSIONS_AND_DELETES)
    start = await source.resolve_start("-ff")
    items = await world.items()
    await items.upsert_item({"id": "a", "home": "h", "x": 1})
    await items.upsert_item({"id": "a", "home": "h", "x": 2})
    await items.delete_item("a", "h")
    reader = await world.reader(position=start, source=source)
    made, changed, gone = await changes_from(reader, 3)
    assert [each.operation for each in (made, changed, gone)] == ["create", "replace", "delete"]
    assert (made.current["x"], changed.current["x"], gone.current) == (1, 2, {})
    assert changed.previous is not None and changed.previous["x"] == 1
    assert gone.previous is not None and gone.previous["x"] == 2
    assert made.lsn < changed.lsn < gone.lsn
    assert gone.enqueued_at is not None
    again = await world.reader(position=changed.position, source=source)
    assert [each.operation for each in await changes_from(again, 1)] == ["delete"]


# --- splits and merges while it reads


@pytest.mark.parametrize("page_items", [2, 1000])
async def test_a_split_in_flight_loses_nothing_and_doubles_nothing(
    world: World, page_items: int
) -> None:
    source = world.source(page_items=page_items)
    first, _ = await source.partitions()
    reader = await world.reader(first, source=source)
    await world.write(range(40))
    found = await changes_from(reader, 3)
    world.split()
    await world.write(range(40, 80))
    found += await until_quiet(reader)
    expected = numbers_of(await until_quiet(await world.reader(first)))
    assert sorted(numbers_of(found)) == sorted(expected)
    assert source.hurry.is_set(), "nobody is told that the partitions are worth a look"
    assert len(await source.partitions()) == 3


async def test_a_merge_in_flight_loses_nothing_and_doubles_nothing(world: World) -> None:
    source = world.source(page_items=2)
    partitions = await source.partitions()
    readers = [await world.reader(each, source=source) for each in partitions]
    await world.write(range(40))
    found = [change for reader in readers for change in await changes_from(reader, 3)]
    world.merge()
    await world.write(range(40, 80))
    found += [change for reader in readers for change in await until_quiet(reader)]
    assert sorted(numbers_of(found)) == list(range(80))


async def test_parts_that_came_differently_far_go_on_from_where_each_was(world: World) -> None:
    """What begins where two ranges ended is read from both places, and once more one feed."""
    source = world.source(page_items=4)
    partitions = await source.partitions()
    readers = [await world.reader(each, source=source) for each in partitions]
    await world.write(range(40))
    done = await changes_from(readers[0], 1) + await until_quiet(readers[1])
    ends = [source.lineage.ended(r.partition, r.place.position, ("-ff",)) for r in readers]
    world.merge()
    await world.write(range(40, 60))
    rows = [row(each, end) for each, end in zip(partitions, ends, strict=True)]
    heritage = source.lineage.heritage("-ff", rows)
    reader = await world.reader("-ff", heritage.position, source=source)
    rest = await until_quiet(reader)
    assert sorted(numbers_of([*done, *rest])) == list(range(60))
    assert await source.partitions() == ("-ff",)
    async with asyncio.timeout(10):
        while len(reader.place.feeds) > 1:
            assert list(await reader.receive()) == []
    sequences = [change.position.sequence for change in rest]
    assert sequences == sorted(sequences), "the ledger's numbers go back"
    await world.write([60])
    assert numbers_of(await changes_from(reader, 1)) == [60]
    for index, change in enumerate(rest):
        again = await until_quiet(await world.reader("-ff", change.position, source=source))
        expected = [*numbers_of(rest[index + 1 :]), 60]
        assert sorted(numbers_of(again)) == sorted(expected)


def row(partition: str, position: Position) -> Checkpoint:
    return Checkpoint(partition, "e", position, 1, "n")


# --- where a partition without a checkpoint begins


async def test_latest_is_behind_the_last_change_of_each_range(world: World) -> None:
    await world.write(range(20))
    source = world.source(Start("latest"))
    for partition in ("-ff", *await source.partitions()):
        reader = await world.reader(partition, await source.resolve_start(partition))
        assert list(await reader.receive()) == []
    place = parsed((await source.resolve_start("-ff")).offset)
    assert place is not None and len(place.feeds) == 2
    reader = await world.reader("-ff", await source.resolve_start("-ff"))
    await world.write(range(20, 24))
    assert sorted(numbers_of(await changes_from(reader, 4))) == [20, 21, 22, 23]


async def test_earliest_and_a_rewind_to_the_beginning_give_everything(world: World) -> None:
    await world.write(range(10))
    for position in (BEGINNING, await world.source(Start("earliest")).resolve_start("-ff")):
        assert position.sequence == -1
        assert len(await until_quiet(await world.reader("-ff", position))) == 10


async def test_a_time_gives_what_was_written_from_then_on_through_a_split_and_a_restart(
    world: World,
) -> None:
    await world.write(range(8))
    started = int(time.time()) + 1
    while time.time() < started + 1:
        await world.write([0])
    await world.write(range(10, 30))
    source = world.source(Start("time", at=float(started)), page_items=2)
    position = await source.resolve_start("-ff")
    reader = await world.reader("-ff", position, source=source)
    found = await changes_from(reader, 3)
    world.split()
    again = await world.reader("-ff", found[-1].position, source=source)
    rest = await until_quiet(again)
    wanted = [n for n in numbers_of([*found, *rest]) if n >= 10]
    assert sorted(wanted) == list(range(10, 30))
    assert not [n for n in numbers_of([*found, *rest]) if 0 < n < 8]


async def test_a_rewind_to_a_time_is_resolved_while_others_read(world: World) -> None:
    await world.write(range(5))
    source = world.source()
    await changes_from(await world.reader(source=source), 5)
    rewind = Rewind("id", "-ff", at=time.time() - 3600)
    position = await source.resolve_start("-ff", rewind)
    assert len(await until_quiet(await world.reader("-ff", position))) == 5


async def test_a_number_alone_is_no_position_of_a_container(world: World) -> None:
    rewind = Rewind("id", "-ff", Position("-1", 5))
    with pytest.raises(SourceError, match="more than a number") as raised:
        await world.source().resolve_start("-ff", rewind)
    assert raised.value.is_fatal


# --- how far it is


async def test_the_end_is_known_from_the_reader_without_a_request(world: World) -> None:
    source = world.source(page_items=2)
    first, _ = await source.partitions()
    await world.write(range(20))
    reader = await world.reader(first, source=source)
    some = await changes_from(reader, 2)
    asked = sum(world.server.requests().values())
    end = await source.end(first)
    assert sum(world.server.requests().values()) == asked
    assert end.sequence > some[-1].position.sequence
    last = (await until_quiet(reader))[-1]
    assert (await source.end(first)).sequence == last.position.sequence


async def test_what_waits_behind_a_position_is_counted_exactly_and_cheaply(world: World) -> None:
    source = world.source()
    first, _ = await source.partitions()
    assert (await source.end_behind(first, BEGINNING)).sequence == -1
    await world.write(range(30))
    changes = await until_quiet(await world.reader(first))
    before = source.budget.spent
    for index in (0, 4, len(changes) - 1):
        position = changes[index].position
        end = await source.end_behind(first, position)
        assert end.sequence - position.sequence == len(changes) - 1 - index
    assert source.budget.spent - before < 8, "three small requests"


async def test_deletes_that_no_feed_tells_are_no_lag(world: World) -> None:
    source = world.source()
    await world.write(range(8), homes=1)
    partitions = await source.partitions()
    readers = {each: await until_quiet(await world.reader(each)) for each in partitions}
    (partition,) = [each for each, found in readers.items() if found]
    items = await world.items()
    for number in range(8):
        await items.delete_item(str(number), "h0")
    position = readers[partition][-1].position
    assert (await source.end_behind(partition, position)).sequence == position.sequence
