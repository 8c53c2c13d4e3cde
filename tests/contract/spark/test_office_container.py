"""An office on a container, with Spark played: splits and merges, poison, request units."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.container_group import DATABASE, ContainerGroup, a_container_group
from support.played_spark import PlayedSpark, played_spark
from support.wait import wait_until_async
from tidegate.ops.observer import UnitsSpent
from tidegate_cosmos.testing import RunningCosmos

pytestmark = pytest.mark.slow

NewGroup = Callable[..., ContainerGroup]


@pytest.fixture
def new_group(cosmos_server: RunningCosmos, azurite: str, tmp_path: Path) -> Iterator[NewGroup]:
    with ExitStack() as groups:

        def make(**options: Any) -> ContainerGroup:
            return groups.enter_context(
                a_container_group(cosmos_server, azurite, tmp_path, **options)
            )

        yield make


def office(group: ContainerGroup) -> AbstractAsyncContextManager[PlayedSpark]:
    return played_spark(group.file, group.environment)


def numbers(spark: PlayedSpark) -> Counter[int]:
    """How often each item was handled, whatever partition it came by."""
    return Counter(number for found in spark.handled.values() for number in found)


async def until_all_handled(spark: PlayedSpark, group: ContainerGroup, **options: Any) -> None:
    async with asyncio.timeout(120):
        while len(numbers(spark)) < group.written:
            if await spark.batch(**options) is None:
                await asyncio.sleep(0.05)


async def test_batches_go_on_through_splits_and_merges_and_give_each_item_once(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=2)
    await asyncio.to_thread(group.write, 100)
    async with office(group) as spark:
        spark.office.follow(["1", "2"])
        await spark.until_held(1, 1)
        await until_all_handled(spark, group, events=30)
        group.split(0)
        await asyncio.to_thread(group.write, 60)
        # The range is two by now, and its partition is still one: a batch reads both.
        await until_all_handled(spark, group, events=30)
        await spark.until_held(1, 2)
        group.merge(1)
        await asyncio.to_thread(group.write, 60)
        await until_all_handled(spark, group, events=30)
        await spark.until_held(1, 1)
        await asyncio.to_thread(group.write, 20)
        await until_all_handled(spark, group)
        assert set(numbers(spark).values()) == {1}
        assert spark.office.figures().lag == 0
    # What the ledger says is where others go on.
    async with office(group) as spark:
        spark.office.follow(["3"])
        await spark.until_held(2)
        assert await spark.next_batch() is None


async def test_a_batch_that_was_planned_before_a_split_is_read_after_it(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=1)
    await asyncio.to_thread(group.write, 40)
    async with office(group) as spark:
        spark.office.follow(["1"])
        await spark.until_held(1)
        batch = None
        while batch is None:
            batch = await spark.next_batch()
        group.split(0)
        await asyncio.to_thread(group.write, 40)
        await spark.read_all(batch)
        await spark.done(batch)
        assert sorted(numbers(spark)) == list(range(40))
        await until_all_handled(spark, group)
        assert set(numbers(spark).values()) == {1}


async def test_a_stream_that_ends_reads_what_was_there_whatever_the_ranges_are_by_then(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=1)
    await asyncio.to_thread(group.write, 40)
    async with office(group) as spark:
        spark.office.follow(["1"])
        ends = await asyncio.to_thread(lambda: spark.desk.ends(of_all=True))
        until = {partition: end["sequence"] for partition, end in ends.items()}
        group.split(0)
        await asyncio.to_thread(group.write, 40)
        async with asyncio.timeout(120):
            while (
                planned := await asyncio.to_thread(lambda: spark.desk.plan(10, 0, until))
            ).offset or planned.waiting:
                if planned.offset is None:
                    await asyncio.sleep(0.1)
                    continue
                batch = await spark.begin(planned.offset)
                await spark.read_all(batch)
                await spark.done(batch)
        assert sorted(numbers(spark)) == list(range(40))
        await until_all_handled(spark, group)
        assert set(numbers(spark).values()) == {1}


async def test_poison_is_found_by_halving_and_put_aside(new_group: NewGroup) -> None:
    backoff = "backoff: {firstSeconds: 0.01, mostSeconds: 0.05}"
    delivery = f"{{onFailure: deadLetter, attempts: 2, {backoff}}}"
    group = new_group(ranges=2, delivery=delivery)
    await asyncio.to_thread(group.write, 100)
    async with office(group) as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        async with asyncio.timeout(120):
            while spark.office.figures().aside < 1 or len(numbers(spark)) < 99:
                if await spark.batch(fails=lambda _, number: number == 37) is None:
                    await asyncio.sleep(0.02)
        assert set(numbers(spark).values()) == {1}
        assert 37 not in numbers(spark)
        (letter,) = spark.heard.reports("dead-letter")
        assert "ValueError" in letter


async def test_request_units_are_told_and_a_range_that_has_nothing_costs_one_question_a_poll(
    new_group: NewGroup, cosmos_server: RunningCosmos
) -> None:
    group = new_group(ranges=2, source="pollSeconds: 30")
    await asyncio.to_thread(group.write, 20)
    async with office(group) as spark:
        spark.office.follow(["1"])
        await spark.until_held(2)
        await until_all_handled(spark, group)

        def told() -> float:
            facts = [fact for fact in list(spark.heard.facts) if isinstance(fact, UnitsSpent)]
            return sum(fact.units for fact in facts)

        # A batch whose workers took as much, and what the questions cost.
        await wait_until_async(lambda: told() > 1.5 * len(spark.batches), 30, "units", told)
        await spark.next_batch()
        before = cosmos_server.charge(DATABASE, group.name)
        for _ in range(20):
            assert await spark.next_batch() is None
        asked = cosmos_server.charge(DATABASE, group.name) - before
        # The look at the ranges may fall into this time: it costs as much as a question.
        assert asked <= 4, asked
