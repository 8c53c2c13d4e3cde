"""What the source does when its container is deleted and made again while it is read."""

from __future__ import annotations

import pytest

from contract.source_cosmos.world import DATABASE, World, changes_from, numbers_of, until_quiet
from tidegate.model import BEGINNING, Rewind
from tidegate.ports import SourceError, lost_position
from tidegate.sources.cosmos.reader import FeedReader
from tidegate.sources.cosmos.settings import FeedMode
from tidegate.sources.cosmos.source import CosmosSource
from tidegate.sources.start import Start

ANOTHER = "of another container of this name"


async def refusal(reader: FeedReader) -> str:
    """What a reader is refused with, before it has given anything."""
    with pytest.raises(SourceError) as raised:
        while True:
            assert list(await reader.receive()) == []
    assert raised.value.is_fatal
    return lost_position(str(raised.value))


async def rewound(world: World, source: CosmosSource) -> list[int]:
    """What comes after a rewind to the beginning in the same process."""
    position = await source.resolve_start("-ff", Rewind("id", "-ff", BEGINNING))
    reader = await world.reader("-ff", position, source)
    return sorted(numbers_of(await until_quiet(reader)))


@pytest.mark.parametrize("ranges", [1, 2, 5])
@pytest.mark.parametrize("written", [3, 40])
async def test_a_container_made_anew_under_a_living_reader_gives_nothing_until_a_rewind(
    world: World, written: int, ranges: int
) -> None:
    """With fewer items than were read, and with more: its numbers begin anew."""
    await world.write(range(20))
    source = world.source()
    reader = await world.reader(source=source)
    await until_quiet(reader)
    stored = reader.place.position
    await world.remake(ranges)
    await world.write(range(100, 100 + written))
    assert ANOTHER in await refusal(reader)
    assert reader.place.position == stored
    with pytest.raises(SourceError, match=ANOTHER):
        await world.reader("-ff", stored, source)
    assert await rewound(world, source) == list(range(100, 100 + written))


async def test_a_container_made_anew_is_noticed_by_each_of_its_readers(world: World) -> None:
    """Also by those that ask once the source knows the new one."""
    await world.write(range(20))
    source = world.source()
    readers = [await world.reader(each, source=source) for each in await source.partitions()]
    for reader in readers:
        await until_quiet(reader)
    await world.remake()
    await world.write(range(100, 180))
    for reader in readers:
        assert ANOTHER in await refusal(reader)


async def test_a_quiet_container_that_was_made_anew_is_noticed_too(world: World) -> None:
    await world.write(range(20))
    reader = await world.reader()
    await until_quiet(reader)
    await world.remake()
    assert ANOTHER in await refusal(reader)


async def test_deletes_of_another_container_are_none_of_this_one(world: World) -> None:
    """They have no item that says whose they are."""
    source = world.source(mode=FeedMode.ALL_VERSIONS_AND_DELETES)
    reader = await world.reader(position=await source.resolve_start("-ff"), source=source)
    await world.write(range(2), homes=1)
    await changes_from(reader, 2)
    await world.remake()
    await world.write(range(2), homes=1)
    items = await world.items()
    await items.delete_item("0", "h0")
    assert ANOTHER in await refusal(reader)


async def test_a_container_that_is_not_there_for_a_while_is_read_after_a_rewind(
    world: World,
) -> None:
    await world.write(range(20))
    source = world.source()
    reader = await world.reader(source=source)
    await until_quiet(reader)
    stored = reader.place.position
    await world.drop()
    with pytest.raises(SourceError, match=r"is not there \(404"):
        await until_quiet(reader)
    world.server.add_container(DATABASE, world.name, "/home", ranges=3)
    await world.write(range(50, 100))
    assert await rewound(world, source) == list(range(50, 100))
    with pytest.raises(SourceError, match=ANOTHER):
        await source.reach("-ff", stored)


async def test_who_only_asks_how_much_waits_learns_of_the_new_container_from_a_position(
    world: World,
) -> None:
    """As an operator does, whose group was rewound elsewhere."""
    await world.write(range(8))
    asking, reading = world.source(), world.source(Start("earliest"))
    old = (await until_quiet(await world.reader(source=asking)))[-1].position
    assert (await asking.reach("-ff", old)).changes == 0
    await world.remake()
    await world.write(range(5))
    new = await reading.resolve_start("-ff")
    assert (await asking.reach("-ff", new)).changes >= 5
    with pytest.raises(SourceError, match=ANOTHER):
        await asking.reach("-ff", old)
