"""Turns of plain calls, and batches as large as their calls have time for."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from support.wait import wait_until_async
from tidegate.delivery.limit import SWITCH_S
from tidegate.delivery.policy import Batch, OnFailure, Policy
from tidegate.handlers.context import Context
from tidegate.handlers.partition import PartitionDelivery
from tidegate.handlers.turns import Turns
from tidegate.handling import HungError, Opening
from tidegate.model import BEGINNING
from unit.delivery.events import MadeEvent, events
from unit.handlers.delivering import QUICK, Delivery, numbers

SIZED = replace(QUICK, batch=Batch(max_events=500))


async def test_turns_come_in_the_order_in_which_they_were_asked_for() -> None:
    turns = Turns(limit=2)
    asked = [turns.ask() for _ in range(5)]
    assert [turn.done() for turn in asked] == [True, True, False, False, False]
    turns.end()
    assert [turn.done() for turn in asked] == [True, True, True, False, False]
    turns.end()
    turns.end()
    assert all(turn.done() for turn in asked)


async def test_who_wants_a_turn_no_longer_holds_up_nobody() -> None:
    turns = Turns(limit=1)
    first, second, third = (turns.ask() for _ in range(3))
    second.cancel()
    turns.end()
    assert first.result() and third.result()
    fourth = turns.ask()
    assert not fourth.done()
    fourth.set_result(False)
    turns.end()
    assert turns.ask().result()


async def test_the_time_for_a_call_is_shared_by_all_who_want_one() -> None:
    turns = Turns(limit=2)
    assert turns.share == 1.0
    asked = [turns.ask() for _ in range(16)]
    assert turns.share == 0.125
    for turn in asked[2:]:
        turn.cancel()
    turns.end()
    assert turns.share == 1.0


async def test_calls_that_hang_keep_nobody_else_from_its_turn() -> None:
    turns = Turns(limit=1)
    turns.ask()
    waiting = [turns.ask() for _ in range(4)]
    await wait_until_async(lambda: all(turn.done() for turn in waiting), 30, "their turns")


def computing(seconds: float) -> Any:
    def handle(events: list[MadeEvent], context: Context) -> None:
        for _ in events:
            until = time.thread_time() + seconds
            while time.thread_time() < until:
                sum(range(200))

    return handle


class Beside:
    """Deliveries of many partitions of one member, with what each call had."""

    def __init__(
        self,
        handle: Any,
        partitions: int,
        policy: Policy = SIZED,
        turns: Turns | None = None,
    ) -> None:
        self.calls: dict[str, list[int]] = {str(n): [] for n in range(partitions)}

        def counted(events: list[MadeEvent], context: Context) -> None:
            self.calls[context.partition].append(len(events))
            handle(events, context)

        self.turns = turns or Turns()
        tools = replace(Delivery(counted, policy).tools, turns=self.turns)
        self.all = [
            PartitionDelivery(tools, Opening(name, BEGINNING, 7, None), lambda _: None)
            for name in self.calls
        ]

    async def run(self, seconds: float, waiting: int = 10_000) -> None:
        """All have events meanwhile."""
        given = events(0, waiting)
        handling = [asyncio.create_task(each.handle(given)) for each in self.all]
        await asyncio.sleep(seconds)
        for each in self.all:
            each.finish()
        await asyncio.gather(*handling)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """As `tidegate run` sets it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    yield
    sys.setswitchinterval(before)


class AllAtOnce(Turns):
    """Every call has its turn at once, whatever that does to others."""

    def __init__(self) -> None:
        super().__init__(limit=1_000)

    def _watch(self) -> None:
        pass


