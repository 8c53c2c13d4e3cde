"""Order, retries, dead letters: what a handler can rely on when it fails."""

from __future__ import annotations

import asyncio
import gc
import threading
from dataclasses import replace
from typing import Any

import pytest

from tidegate.dead_letters.hub import HubLetters
from tidegate.delivery.letters import DeadLetter
from tidegate.delivery.policy import OnFailure
from tidegate.handlers.context import Context
from tidegate.model import Position
from tidegate.ops.observer import BatchFailed
from unit.delivery.events import MadeEvent
from unit.handlers.delivering import QUICK, Delivery, Letters, numbers

ASIDE = replace(QUICK, on_failure=OnFailure.DEAD_LETTER, attempts=2)


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
    has_turned = threading.Event()

    def handle(events: list[MadeEvent], context: Context) -> None:
        threads.add(threading.get_ident())
        assert has_turned.wait(30), "the loop was held up"

    delivery = Delivery(handle)
    giving = asyncio.create_task(delivery.give(0, 20))
    turns = 0
    while not giving.done():
        turns += 1
        await asyncio.sleep(0.001)
        if turns > 5:
            has_turned.set()
    await giving
    assert delivery.kinds == []
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
    assert "fails on events from sequence number 0: ConnectionError: the database is away" in (
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


# The SDK leaves its socket open if it is cancelled while it connects.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_dead_letter_hub_that_does_not_answer_holds_up_no_stop() -> None:
    asked, is_over = asyncio.Event(), asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await is_over.wait()
        writer.close()

    def handle(batch: list[MadeEvent], context: Context) -> None:
        raise ValueError("poison")

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = (
        f"Endpoint=sb://127.0.0.1:{port};SharedAccessKeyName=n;SharedAccessKey=aaaa;"
        "UseDevelopmentEmulator=true"
    )
    hub = HubLetters(address, "dead", says_why=True)
    delivery = Delivery(handle, ASIDE)
    delivery = Delivery(handle, tools=replace(delivery.tools, dead_letters=hub))
    giving = asyncio.create_task(delivery.give(0, 3))
    await asyncio.wait_for(asked.wait(), 20)
    await delivery.close()
    await asyncio.wait_for(giving, 10)
    await asyncio.wait_for(hub.close(), 10)
    assert delivery.done is None, "the event is read again"
    is_over.set()
    server.close()
    await server.wait_closed()
    gc.collect()


async def test_a_dead_letter_that_is_being_written_when_a_stop_is_asked_for_is_written_once() -> (
    None
):
    writing, may_go_on = asyncio.Event(), asyncio.Event()

    class Slow(Letters):
        async def put(self, letter: DeadLetter) -> str:
            writing.set()
            await may_go_on.wait()
            return await super().put(letter)

    def handle(batch: list[MadeEvent], context: Context) -> None:
        raise ValueError("poison")

    delivery = Delivery(handle, ASIDE, letters=Slow())
    giving = asyncio.create_task(delivery.give(0, 3))
    await asyncio.wait_for(writing.wait(), 20)
    delivery.partition.finish()
    may_go_on.set()
    await giving
    await delivery.close()
    assert [letter.position.sequence for letter in delivery.letters.kept] == [0]
    assert delivery.done == 0


async def test_a_write_of_a_dead_letter_that_cancels_itself_loses_no_event() -> None:
    class Cancelling(Letters):
        tries = 0

        async def put(self, letter: DeadLetter) -> str:
            self.tries += 1
            if self.tries == 1:
                raise asyncio.CancelledError
            return await super().put(letter)

    def handle(batch: list[MadeEvent], context: Context) -> None:
        raise ValueError("poison")

    delivery = Delivery(handle, ASIDE, letters=Cancelling())
    await delivery.give(0, 15)
    assert [letter.position.sequence for letter in delivery.letters.kept] == list(range(15))
    assert delivery.done == 14


async def test_a_letter_that_cannot_be_written_is_said_at_once_though_the_handler_was_before() -> (
    None
):
    def handle(event: MadeEvent, context: Context) -> None:
        raise ValueError("poison")

    policy = replace(ASIDE, attempts=5)
    delivery = Delivery(handle, policy, letters=Letters(refusals=1))
    await delivery.give(0, 1)
    said = [report.message for report in delivery.reports if report.kind == "stuck"]
    assert len(said) == 2
    first = "the handler fails on events from sequence number 0: ValueError: poison"
    assert said[0].startswith(first)
    assert "fails by itself in 5 attempts becomes a dead letter" in said[0]
    assert said[1].startswith("dead letter 3/0 cannot be written: storage is away")
