"""Answers of a server that is not the service: said aloud, and nothing passed over in silence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract.source_cosmos.world import DATABASE, World, until_quiet
from tidegate.ports import SourceError
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.places import parsed
from tidegate.sources.cosmos.settings import FeedMode
from tidegate_cosmos.store.items import Item


@pytest.fixture
def without_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's feed shows items without `_lsn`, as other servers do."""
    monkeypatch.setattr(Item, "feed_body", property(lambda item: item.body))


async def test_changes_without_a_number_stop_reading_with_an_error_and_the_position_stays(
    world: World, without_numbers: None
) -> None:
    await world.write(range(20))
    source = world.source()
    reader = await world.reader(source=source)
    before = reader.place
    with pytest.raises(SourceError, match=r"without a log sequence number \(_lsn\)") as raised:
        await until_quiet(reader)
    assert raised.value.is_fatal, "asking again does not help"
    assert reader.place == before
    with pytest.raises(SourceError, match="without a log sequence number"):
        await source.reach("-ff", before.position)


async def test_a_range_whose_numbers_went_back_is_unknown_and_is_not_read_in_silence(
    world: World,
) -> None:
    """As of a container that was restored to an earlier state."""
    await world.write(range(40), homes=1)
    source = world.source(patience_s=0.3)
    position = (await until_quiet(await world.reader(source=source)))[10].position
    place = parsed(position.offset)
    assert place is not None
    # What stands in the checkpoint is beyond all that the server has now.
    ahead = replace(place, feeds=tuple(replace(feed, lsn=900) for feed in place.feeds))
    with pytest.raises(SourceError, match="stands at log sequence number"):
        await source.reach("-ff", ahead.position)
    reader = await world.reader(position=ahead.position, source=source)
    with pytest.raises(SourceError, match="up to 900 were handled"):
        await until_quiet(reader)
    assert reader.place == ahead, "the position stays"
    with pytest.raises(SourceError, match="stands at log sequence number"):
        await source.end("-ff")
    stretch = await source.stretch(ahead, [2_000] * len(ahead.feeds))
    with pytest.raises(SourceError, match="stands at log sequence number"):
        while not await stretch.next():
            pass


@pytest.mark.parametrize("mode", list(FeedMode))
async def test_items_that_have_the_names_of_the_envelope_are_read_as_they_are(
    world: World, mode: FeedMode
) -> None:
    source = world.source(mode=mode)
    names = await source.partitions()
    places = [await source.resolve_start(name) for name in names]
    items = await world.items()
    said = {"metadata": {"operationType": "delete", "lsn": 1}, "current": "x", "previous": [1]}
    for number in range(8):
        await items.upsert_item({"id": str(number), "home": f"h{number}", "n": number, **said})
    found: list[Change] = []
    for name, place in zip(names, places, strict=True):
        reader = await world.reader(name, place, source)
        while not (batch := await reader.receive()):
            pass
        found += batch
    assert sorted(change.current["n"] for change in found) == list(range(8))
    assert {change.operation for change in found} == (
        {"upsert"} if mode is FeedMode.LATEST_VERSION else {"create"}
    )
    assert all(change.current["metadata"] == said["metadata"] for change in found)
    assert len({change.letter_place for change in found}) == 8
    assert world.server.items(DATABASE, world.name)
