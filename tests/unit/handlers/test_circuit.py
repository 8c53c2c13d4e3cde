"""The circuit breaker: a broken handler moves few events to dead letters, and none is lost."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from support.wait import wait_until_async
from tidegate.delivery.breaker import Breaker
from tidegate.delivery.policy import Backoff, CircuitBreaker, OnFailure
from tidegate.handlers.context import Context
from tidegate.handling import Close
from tidegate.ops.observer import BatchFailed
from unit.delivery.events import MadeEvent
from unit.handlers.delivering import QUICK, Delivery, numbers

PROBE_S = 0.02
ASIDE = replace(
    QUICK,
    on_failure=OnFailure.DEAD_LETTER,
    attempts=2,
    circuit_breaker=CircuitBreaker(probe_every_s=PROBE_S),
)
NEVER_AGAIN = replace(ASIDE, circuit_breaker=CircuitBreaker(probe_every_s=3600.0))


class Broken:
    """A handler that raises until it is fixed."""

    def __init__(self) -> None:
        self.is_fixed = False
        self.tried: list[list[int]] = []
        self.handled: list[int] = []

    def batch(self) -> object:
        def handle(events: list[MadeEvent], context: Context) -> None:
            self.take(numbers(events))

        return handle

    def one(self) -> object:
        async def handle_event(event: MadeEvent, context: Context) -> None:
            self.take([event.sequence_number])

        # The name of the first parameter makes it a handler of single events.
        return handle_event

    def take(self, batch: list[int]) -> None:
        self.tried.append(batch)
        if not self.is_fixed:
            raise TypeError("a bug")
        self.handled += batch


def kept(delivery: Delivery) -> list[int]:
    return [letter.position.sequence for letter in delivery.letters.kept]


@pytest.mark.parametrize("kind", ["batch", "one"])
async def test_a_handler_that_always_raises_puts_19_events_aside_and_then_the_partition_stops(
    kind: str,
) -> None:
    broken = Broken()
    handle = broken.batch() if kind == "batch" else broken.one()
    delivery = Delivery(handle, NEVER_AGAIN)  # type: ignore[arg-type]
    giving = asyncio.create_task(delivery.give(0, 500))
    await wait_until_async(lambda: "circuit-open" in delivery.kinds, 20, "the breaker to open")
    tries = len(broken.tried)
    assert kept(delivery) == list(range(19))
    assert delivery.done == 18, "what is not handled and not put aside is in no checkpoint"
    (text,) = [each.message for each in delivery.reports if each.kind == "circuit-open"]
    assert "fails on 20 of the last 20 events, more than 50 %" in text
    assert "stops before event 19: TypeError: a bug" in text
    assert "Fix the handler, or what it writes to" in text
    assert "new code needs a rollout, or a restart of the member" in text
    assert "pause and resume" in text and "rewind" in text
    assert not giving.done()
    assert len(broken.tried) == tries, "nothing is given before the next probe"
    # A hand-over, or the end of the process: at once, and nothing more counts as handled.
    await delivery.close()
    await asyncio.wait_for(giving, 10)
    assert (kept(delivery), delivery.done) == (list(range(19)), 18)


async def test_while_it_is_open_the_first_event_alone_is_probed_and_a_success_resumes() -> None:
    broken = Broken()
    delivery = Delivery(broken.batch(), ASIDE)  # type: ignore[arg-type]
    giving = asyncio.create_task(delivery.give(0, 100))
    await wait_until_async(lambda: "circuit-open" in delivery.kinds, 20, "the breaker to open")
    before = len(broken.tried)
    await wait_until_async(lambda: len(broken.tried) > before + 5, 20, "probes")
    assert broken.tried[before:] == [[19]] * (len(broken.tried) - before)
    failed = [fact for fact in delivery.heard.facts if isinstance(fact, BatchFailed)]
    assert all(fact.is_stuck for fact in failed[-5:])
    assert len(kept(delivery)) == 19
    broken.is_fixed = True
    await giving
    assert broken.handled == list(range(19, 100)), "every event that is not put aside, in order"
    assert kept(delivery) == list(range(19))
    assert delivery.done == 99
    assert [each.kind for each in delivery.reports].count("circuit-open") == 1
    assert [each.kind for each in delivery.reports].count("circuit-closed") == 1


async def test_poison_events_among_good_ones_are_put_aside_as_without_it() -> None:
    handled: list[int] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        for number in numbers(events):
            if number in poison:
                raise ValueError("poison")
        handled.extend(numbers(events))

    # A row that is shorter than what the breaker needs, and single ones later on.
    poison = [*range(15), *range(43, 400, 10)]

    delivery = Delivery(handle, NEVER_AGAIN)
    await asyncio.wait_for(delivery.give(0, 400), 60)
    assert kept(delivery) == poison
    assert sorted([*handled, *poison]) == list(range(400))
    assert "circuit-open" not in delivery.kinds


async def test_where_it_is_switched_off_everything_that_fails_is_put_aside() -> None:
    off = replace(ASIDE, circuit_breaker=CircuitBreaker(failure_percent=100))
    delivery = Delivery(Broken().batch(), off)  # type: ignore[arg-type]
    await delivery.give(0, 60)
    assert kept(delivery) == list(range(60))


@pytest.mark.parametrize(
    ("reason", "more"), [(Close.FAILED, 0), (Close.STOLEN, 0), (Close.GIVEN, 19)]
)
async def test_a_reader_that_the_source_ended_keeps_it_open_and_a_resumed_partition_begins_anew(
    reason: Close, more: int
) -> None:
    delivery = Delivery(Broken().batch(), NEVER_AGAIN)  # type: ignore[arg-type]
    giving = asyncio.create_task(delivery.give(0, 100))
    await wait_until_async(lambda: "circuit-open" in delivery.kinds, 20, "the breaker to open")
    await delivery.close(reason)
    await giving
    later = Delivery(Broken().batch(), NEVER_AGAIN, tools=delivery.tools)  # type: ignore[arg-type]
    delivery.reports.clear()
    giving = asyncio.create_task(later.give(19, 100))
    await wait_until_async(lambda: "circuit-open" in delivery.kinds, 20, "the breaker to open")
    await later.close()
    await giving
    assert len(delivery.letters.kept) == 19 + more


async def test_a_breaker_that_closes_for_the_next_reader_is_said_to_be_closed() -> None:
    broken = Broken()
    delivery = Delivery(broken.batch(), NEVER_AGAIN)  # type: ignore[arg-type]
    giving = asyncio.create_task(delivery.give(0, 100))
    await wait_until_async(lambda: "circuit-open" in delivery.kinds, 20, "the breaker to open")
    await delivery.close(Close.FAILED)
    await giving
    broken.is_fixed = True
    later = Delivery(broken.batch(), NEVER_AGAIN, tools=delivery.tools)  # type: ignore[arg-type]
    await later.give(19, 100)
    await later.close()
    assert broken.handled == list(range(19, 100))
    assert delivery.kinds[-1] == "circuit-closed"


async def test_attempts_of_a_reader_that_begins_with_an_open_breaker_have_the_backoff() -> None:
    at: list[float] = []

    def handle(event: MadeEvent, context: Context) -> None:
        at.append(time.monotonic())
        raise TypeError("a bug")

    slow = replace(NEVER_AGAIN, attempts=3, backoff=Backoff(first_s=0.1, most_s=0.1))
    delivery = Delivery(handle, slow)
    delivery.tools.breakers["3"] = Breaker(slow.circuit_breaker, is_open=True)
    later = Delivery(handle, tools=delivery.tools)
    giving = asyncio.create_task(later.give(0, 1))
    await wait_until_async(lambda: len(at) == 3, 20, "all attempts")
    await later.close()
    await giving
    assert min(at[1] - at[0], at[2] - at[1]) >= 0.04
