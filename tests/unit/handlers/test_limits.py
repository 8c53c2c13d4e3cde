"""What happens to a handler that is slow, hangs, or is asked to stop."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from support.wait import wait_until_async
from tidegate.delivery.policy import OnFailure
from tidegate.handlers.context import Context
from tidegate.handling import Close, HungError
from unit.delivery.events import MadeEvent, events
from unit.handlers.delivering import QUICK, Delivery

HALT = replace(QUICK, on_failure=OnFailure.HALT, attempts=2)


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
    await asyncio.wait_for(giving, 30)
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
    delivery = Delivery(handle, replace(QUICK, timeout_s=0.5))
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
    with pytest.raises(
        HungError, match=r"longer than 0.1 s and did not come back 0.1 s after"
    ) as it:
        await delivery.give(0, 3)
    is_back = asyncio.Event()
    it.value.on_return(is_back.set)
    await delivery.close(Close.FAILED)
    again = Delivery(handle, tools=delivery.tools)
    giving = asyncio.create_task(again.partition.handle(events(0, 3)))
    await asyncio.sleep(0)
    assert not is_back.is_set()
    release.set()
    await giving
    assert order == ["first", "first is back", "second"]
    await asyncio.wait_for(is_back.wait(), 30)


async def test_a_drop_cancels_what_runs_and_nothing_of_it_counts() -> None:
    ends: list[str] = []
    begun = asyncio.Event()

    async def handle(events: list[MadeEvent], context: Context) -> None:
        context.state["n"] = 1
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ends.append(f"cancelled: {context.cancelled}")
            raise

    delivery = Delivery(handle)
    giving = asyncio.create_task(delivery.give(0, 3))
    await asyncio.wait_for(begun.wait(), 30)
    giving.cancel()
    await asyncio.wait([giving])
    assert giving.cancelled()
    await delivery.close(Close.DROPPED)
    assert ends == ["cancelled: True"]
    assert delivery.outcomes == []


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


@pytest.mark.parametrize("then", ["still running", "back"])
@pytest.mark.parametrize("kind", ["plain", "single", "async", "on_time", "on_error"])
async def test_the_state_of_a_call_that_is_given_up_is_told_as_it_was_before_it(
    kind: str, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on beside the loop and commits, and nothing of that is told."""
    release, ended = threading.Event(), threading.Event()

    def count(context: Context, events: int) -> None:
        context.state["n"] = context.state.get("n", 0) + events

    def hang(context: Context, events: int) -> None:
        count(context, events)
        release.wait(30)
        context.state["late"] = True
        context.state.commit()
        ended.set()

    def plain(events: list[MadeEvent], context: Context) -> None:
        (hang if events[0].sequence_number >= 10 else count)(context, len(events))

    def single(event: MadeEvent, context: Context) -> None:
        (hang if event.sequence_number == 13 else count)(context, 1)

    async def asynchronous(events: list[MadeEvent], context: Context) -> None:
        count(context, len(events))
        try:
            await asyncio.sleep(60 if events[0].sequence_number >= 10 else 0)
        except asyncio.CancelledError:
            count(context, 100)
            await asyncio.to_thread(hang, context, 0)

    def failing(events: list[MadeEvent], context: Context) -> None:
        count(context, len(events))
        if events[0].sequence_number >= 10:
            raise ValueError("poison")

    def on_time(context: Context) -> None:
        hang(context, 100)

    def on_error(error: Exception, context: Context) -> None:
        hang(context, 100)

    handle: Any = {"single": single, "async": asynchronous, "on_error": failing}.get(kind, plain)
    others: dict[str, Any] = {"on_time": {"on_time": on_time}, "on_error": {"on_error": on_error}}
    monkeypatch.setattr("tidegate.handlers.partition.ON_TIME_EVERY_S", 0.0)
    policy = replace(QUICK, timeout_s=0.1, told_s=0.1)
    delivery = Delivery(handle, policy, stored=b'{"n":0,"other":1}', **others.get(kind, {}))
    with pytest.raises(HungError):
        await delivery.give(0, 10)
        await delivery.give(10, 20)
    if then == "back":
        release.set()
        assert await asyncio.to_thread(ended.wait, 30)
    await delivery.close(Close.FAILED)
    release.set()
    assert delivery.done == 9
    assert delivery.outcomes[-1].state == b'{"n":10,"other":1}'
