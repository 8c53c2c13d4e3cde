"""What an office leaves in the ledger: true positions, the state that goes with them, its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from contract.spark.conftest import Place
from tidegate.model import Listing, Position
from tidegate.spark.office import OfficeError

NewPlace = Callable[..., Place]


async def listing_of(place: Place) -> Listing:
    return await asyncio.to_thread(place.group.listing)


async def test_a_clean_stop_hands_everything_over_at_the_true_end(new_place: NewPlace) -> None:
    place = new_place(partitions=2)
    events = place.send(0, 40)
    async with place.office() as spark:
        spark.office.follow(["1", "2"])
        await spark.until_held(1, 1)
        await spark.until_handled(events, events=30)
        ends = {p: await spark.source.end(p) for p in "01"}
        await spark.call(spark.office.stop)
        listing = await listing_of(place)
        assert not any(row.lease.is_held for row in listing.ownerships.values())
        assert not any(member.is_alive for member in listing.members.values())
        # The hub's own texts: nobody made up an offset.
        found = {p: checkpoint.position for p, checkpoint in listing.checkpoints.items()}
        assert found == {p: Position(end.offset, end.sequence) for p, end in ends.items()}
        assert {p: c.enqueued_at for p, c in listing.checkpoints.items()} == {
            p: end.enqueued_at for p, end in ends.items()
        }
        with pytest.raises(OfficeError, match="not open"):
            spark.office.figures()


async def test_a_batch_under_way_ends_before_a_clean_stop_does(new_place: NewPlace) -> None:
    place = new_place(partitions=2)
    place.send(0, 10)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        batch = await spark.next_batch()
        assert batch is not None
        stopping = asyncio.create_task(spark.call(spark.office.stop))
        await spark.read_all(batch)
        assert await spark.plan() is None
        # Nothing was given up: it is done although the office is ending.
        async with asyncio.timeout(30):
            while spark.office.figures().leaving != ("0", "1"):
                await asyncio.sleep(0.01)
        await spark.done(batch)
        await stopping
        checkpoints = (await listing_of(place)).checkpoints
        assert {p: c.position.sequence for p, c in checkpoints.items()} == {"0": 9, "1": 9}


async def test_state_goes_with_the_position_to_whoever_comes_next(new_place: NewPlace) -> None:
    place = new_place(partitions=2)
    place.send(0, 10)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        batch = await spark.next_batch(events=8)
        assert batch is not None
        assert spark.office.state_of("0") is None
        await spark.read_all(batch)
        await spark.done(batch, {"0": b'{"a":1}', "1": b'{"b":1}'})
        batch = await spark.next_batch(events=8)
        assert batch is not None
        assert spark.office.state_of("0") == b'{"a":1}'
        await spark.read_all(batch)
        assert {p: t.to for p, t in spark.office.turns().items()} == {"0": 7, "1": 7}
        # What is not named stays; nothing is what was there before the first.
        await spark.done(batch, {"1": None})
        last = await spark.next_batch()
        assert last is not None
        await spark.read_all(last)
        await spark.failed(last)
    async with place.office(name="another") as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        batch = await spark.next_batch()
        assert batch is not None
        assert {p: t.after.sequence for p, t in batch.turns.items()} == {"0": 7, "1": 7}
        assert spark.office.state_of("0") == b'{"a":1}'
        assert spark.office.state_of("1") is None


async def test_a_batch_that_spark_kept_is_read_where_it_goes_on_and_left_out_elsewhere(
    new_place: NewPlace,
) -> None:
    place = new_place(partitions=2)
    place.send(0, 20)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        kept = await spark.plan(events=20)
        assert kept is not None
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        moved = {**kept, "turns": {**kept["turns"], "1": {**kept["turns"]["1"], "after": 3}}}
        batch = await spark.begin(moved)
        assert {p: t.to for p, t in batch.turns.items()} == {"0": kept["turns"]["0"]["to"]}
        assert batch.turns["0"].epoch > kept["turns"]["0"]["epoch"]
        await spark.read_all(batch)
        await spark.done(batch)
        await spark.until_handled(40)
        assert set(spark.counts().values()) == {1}


async def test_what_retention_took_is_counted_and_passed(new_place: NewPlace) -> None:
    place = new_place(partitions=2)
    place.send(0, 20)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        await spark.until_handled(20, events=20)
        hub = place.group.hub_name
        place.hub.inject("expire_retention", hub=hub, partition="0", before_sequence=15)
        batch = await spark.next_batch()
        assert batch is not None
        # All of the turn is gone before a worker comes to read it.
        place.send(20, 30)
        place.hub.inject("expire_retention", hub=hub, partition="0", before_sequence=25)
        await spark.read_all(batch)
        await spark.done(batch)
        await spark.until_handled(20 + 20 + 5)
        assert sorted(spark.handled["0"]) == [*range(10), *range(25, 30)]
        assert sorted(spark.handled["1"]) == list(range(30))
        assert spark.office.figures().counted.lost == 15
        assert spark.heard.reports("events-lost")[0].startswith("0: 15 events after 9 are gone")
        assert spark.office.figures().lag == 0


@pytest.mark.slow
async def test_a_driver_that_is_restarted_in_place_has_its_partitions_at_once(
    new_place: NewPlace, tmp_path: Path
) -> None:
    place = new_place(partitions=4)
    place.send(0, 5)
    scratch = tmp_path / "leases"
    async with place.office(scratch=scratch) as spark:
        spark.office.follow(["1"])
        await spark.until_held(4)
        kept = (scratch / "driver-x1.leases").read_text()
        before = await listing_of(place)
    assert all(partition in kept for partition in before.ownerships)
    # Spark gives no number twice: what is handed over leaves nothing behind.
    assert list(scratch.iterdir()) == []
