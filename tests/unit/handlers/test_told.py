"""What is told as handled, with which state, and when."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from support.wait import wait_until_async
from tidegate.delivery.policy import Cadence
from tidegate.handlers.context import Context
from tidegate.handlers.ending import call_on_stop
from tidegate.ports import SourceError
from unit.delivery.events import MadeEvent
from unit.handlers.delivering import QUICK, Delivery, numbers


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


async def nothing(events: list[MadeEvent], context: Context) -> None:
    pass


@pytest.mark.parametrize("is_plain", [False, True])
async def test_on_stop_is_called_once_async_or_plain(is_plain: bool) -> None:
    told: list[str] = []

    def plain() -> None:
        told.append(threading.current_thread().name)

    async def on_loop() -> None:
        told.append(threading.current_thread().name)

    await call_on_stop(Delivery(nothing, on_stop=plain if is_plain else on_loop).tools)
    assert told == ["handler-stop" if is_plain else "MainThread"]


async def test_an_on_stop_that_fails_or_hangs_is_told_and_keeps_nothing_from_ending() -> None:
    def fails() -> None:
        raise OSError("disk is full")

    def hangs() -> None:
        time.sleep(600)

    quick = replace(QUICK, timeout_s=0.1, told_s=0.1)
    for on_stop, words in (
        (fails, "on_stop failed: OSError: disk is full"),
        (hangs, "on_stop took longer than 0.1 s and does not come back"),
    ):
        delivery = Delivery(nothing, quick, on_stop=on_stop)
        await call_on_stop(delivery.tools)
        (report,) = delivery.reports
        assert report.message.startswith(words)
        assert delivery.kinds == ["on-stop-failed"]


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

    delivery = Delivery(handle, replace(QUICK, batch=replace(QUICK.batch, max_wait_s=0.5)))
    await delivery.give(0, 2)
    await delivery.give(2, 4)
    assert seen == []
    await asyncio.sleep(max(delivery.partition.wake_at - time.monotonic(), 0.0))
    await delivery.partition.handle(())
    assert seen == [[0, 1, 2, 3]]


async def test_the_context_says_up_to_where_a_checkpoint_stands() -> None:
    seen: list[int] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        seen.append(context.checkpointed.sequence)

    delivery = Delivery(handle)
    await delivery.give(0, 3)
    delivery.partition.checkpointed(delivery.outcomes[-1].position)
    await delivery.give(3, 5)
    assert seen == [-1, 2]
