"""An office of members that Spark reads for: nothing is lost or twice, whoever comes and goes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from contract.spark.conftest import Place
from support.played_spark import PlayedSpark
from support.wait import wait_until_async
from tidegate.model import Listing, PartitionId
from tidegate.spark.turns import UnreadError

NewPlace = Callable[..., Place]


async def listing_of(place: Place) -> Listing:
    return await asyncio.to_thread(place.group.listing)


async def is_leaving(spark: PlayedSpark, count: int) -> None:
    """Waits until so many partitions are to be given away."""
    await wait_until_async(
        lambda: len(spark.office.figures().leaving) == count,
        30,
        f"{count} partitions to be on their way",
        detail=spark.office.figures,
    )


async def test_every_event_is_in_exactly_one_done_batch(new_place: NewPlace) -> None:
    place = new_place(partitions=4)
    events = place.send(0, 300)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(4)
        await spark.until_handled(events, events=170)
        assert set(spark.counts().values()) == {1}
        assert len(spark.counts()) == events
        # Limits hold, and all partitions have a share in every batch.
        assert all(sum(t.events for t in b.turns.values()) <= 170 for b in spark.batches)
        assert len(spark.batches) == 8
        assert all(len(batch.turns) == 4 for batch in spark.batches[:7])
        assert {t.member for b in spark.batches for t in b.turns.values()} == {"driver-x1"}
        assert await spark.batch() is None


@pytest.mark.slow
async def test_a_pod_that_joins_is_given_partitions_between_batches_alone(
    new_place: NewPlace,
) -> None:
    place = new_place(partitions=4)
    events = place.send(0, 100)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(4)
        batch = await spark.next_batch(events=200)
        assert batch is not None
        assert len(batch.turns) == 4
        await spark.read_all(batch)
        place.group.start("pod")
        await is_leaving(spark, 2)
        leaving = spark.office.figures().leaving
        # They are still ours, and nobody else reads them, until the batch has ended.
        assert spark.held() == {"driver-x1": 4}
        assert place.group.seen() == []
        await spark.done(batch)
        await spark.until_held(2)
        place.group.wait_until_seen(100, 30)
        await spark.until_handled(300)

        events += place.send(100, 200)
        await spark.until_handled(500)
        place.group.wait_until_seen(300, 30)
        assert set(spark.held()) == {"driver-x1"}
        place.group.stop("pod")
        await spark.until_held(4)

        events += place.send(200, 250)
        await spark.until_handled(700)
        seen = place.group.counts()
        assert {partition for partition, _ in seen} == set(leaving)
        both = spark.counts() + Counter(seen)
        assert set(both.values()) == {1}
        assert len(both) == events


@pytest.mark.slow
async def test_shares_follow_the_executors(new_place: NewPlace) -> None:
    place = new_place(partitions=6)
    async with place.office() as spark:
        events, sent = 0, 0

        async def read_while_members_become(*counts: int) -> None:
            """Events come, and batches go on."""
            nonlocal events, sent
            while sorted(spark.held().values()) != sorted(counts):
                events += place.send(sent, sent + 10)
                sent += 10
                await spark.batch(events=40)
            await spark.until_handled(events)

        spark.office.follow(["1"])
        async with asyncio.timeout(120):
            await read_while_members_become(6)
            spark.office.follow(["1", "2", "3"])
            await read_while_members_become(2, 2, 2)
            spark.office.follow(["2"])
            await read_while_members_become(6)
        assert spark.held() == {"driver-x2": 6}
        assert set(spark.counts().values()) == {1}
        assert len(spark.counts()) == events


@pytest.mark.slow
async def test_nothing_is_told_of_a_partition_that_the_hub_gave_to_a_higher_epoch(
    new_place: NewPlace,
) -> None:
    place = new_place(partitions=2)
    events = place.send(0, 50)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        batch = await spark.next_batch()
        assert batch is not None
        thief = spark.source.reader("1", batch.turns["1"].after, batch.turns["1"].epoch + 7)
        await thief.open()
        assert await spark.read_turn(batch, batch.turns["0"])
        assert not await spark.read_turn(batch, batch.turns["1"])
        await spark.done(batch)
        await thief.close()
        assert set(spark.handled) == {"0"}

        await spark.until_handled(events)
        again = next(b.turns["1"] for b in spark.batches[1:] if "1" in b.turns)
        assert again.after == batch.turns["1"].after
        assert again.epoch > batch.turns["1"].epoch + 7
        assert set(spark.counts().values()) == {1}
        # A report of the old epoch is an old story.
        before = spark.office.figures().counted.stolen
        spark.desk.stolen(again.epoch, "1", batch.turns["1"].epoch, 99)
        assert spark.office.figures().counted.stolen == before == 1


async def test_a_batch_that_fails_is_read_again_as_it_was_and_the_group_says_stuck(
    new_place: NewPlace,
) -> None:
    place = new_place(partitions=2, delivery="{backoff: {firstSeconds: 0.05, mostSeconds: 0.1}}")
    place.send(0, 30)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        ranges = []
        for _ in range(3):
            batch = None
            while batch is None:
                batch = await spark.batch(fails=lambda *_: True, events=20)
            ranges.append({p: (t.after, t.to) for p, t in batch.turns.items()})
        assert ranges == [ranges[0]] * 3
        assert spark.office.figures().stuck == ("0", "1")
        assert "events from 0: ValueError: (" in spark.heard.reports("stuck")[0]

        def stuck_of(listing: Listing) -> frozenset[PartitionId]:
            return listing.members["driver-x1"].stuck

        async with asyncio.timeout(30):
            while stuck_of(await listing_of(place)) != {"0", "1"}:
                await asyncio.sleep(0.1)
        await spark.until_handled(60)
        assert spark.office.figures().stuck == ()
        assert len(spark.heard.reports("unstuck")) == 2
        assert set(spark.counts().values()) == {1}


async def test_what_is_no_fault_of_the_events_puts_none_aside(new_place: NewPlace) -> None:
    backoff = "backoff: {firstSeconds: 0.01, mostSeconds: 0.02}"
    place = new_place(partitions=1, delivery=f"{{onFailure: deadLetter, attempts: 1, {backoff}}}")
    place.send(0, 10)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(1)
        for _ in range(8):
            batch = None
            while batch is None:
                batch = await spark.next_batch()
            assert batch.turns["0"].events == 10
            await spark.failed(batch, "an executor was lost", blames_events=False)
        await spark.until_handled(10)
        assert spark.office.figures().aside == 0


@pytest.mark.slow
async def test_poison_is_found_by_halving_and_put_aside(new_place: NewPlace) -> None:
    backoff = "backoff: {firstSeconds: 0.01, mostSeconds: 0.05}"
    place = new_place(partitions=4, delivery=f"{{onFailure: deadLetter, attempts: 2, {backoff}}}")
    events = place.send(0, 100)
    poison = {("1", 37), ("3", 99)}
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(4)
        async with asyncio.timeout(120):
            while spark.office.figures().aside < 2 or sum(spark.counts().values()) < events - 2:
                await spark.batch(fails=lambda p, n: (p, n) in poison)
        assert set(spark.counts().values()) == {1}
        assert set(spark.counts()).isdisjoint(poison)
        assert len(spark.counts()) == events - 2
        # A halving is a batch: 200 events one by one would be 200.
        assert len(spark.batches) < 80
    letters = await asyncio.to_thread(
        place.group.command, "deadletters", "list", "--file", str(place.group.file)
    )
    assert "1/37" in letters.stdout
    assert "3/99" in letters.stdout
    assert "PipelineError: ValueError: ('1', 37) is bad" in letters.stdout
    checkpoints = (await listing_of(place)).checkpoints
    assert {p: c.position.sequence for p, c in checkpoints.items()} == dict.fromkeys("0123", 99)


async def test_a_batch_that_was_not_read_whole_is_not_done(new_place: NewPlace) -> None:
    place = new_place(partitions=2, delivery="{backoff: {firstSeconds: 0.01, mostSeconds: 0.02}}")
    place.send(0, 10)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        batch = await spark.next_batch()
        assert batch is not None
        await spark.read_turn(batch, batch.turns["0"])
        with pytest.raises(UnreadError, match="nothing was read of partition 1"):
            await spark.done(batch)
        assert spark.office.batch_under_way() is None
        await spark.until_handled(20)
        assert set(spark.counts().values()) == {1}


@pytest.mark.slow
async def test_a_batch_that_takes_too_long_is_not_counted_and_its_partitions_come_back(
    new_place: NewPlace,
) -> None:
    place = new_place(partitions=2, delivery="{timeoutSeconds: 1}")
    place.send(0, 10)
    async with place.office() as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        batch = await spark.next_batch()
        assert batch is not None
        await spark.read_all(batch)
        await spark.until_held()
        assert await spark.call(spark.office.turns) == {}
        await spark.done(batch)
        await spark.until_held(2)
        await spark.until_handled(20)
        assert set(spark.counts().values()) == {1}
