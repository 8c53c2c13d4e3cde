"""Nothing that user code does with what it is given, or raises, loses an event or ends a member."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from support.stamped_messages import section, stamped
from tidegate.delivery.policy import Cadence, OnFailure
from tidegate.handlers.context import Context
from tidegate.handling import Close
from tidegate.model import Position
from tidegate.ops.observer import BatchFailed
from tidegate.ports import SourceError
from tidegate.sources.cosmos.change import Change
from tidegate.sources.native.event import Event
from tidegate_amqp.encode import encode, encode_described
from tidegate_amqp.sections import APPLICATION_PROPERTIES, DATA
from unit.delivery.events import MadeEvent
from unit.handlers.delivering import QUICK, Delivery, numbers

ASIDE = replace(QUICK, on_failure=OnFailure.DEAD_LETTER, attempts=2)
BY_HAND = replace(QUICK, checkpoint=Cadence(by_hand=True))


# --- events are the handler's own


def _sorted(events: list[MadeEvent]) -> None:
    events.sort(key=lambda event: -event.sequence_number)


def _drained(events: list[MadeEvent]) -> None:
    while events:
        events.pop(0)


def _cut(events: list[MadeEvent]) -> None:
    del events[:5]


def _filled(events: list[MadeEvent]) -> None:
    events[:] = [MadeEvent(10_000)] * 100


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
@pytest.mark.parametrize("poison", [None, 3])
@pytest.mark.parametrize("change", [_sorted, _drained, _cut, _filled])
async def test_a_handler_may_change_the_list_that_it_is_given(
    change: Callable[[Any], None], poison: int | None, is_async: bool
) -> None:
    handled: list[int] = []

    def take(events: list[MadeEvent], context: Context) -> None:
        given = numbers(events)
        change(events)
        if poison in given:
            raise ValueError("poison")
        handled.extend(given)

    async def take_async(events: list[MadeEvent], context: Context) -> None:
        take(events, context)

    delivery = Delivery(take_async if is_async else take, ASIDE)
    await delivery.give(0, 25)
    await delivery.close()
    assert handled == [number for number in range(25) if number != poison]
    aside = [letter.position.sequence for letter in delivery.letters.kept]
    assert aside == ([] if poison is None else [poison])
    assert delivery.done == 24


def _change(number: int) -> Change:
    change = Change({"id": str(number), "_lsn": number, "_ts": 1_000, "deep": {"n": [number]}})
    place: Any = type("P", (), {"position": Position(str(number), number)})()
    change.put_at(place)
    return change


def _hub_event(number: int) -> Event:
    properties = encode_described(APPLICATION_PROPERTIES, encode({"n": number}))
    body = section(DATA, b"\xa0\x01x")
    return Event(stamped(number, str(number), 1_000_000) + properties + body)


def _spoil_change(change: Any) -> None:
    change["deep"]["n"].append("seen")
    change["when"] = object()
    for key in [key for key in change if key.startswith("_")]:
        del change[key]


def _spoil_event(event: Any) -> None:
    event.properties.clear()
    event.properties["seen"] = object()


@pytest.mark.parametrize(
    ("made", "spoil", "says"),
    [
        (_change, _spoil_change, lambda event: deepcopy(dict(event))),
        (_hub_event, _spoil_event, lambda event: dict(event.properties)),
    ],
    ids=["change", "hub event"],
)
async def test_what_a_failed_call_changed_in_an_event_is_undone_for_the_next_and_for_its_letter(
    made: Callable[[int], Any], spoil: Callable[[Any], None], says: Callable[[Any], Any]
) -> None:
    seen: list[Any] = []

    def handle(events: list[Any], context: Context) -> None:
        for event in events:
            if event.sequence_number == 2:
                seen.append(says(event))
            spoil(event)
        if any(event.sequence_number == 2 for event in events):
            raise ValueError("poison")

    delivery = Delivery(handle, ASIDE)
    await delivery.partition.handle([made(number) for number in range(4)])
    assert seen == [says(made(2))] * len(seen)
    assert len(seen) > ASIDE.attempts
    (letter,) = delivery.letters.kept
    assert letter.body == made(2).content
    assert letter.position == made(2).position if made is _hub_event else letter.position
    assert set(letter.properties.values()) == set(made(2).properties.values())
    assert delivery.done == 3
    assert delivery.outcomes[-1].enqueued_at == made(3).enqueued_at


@pytest.mark.parametrize(
    "name",
    ["position", "checkpointed", "partition", "epoch", "member", "group", "attempt", "memory"],
)
async def test_what_the_context_says_cannot_be_assigned(name: str) -> None:
    def handle(events: list[MadeEvent], context: Context) -> None:
        setattr(context, name, Position("9", 10_000_000))

    delivery = Delivery(handle, ASIDE)
    await delivery.give(0, 2)
    assert [letter.position.sequence for letter in delivery.letters.kept] == [0, 1]
    assert "AttributeError" in delivery.letters.kept[0].error
    assert delivery.done == 1


@pytest.mark.parametrize(
    "name", ["position", "sequence_number", "offset", "payload", "enqueued_at"]
)
async def test_the_place_of_an_event_cannot_be_assigned(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(_hub_event(1), name, 7)


async def test_memory_may_hold_anything_and_change_at_any_time() -> None:
    stop = threading.Event()
    counts: list[bool] = []

    class Looks:
        """Like what our own helpers keep there."""

        def call_ended(self, *, counts: bool) -> None:
            raise ValueError("not yours to call")

        def _no(self) -> Any:
            raise ValueError("not yours to ask")

        __class__ = property(_no)

    def busy(memory: dict[str, Any]) -> None:
        number = 0
        while not stop.is_set():
            memory[str(number % 1000)] = number
            memory.pop(str((number * 7) % 1000), None)
            number += 1

    async def handle(event: MadeEvent, context: Context) -> None:
        if not context.memory:
            context.memory["looks"] = Looks()
            threading.Thread(target=busy, args=(context.memory,), daemon=True).start()
        counts.append(True)

    delivery = Delivery(handle)
    try:
        await delivery.give(0, 2000)
    finally:
        stop.set()
    assert len(counts) == 2000
    assert delivery.done == 1999


# --- marks


@pytest.mark.parametrize("policy", [QUICK, ASIDE, BY_HAND], ids=["retry", "aside", "by hand"])
@pytest.mark.parametrize("takes_one", [True, False])
async def test_a_call_that_marks_all_its_events_and_then_fails_is_told_and_nothing_comes_again(
    policy: Any, takes_one: bool
) -> None:
    handled: list[int] = []

    def one(event: MadeEvent, context: Context) -> None:
        handled.append(event.sequence_number)
        context.checkpoint(event)
        raise ValueError("after all of it")

    def all_of_them(events: list[MadeEvent], context: Context) -> None:
        handled.extend(numbers(events))
        context.checkpoint(events[-1])
        raise ValueError("after all of it")

    delivery = Delivery(one if takes_one else all_of_them, policy)
    await delivery.give(0, 25)
    await delivery.close()
    assert handled == list(range(25))
    assert delivery.done == 24
    assert delivery.letters.kept == []
    failed = [fact for fact in delivery.heard.facts if isinstance(fact, BatchFailed)]
    assert len(failed) == (25 if takes_one else 3)
    assert "after all of it" in failed[0].error
    assert not any(fact.is_stuck for fact in failed[:3])


async def test_marking_what_only_looks_like_an_event_of_the_call_counts_as_ours() -> None:
    class Fake:
        position = Position("20", 2)
        enqueued_at = "never"

    def handle(events: list[MadeEvent], context: Context) -> None:
        context.checkpoint(Fake())  # type: ignore[arg-type]

    delivery = Delivery(handle, BY_HAND)
    await delivery.give(0, 5)
    assert delivery.outcomes[-1].position == Position("20", 2)
    assert delivery.outcomes[-1].enqueued_at == 1_000.0


# --- what is raised


class BadText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class TextExits(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


class Own(BaseException):
    pass


def _recurse() -> None:
    _recurse()


def _raises(error: Callable[[], BaseException]) -> Callable[[], None]:
    def run() -> None:
        raise error()

    return run


ENDS: dict[str, tuple[Callable[[], None], str]] = {
    "sys.exit(0)": (_raises(lambda: SystemExit(0)), "sys.exit(0) was called: "),
    "sys.exit()": (_raises(SystemExit), "sys.exit() was called: "),
    "sys.exit(text)": (_raises(lambda: SystemExit("bye")), "sys.exit(bye) was called: "),
    "KeyboardInterrupt": (_raises(KeyboardInterrupt), "KeyboardInterrupt: that fails the call"),
    "GeneratorExit": (_raises(GeneratorExit), "GeneratorExit: that fails the call"),
    "BaseException": (_raises(lambda: Own("x")), "Own: x: that fails the call"),
    "BaseExceptionGroup": (
        _raises(lambda: BaseExceptionGroup("g", [KeyboardInterrupt()])),
        "BaseExceptionGroup: g",
    ),
    "CancelledError": (_raises(asyncio.CancelledError), "CancelledError: the handler raised it"),
    "StopIteration": (_raises(StopIteration), "StopIteration"),
    "StopAsyncIteration": (_raises(StopAsyncIteration), "StopAsyncIteration"),
    "TimeoutError": (_raises(TimeoutError), "TimeoutError"),
    "RecursionError": (_recurse, "RecursionError: maximum recursion"),
    "MemoryError": (_raises(MemoryError), "MemoryError"),
    "ExceptionGroup": (_raises(lambda: ExceptionGroup("g", [ValueError()])), "ExceptionGroup: g"),
    "bad text": (_raises(BadText), "BadText: (no text: its __str__ raised ValueError)"),
    "text exits": (_raises(TextExits), "TextExits: (no text: its __str__ raised SystemExit)"),
    "huge text": (_raises(lambda: ValueError("x" * 20_000_000)), "… (20,000,000 characters)"),
    "control characters": (_raises(lambda: ValueError("\x1b[2J\ud800")), r"\x1b[2J\ud800"),
}


@pytest.mark.parametrize("kind", ["plain", "async", "single", "async single"])
@pytest.mark.parametrize("name", ENDS)
async def test_whatever_a_handler_raises_is_a_failed_batch(name: str, kind: str) -> None:
    end, words = ENDS[name]
    handled: list[int] = []

    def take(batch: list[MadeEvent]) -> None:
        if 3 in numbers(batch):
            end()
        handled.extend(numbers(batch))

    def plain(events: list[MadeEvent], context: Context) -> None:
        take(events)

    async def asynchronous(events: list[MadeEvent], context: Context) -> None:
        take(events)

    def single(event: MadeEvent, context: Context) -> None:
        take([event])

    async def async_single(event: MadeEvent, context: Context) -> None:
        take([event])

    by_kind: Any = {"plain": plain, "async": asynchronous, "single": single}
    delivery = Delivery(by_kind.get(kind, async_single), ASIDE)
    await delivery.give(0, 25)
    await delivery.close()
    assert handled == [number for number in range(25) if number != 3]
    (letter,) = delivery.letters.kept
    assert letter.position.sequence == 3
    # What Python itself makes of a StopIteration in a coroutine.
    assert words in letter.error or name == "StopIteration"
    assert letter.trace.startswith("Traceback")
    assert len(letter.error) < 10_000
    failed = [fact for fact in delivery.heard.facts if isinstance(fact, BatchFailed)]
    assert all(len(fact.error) < 1_500 for fact in failed)
    assert any("(test_user_code.py, line " in fact.error for fact in failed)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
@pytest.mark.parametrize("hook", ["on_open", "on_close", "on_time", "on_error"])
@pytest.mark.parametrize("name", ENDS)
async def test_whatever_a_hook_raises_is_reported_and_events_are_handled(
    name: str, hook: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.handlers.partition.ON_TIME_EVERY_S", 0.0)
    end, words = ENDS[name]
    handled: list[int] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        if hook == "on_error" and context.attempt == 1:
            raise ValueError("once")
        handled.extend(numbers(events))

    def plain(*_: Any) -> None:
        end()

    async def asynchronous(*_: Any) -> None:
        end()

    others: dict[str, Any] = {hook: asynchronous if is_async else plain}
    delivery = Delivery(handle, **others)
    if hook == "on_open":
        with pytest.raises(SourceError, match="on_open failed: ") as raised:
            await delivery.partition.open()
        said = str(raised.value)
    else:
        await delivery.give(0, 5)
        await delivery.close(Close.GIVEN)
        assert handled == list(range(5))
        said = next(each.message for each in delivery.reports if each.message.startswith(hook))
    assert said.startswith(f"{hook} failed: ")
    assert words in said or name == "StopIteration"


async def test_an_error_whose_text_hangs_makes_the_call_hang_and_not_the_member() -> None:
    release = threading.Event()

    class Hangs(Exception):
        def __str__(self) -> str:
            release.wait(30)
            return "late"

    def handle(events: list[MadeEvent], context: Context) -> None:
        raise Hangs

    delivery = Delivery(handle, replace(QUICK, timeout_s=0.1, told_s=0.1))
    begun = time.monotonic()
    with pytest.raises(Exception, match="did not come back"):
        await delivery.give(0, 3)
    assert time.monotonic() - begun < 20
    release.set()
    assert delivery.outcomes == []


async def test_a_value_in_the_state_that_ends_the_process_when_it_is_encoded_fails_the_call() -> (
    None
):
    class Exits(dict[str, Any]):
        def items(self) -> Any:
            raise SystemExit(0)

    handled: list[int] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        if context.attempt == 1:
            context.state["n"] = Exits(a=1)
        handled.extend(numbers(events))

    delivery = Delivery(handle)
    await delivery.give(0, 3)
    assert handled == [0, 1, 2, 0, 1, 2]
    assert delivery.done == 2
    assert delivery.outcomes[-1].state is None


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_handler_that_returns_when_it_is_told_to_stop_has_failed(kind: str) -> None:
    """Nobody knows how many of its events it left out."""
    handled: list[int] = []

    def plain(events: list[MadeEvent], context: Context) -> None:
        while context.attempt == 1:
            if context.cancelled:
                return
            time.sleep(0.005)
        handled.extend(numbers(events))

    async def asynchronous(events: list[MadeEvent], context: Context) -> None:
        if context.attempt == 1:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return
        handled.extend(numbers(events))

    handle: Any = plain if kind == "plain" else asynchronous
    delivery = Delivery(handle, replace(QUICK, timeout_s=0.2))
    await delivery.give(0, 3)
    assert handled == [0, 1, 2]
    assert delivery.done == 2
    failed = [fact for fact in delivery.heard.facts if isinstance(fact, BatchFailed)]
    assert ["returned when it was told to stop" in fact.error for fact in failed] == [True]


async def test_on_error_is_given_what_was_raised_and_cannot_mark_events() -> None:
    errors: list[BaseException] = []

    def handle(events: list[MadeEvent], context: Context) -> None:
        if context.attempt == 1:
            raise SystemExit(3)

    def on_error(error: BaseException, context: Context) -> None:
        errors.append(error)
        context.state["errors"] = 1
        context.checkpoint(MadeEvent(1))

    delivery = Delivery(handle, on_error=on_error)
    await delivery.give(0, 3)
    await delivery.close()
    assert [type(error) for error in errors] == [SystemExit]
    (said,) = [report.message for report in delivery.reports]
    assert "is not one of the events of this call" in said
    assert all(outcome.state is None for outcome in delivery.outcomes)
