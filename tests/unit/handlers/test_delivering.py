"""What a handler can rely on: order, retries, dead letters, its state, and being told to stop."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from support.wait import wait_until_async
from tidegate.delivery.policy import Cadence, OnFailure
from tidegate.handlers.context import Context
from tidegate.handling import Close, HungError
from tidegate.model import Position
from tidegate.ops.observer import BatchFailed
from tidegate.ports import SourceError
from unit.delivery.events import MadeEvent, events
from unit.handlers.delivering import QUICK, Delivery, Letters, numbers

ASIDE = replace(QUICK, on_failure=OnFailure.DEAD_LETTER, attempts=2)
HALT = replace(QUICK, on_failure=OnFailure.HALT, attempts=2)


async def test_batches_come_in_order_and_are_told_as_handled_when_the_handler_is_done() -> None:
    seen: list[int] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        assert context.position.sequence == (seen[-1] if seen else -1)
        await asyncio.sleep(0)
        seen.extend(numbers(events))

    delivery = Delivery(handle)
    await delivery.give(0, 25)
    assert seen == list(range(25))
    assert [outcome.position for outcome in delivery.outcomes] == [
        Position(str(n * 10), n) for n in (9, 19, 24)
    ]
    assert delivery.heard.handled == 25


async def test_a_plain_handler_runs_on_one_thread_of_its_partition_and_holds_nobody_up() -> None:
    threads: set[int] = set()

    def handle(events: list[MadeEvent], context: Context) -> None:
        threads.add(threading.get_ident())
        time.sleep(0.05)

    delivery = Delivery(handle)
    giving = asyncio.create_task(delivery.give(0, 20))
    turns = 0
    while not giving.done():
        turns += 1
        await asyncio.sleep(0.005)
    await giving
    assert turns > 5
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_a_failing_batch_is_given_again_until_it_succeeds_and_the_group_says_stuck() -> None:
    tries: list[tuple[list[int], int]] = []
    errors: list[str] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        tries.append((numbers(events), context.attempt))
        if len(tries) < 6:
            raise ConnectionError("the database is away")

    async def on_error(error: Exception, context: Context) -> None:
        errors.append(f"{context.attempt}: {error}")

    delivery = Delivery(handle, on_error=on_error)
    await delivery.give(0, 3)
    assert tries == [([0, 1, 2], attempt) for attempt in range(1, 7)]
    assert errors == [f"{attempt}: the database is away" for attempt in range(1, 6)]
    assert delivery.done == 2
    assert delivery.kinds == ["stuck", "unstuck"]
    assert "fails on events from 0: ConnectionError: the database is away" in (
        delivery.reports[0].message
    )
    failed = [fact for fact in delivery.heard.facts if isinstance(fact, BatchFailed)]
    assert [fact.is_stuck for fact in failed] == [False, False, True, True, True]


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize("takes_one", [True, False])
async def test_poison_events_become_dead_letters_and_all_others_are_handled_once(
    is_plain: bool, takes_one: bool
) -> None:
    handled: list[int] = []

    def take(batch: list[MadeEvent]) -> None:
        for number in numbers(batch):
            if number in (3, 8):
                raise ValueError(f"event {number} is poison")
        handled.extend(numbers(batch))

    def plain_one(event: MadeEvent, context: Context) -> None:
        take([event])

    async def async_one(event: MadeEvent, context: Context) -> None:
        take([event])

    def plain(events: list[MadeEvent], context: Context) -> None:
        take(events)

    async def asynchronous(events: list[MadeEvent], context: Context) -> None:
        take(events)

    by_kind: dict[tuple[bool, bool], Any] = {
        (True, True): plain_one,
        (False, True): async_one,
        (True, False): plain,
        (False, False): asynchronous,
    }
    delivery = Delivery(by_kind[is_plain, takes_one], ASIDE)
    await delivery.give(0, 10)
    assert handled == [0, 1, 2, 4, 5, 6, 7, 9]
    assert [letter.id for letter in delivery.letters.kept] == ["3/3", "3/8"]
    assert [letter.attempts for letter in delivery.letters.kept] == [2, 2]
    assert delivery.letters.kept[0].error == "ValueError: event 3 is poison"
    assert delivery.letters.kept[0].body == b'{"n":3}'
    assert delivery.done == 9
    assert "dead-letter" in delivery.kinds


async def test_a_dead_letter_that_cannot_be_written_is_written_again_and_nothing_is_passed() -> (
    None
):
    def handle(event: MadeEvent, context: Context) -> None:
        raise ValueError("poison")

    delivery = Delivery(handle, ASIDE, letters=Letters(refusals=5))
    await delivery.give(0, 1)
    assert [letter.id for letter in delivery.letters.kept] == ["3/0"]
    assert delivery.done == 0
    assert "storage is away" in str(delivery.reports)


async def test_a_halt_stands_still_until_it_is_asked_to_end_and_nothing_is_passed() -> None:
    def handle(events: list[MadeEvent], context: Context) -> None:
        raise ValueError("poison")

    delivery = Delivery(handle, HALT)
    giving = asyncio.create_task(delivery.give(0, 3))
    await wait_until_async(lambda: "handler-halted" in delivery.kinds, 5, "the halt")
    assert not giving.done()
    delivery.partition.finish()
    await giving
    assert delivery.outcomes == []


async def test_asked_to_finish_a_failing_batch_is_left_to_the_next_owner() -> None:
    begun = asyncio.Event()

    async def handle(events: list[MadeEvent], context: Context) -> None:
        begun.set()
        if events[0].sequence_number >= 10:
            raise ValueError("again")

    delivery = Delivery(handle)
    giving = asyncio.create_task(delivery.give(0, 20))
    await wait_until_async(lambda: delivery.done == 9, 5, "the first batch")
    delivery.partition.finish()
    await giving
    await delivery.close()
    assert delivery.done == 9


async def test_a_slow_handler_of_single_events_tells_how_far_it_came_and_stops_between_them() -> (
    None
):
    async def handle(event: MadeEvent, context: Context) -> None:
        await asyncio.sleep(0.15)

    delivery = Delivery(handle)
    giving = asyncio.create_task(delivery.give(0, 10))
    await wait_until_async(lambda: delivery.outcomes, 5, "a first outcome")
    assert not giving.done()
    delivery.partition.finish()
    await asyncio.wait_for(giving, 1.0)
    assert delivery.done is not None
    assert 2 <= delivery.done < 9


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_handler_over_its_time_is_told_and_what_it_was_given_is_given_again(
    kind: str,
) -> None:
    calls: list[int] = []

    async def asynchronous(events: list[MadeEvent], context: Context) -> None:
        calls.append(context.attempt)
        if context.attempt == 1:
            await asyncio.sleep(60)

    def plain(events: list[MadeEvent], context: Context) -> None:
        calls.append(context.attempt)
        if context.attempt == 1:
            while not context.cancelled:
                time.sleep(0.005)
            raise InterruptedError("told to stop")

    handle: Any = asynchronous if kind == "async" else plain
    delivery = Delivery(handle, replace(QUICK, timeout_s=0.1))
    await delivery.give(0, 3)
    assert calls == [1, 2]
    assert delivery.done == 2


async def test_a_handler_that_does_not_come_back_is_given_up_and_its_thread_goes_first() -> None:
    release = threading.Event()
    order: list[str] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        order.append("first" if context.epoch == 7 and not order else "second")
        if order == ["first"]:
            release.wait(30)
            order.append("first is back")

    delivery = Delivery(handle, replace(QUICK, timeout_s=0.1, told_s=0.1))
    with pytest.raises(HungError, match=r"longer than 0.1 s and did not come back 0.1 s after"):
        await delivery.give(0, 3)
    await delivery.close(Close.FAILED)
    again = Delivery(handle, tools=delivery.tools)
    giving = asyncio.create_task(again.partition.handle(events(0, 3)))
    await asyncio.sleep(0)
    release.set()
    await giving
    assert order == ["first", "first is back", "second"]


async def test_a_drop_cancels_what_runs_and_nothing_of_it_counts() -> None:
    ends: list[str] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        context.state["n"] = 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ends.append(f"cancelled: {context.cancelled}")
            raise

    delivery = Delivery(handle)
    giving = asyncio.create_task(delivery.give(0, 3))
    await asyncio.sleep(0.05)
    giving.cancel()
    await asyncio.wait([giving])
    assert giving.cancelled()
    await delivery.close(Close.DROPPED)
    assert ends == ["cancelled: True"]
    assert delivery.outcomes == []


async def test_the_state_is_told_with_the_position_that_it_belongs_to() -> None:
    def handle(event: MadeEvent, context: Context) -> None:
        context.state["sum"] = context.state.get("sum", 0) + event.sequence_number
        if event.sequence_number == 5 and context.attempt == 1:
            raise ValueError("once")

    delivery = Delivery(handle, stored=b'{"sum":100}')
    await delivery.give(0, 10)
    await delivery.close()
    last = delivery.outcomes[-1]
    assert (last.position.sequence, last.state) == (9, b'{"sum":145}')
    for outcome in delivery.outcomes:
        total = 100 + sum(range(outcome.position.sequence + 1))
        assert outcome.state == b'{"sum":%d}' % total


async def test_a_state_that_the_handler_does_not_use_is_kept_as_it_was() -> None:
    async def handle(events: list[MadeEvent], context: Context) -> None:
        pass

    delivery = Delivery(handle, stored=b"anything at all")
    await delivery.give(0, 3)
    await delivery.close()
    assert delivery.outcomes[-1].state == b"anything at all"


async def test_a_checkpoint_by_hand_is_asked_for_when_the_call_is_done() -> None:
    async def handle(events: list[MadeEvent], context: Context) -> None:
        if events[0].sequence_number == 10:
            context.checkpoint()

    delivery = Delivery(handle)
    await delivery.give(0, 20)
    assert [(o.position.sequence, o.is_due) for o in delivery.outcomes] == [(9, False), (19, True)]


async def test_what_was_checkpointed_in_a_call_is_not_given_again_when_the_rest_fails() -> None:
    seen: list[list[int]] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        seen.append(numbers(events))
        if len(seen) == 1:
            context.state["up to"] = 3
            context.checkpoint(events[3])
            context.state["up to"] = 99
            raise ValueError("later")

    delivery = Delivery(handle)
    await delivery.give(0, 6)
    await delivery.close()
    assert seen == [[0, 1, 2, 3, 4, 5], [4, 5]]
    assert (delivery.outcomes[0].position.sequence, delivery.outcomes[0].is_due) == (3, True)
    assert delivery.outcomes[0].state == b'{"up to":3}'


async def test_with_checkpoints_by_hand_only_what_was_named_counts() -> None:
    async def handle(events: list[MadeEvent], context: Context) -> None:
        for event in events:
            if event.sequence_number % 4 == 3:
                context.checkpoint(event)

    delivery = Delivery(handle, replace(QUICK, checkpoint=Cadence(by_hand=True)))
    await delivery.give(0, 14)
    await delivery.close()
    assert [outcome.position.sequence for outcome in delivery.outcomes] == [7, 11]


async def test_handling_waits_for_a_checkpoint_where_the_budget_of_duplicates_asks_for_it() -> None:
    handled = 0

    async def handle(events: list[MadeEvent], context: Context) -> None:
        nonlocal handled
        handled += len(events)

    policy = replace(QUICK, checkpoint=Cadence(duplicate_budget=8))
    delivery = Delivery(handle, policy)
    giving = asyncio.create_task(delivery.give(0, 20))
    await wait_until_async(lambda: handled == 8, 5, "the budget to be used")
    assert not giving.done()
    assert [outcome.is_due for outcome in delivery.outcomes] == [True, True]
    delivery.partition.checkpointed(delivery.outcomes[0].position)
    await wait_until_async(lambda: handled == 12, 5, "the next batch")
    delivery.partition.checkpointed(delivery.outcomes[-1].position)
    await wait_until_async(lambda: handled == 20, 5, "the rest")
    await giving


async def test_on_open_and_on_close_are_called_around_everything_else() -> None:
    told: list[str] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        told.append("events")

    async def on_open(partition: str) -> None:
        told.append(f"open {partition}")

    def on_close(partition: str, reason: str) -> None:
        told.append(f"close {partition} {reason}")
        raise ValueError("no matter")

    delivery = Delivery(handle, on_open=on_open, on_close=on_close)
    await delivery.partition.open()
    await delivery.give(0, 1)
    await delivery.close()
    assert told == ["open 3", "events", "close 3 given"]
    assert delivery.kinds == ["on-close-failed"]


async def test_an_on_open_that_fails_keeps_the_partition_from_being_read() -> None:
    def handle(events: list[MadeEvent], context: Context) -> None:
        raise AssertionError

    def on_open(partition: str) -> None:
        raise OSError("disk is full")

    with pytest.raises(SourceError, match="on_open failed: OSError: disk is full"):
        await Delivery(handle, on_open=on_open).partition.open()


async def test_on_time_is_called_in_between_and_what_it_does_to_the_state_is_told() -> None:
    async def handle(events: list[MadeEvent], context: Context) -> None:
        context.state["n"] = 1

    def on_time(context: Context) -> None:
        context.state["n"] += 1

    delivery = Delivery(handle, on_time=on_time)
    await delivery.give(0, 1)
    assert delivery.partition.wake_at < time.monotonic() + 1.1

    def is_told() -> bool:
        return bool(delivery.outcomes) and delivery.outcomes[-1].state == b'{"n":2}'

    while not is_told():
        await asyncio.sleep(max(delivery.partition.wake_at - time.monotonic(), 0.0))
        await delivery.partition.handle(())
        assert time.monotonic() < delivery.partition.wake_at + 5
    assert delivery.done == 0


async def test_a_batch_waits_to_be_filled_and_is_given_when_its_time_has_come() -> None:
    seen: list[list[int]] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        seen.append(numbers(events))

    delivery = Delivery(handle, replace(QUICK, batch=replace(QUICK.batch, max_wait_s=0.2)))
    await delivery.give(0, 2)
    await delivery.give(2, 4)
    assert seen == []
    await asyncio.sleep(max(delivery.partition.wake_at - time.monotonic(), 0.0))
    await delivery.partition.handle(())
    assert seen == [[0, 1, 2, 3]]


async def test_a_handler_that_cancels_itself_has_failed_and_is_called_again() -> None:
    calls = 0

    async def handle(events: list[MadeEvent], context: Context) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise asyncio.CancelledError

    delivery = Delivery(handle)
    await delivery.give(0, 1)
    assert calls == 2
    assert delivery.done == 0