async def trips_beside(beside: Beside) -> int:
    """How often the loop gets a byte through a socket in 3 s, as a connection of its own does:
    each time it gives up the interpreter and waits to get it back."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    loop, trips = asyncio.get_running_loop(), 0

    async def talk() -> None:
        nonlocal trips
        while True:
            await loop.sock_sendall(ours, b"x")
            await loop.sock_recv(theirs, 1)
            trips += 1
            await asyncio.sleep(0.001)

    talking = asyncio.create_task(talk())
    await beside.run(3.0)
    talking.cancel()
    with suppress(asyncio.CancelledError):
        await talking
    ours.close()
    theirs.close()
    return trips


@pytest.mark.slow
async def test_sixteen_partitions_that_compute_each_have_their_turn_and_leave_the_loop_room(
    quick_switches: None,
) -> None:
    starved = await trips_beside(Beside(computing(0.01), 16, turns=AllAtOnce()))
    beside = Beside(computing(0.01), 16)
    assert await trips_beside(beside) > 2 * starved
    assert all(beside.calls.values())
    assert beside.turns.limit <= 4


async def test_plain_calls_that_wait_for_others_soon_all_run_at_the_same_time() -> None:
    running, most, guard = 0, 0, threading.Lock()

    def handle(events: list[MadeEvent], context: Context) -> None:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with guard:
            running -= 1

    beside = Beside(handle, 16)
    waiting = asyncio.create_task(beside.run(3.0))
    await wait_until_async(lambda: most == 16, 30, "all at the same time", lambda: most)
    await waiting


async def test_a_call_has_as_many_events_as_the_target_time_has_room_for() -> None:
    sizes: list[int] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        sizes.append(len(events))
        time.sleep(0.02 * len(events))

    policy = replace(SIZED, batch=Batch(max_events=500, target_s=0.2))
    delivery = Delivery(handle, policy)
    await delivery.give(0, 60)
    assert sum(sizes) == 60
    assert sizes[:3] == [1, 2, 4]
    assert max(sizes) <= 16


async def test_max_events_is_never_exceeded_however_fast_the_handler_is() -> None:
    sizes: list[int] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        sizes.append(len(events))

    delivery = Delivery(handle, replace(SIZED, batch=Batch(max_events=40)))
    await delivery.give(0, 500)
    assert sizes[:7] == [1, 2, 4, 8, 16, 32, 40]
    assert max(sizes) == 40


async def test_a_partition_that_comes_later_begins_with_what_calls_here_have_taken() -> None:
    sizes: list[int] = []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        sizes.append(len(events))

    first = Delivery(handle, SIZED)
    await first.give(0, 1_000)
    sizes.clear()
    second = Delivery(handle, tools=first.tools)
    await second.give(0, 1_000)
    assert sizes[0] >= 100


@pytest.mark.parametrize("on_failure", [OnFailure.RETRY, OnFailure.DEAD_LETTER])
async def test_a_batch_that_takes_longer_than_a_call_may_is_given_again_in_parts(
    on_failure: OnFailure,
) -> None:
    """Its events have become slow: all of them in one call would never be done in time."""
    event_s, handled = 0.0, []

    async def handle(events: list[MadeEvent], context: Context) -> None:
        await asyncio.sleep(event_s * len(events))
        handled.extend(numbers(events))

    policy = replace(SIZED, timeout_s=0.5, attempts=2, on_failure=on_failure)
    delivery = Delivery(handle, policy)
    await delivery.give(0, 100)
    event_s = 0.05
    await asyncio.wait_for(delivery.give(100, 140), 60)
    assert handled == list(range(140))
    assert delivery.letters.kept == []
    assert delivery.done == 139


async def test_who_is_asked_to_finish_while_it_waits_for_its_turn_waits_no_longer() -> None:
    begun, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    seen: list[Sequence[int]] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        seen.append(numbers(events))
        loop.call_soon_threadsafe(begun.set)
        release.wait(30)

    first = Delivery(handle, SIZED)
    first.tools.turns.limit = 1
    second = PartitionDelivery(first.tools, Opening("4", BEGINNING, 7, None), lambda _: None)
    running = asyncio.create_task(first.give(0, 1))
    await begun.wait()
    waiting = asyncio.create_task(second.handle(events(0, 5)))
    await asyncio.sleep(0)
    second.finish()
    await asyncio.wait_for(waiting, 30)
    assert seen == [[0]]
    release.set()
    await running


async def test_a_call_that_is_given_up_or_dropped_has_its_turn_no_longer() -> None:
    release = threading.Event()

    def handle(events: list[MadeEvent], context: Context) -> None:
        release.wait(30)

    for is_dropped in (False, True):
        delivery = Delivery(handle, replace(SIZED, timeout_s=0.1, told_s=0.1))
        delivery.tools.turns.limit = 1
        giving = asyncio.create_task(delivery.give(0, 1))
        if is_dropped:
            await asyncio.sleep(0)
            giving.cancel()
        with suppress(HungError, asyncio.CancelledError):
            await giving
        assert delivery.tools.turns.ask().done()
    release.set()
