"""Handlers that sort, drop, mark, raise and return at random: what delivery promises holds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.delivery.letters import DeadLetter
from tidegate.delivery.policy import Backoff, Batch, Cadence, OnFailure, Policy
from tidegate.handlers.context import About, Context
from tidegate.handlers.loading import UserCode
from tidegate.handlers.threads import Threads
from tidegate.handlers.tools import Tools
from tidegate.handling import Outcome
from unit.delivery.events import MadeEvent
from unit.handlers.delivering import Delivery, Letters, numbers

# Plain functions of all examples share one thread.
THREADS = Threads()
QUICK = Backoff(first_s=0.0001, most_s=0.001)


@dataclass(frozen=True)
class Act:
    """One call: it changes its list, marks an event, and ends in some way."""

    change: str = "none"  # none, sort, drain, cut
    mark: int | None = None  # an index, counted around the events of the call
    end: str = "return"  # return, raise, exit, generator, cancel


@dataclass(frozen=True)
class Plan:
    """A handler, the sizes of its batches, and the delivery settings."""

    acts: tuple[Act, ...]
    poison: frozenset[int]
    sizes: tuple[int, ...]
    max_events: int
    attempts: int
    takes_one: bool
    is_async: bool
    by_hand: bool
    puts_aside: bool
    is_sized: bool = False

    @property
    def policy(self) -> Policy:
        return Policy(
            on_failure=OnFailure.DEAD_LETTER if self.puts_aside else OnFailure.RETRY,
            attempts=self.attempts,
            backoff=QUICK,
            batch=Batch(max_events=self.max_events, target_s=1.0 if self.is_sized else 0.0),
            checkpoint=Cadence(by_hand=self.by_hand),
        )


acts = st.builds(
    Act,
    st.sampled_from(["none", "sort", "drain", "cut"]),
    st.none() | st.integers(0, 5),
    st.sampled_from(["return", "raise", "exit", "generator", "cancel"]),
)
plans = st.builds(
    Plan,
    st.lists(acts, max_size=12).map(tuple),
    st.frozensets(st.integers(0, 15), max_size=4),
    st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple),
    st.integers(1, 7),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@dataclass
class World:
    """Runs a plan and records each call."""

    plan: Plan
    # Events in the order in which they were done, each as `handled` or `aside`.
    done: list[tuple[int, str]] = field(default_factory=list)
    calls: list[list[int]] = field(default_factory=list)
    # The events that each failed call has left undone.
    failed: list[list[int]] = field(default_factory=list)
    marked: int = -1
    # Broken promises: an assertion in a call would only be a failure of the call.
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._acts = list(self.plan.acts)

    def call(self, events: list[MadeEvent], context: Context) -> Any:
        given, own = numbers(events), list(events)
        first = len(self.done)
        if not given or given != list(range(first, first + len(given))):
            self.wrong.append(f"{given} after {first} events")
        # The events of a handler of single events are reported together.
        known = self.marked if self.plan.by_hand else first - 1
        at = context.position.sequence
        if at > known or (at < known and not self.plan.takes_one):
            self.wrong.append(f"position {at} after {first} events")
        self.calls.append(given)
        act = self._acts.pop(0) if self._acts else Act()
        self._change(act, events)
        until = 0
        for index, event in enumerate(own):
            context.state["n"] = context.state.get("n", 0) + 1
            if act.mark is not None and index == act.mark % len(own):
                context.checkpoint(event)
                until, self.marked = index + 1, given[index]
        end = act.end
        if self.plan.puts_aside and self.plan.poison & set(given):
            end = "raise"
        if end != "return":
            self.done += [(number, "handled") for number in given[:until]]
            self.failed.append(given[until:])
            return self._fail(end)
        self.done += [(number, "handled") for number in given]
        return None

    @staticmethod
    def _change(act: Act, events: list[MadeEvent]) -> None:
        if act.change == "sort":
            events.reverse()
        elif act.change == "drain":
            events.clear()
        elif act.change == "cut":
            del events[::2]

    @staticmethod
    def _fail(end: str) -> Any:
        if end == "generator":
            return (each for each in range(3))
        raise {"raise": ValueError, "exit": SystemExit, "cancel": asyncio.CancelledError}[end]


class _Letters(Letters):
    """Records each letter, and checks that its event alone failed so often."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def put(self, letter: DeadLetter) -> str:
        number, plan = letter.position.sequence, self._world.plan
        # It was the one event of so many calls that was neither handled nor marked.
        if letter.attempts != plan.attempts or self._world.failed.count([number]) < plan.attempts:
            self._world.wrong.append(f"{number} put aside after {self._world.failed}")
        self._world.done.append((number, "aside"))
        return await super().put(letter)


def _handler(world: World) -> Any:
    def plain(events: list[MadeEvent], context: Context) -> Any:
        return world.call(events, context)

    async def asynchronous(events: list[MadeEvent], context: Context) -> Any:
        await asyncio.sleep(0)
        return world.call(events, context)

    def plain_one(event: MadeEvent, context: Context) -> Any:
        return world.call([event], context)

    async def async_one(event: MadeEvent, context: Context) -> Any:
        await asyncio.sleep(0)
        return world.call([event], context)

    by_batch, by_event = (asynchronous, async_one) if world.plan.is_async else (plain, plain_one)
    return by_event if world.plan.takes_one else by_batch


async def _run(world: World) -> tuple[list[Outcome], Letters]:
    letters, plan = _Letters(world), world.plan
    tools = Tools(
        UserCode(_handler(world)),
        plan.policy,
        About("m", "g", "h"),
        letters,
        lambda _: None,
        time.monotonic,
        time.time,
        lambda: 0.5,
        threads=THREADS,
    )
    delivery = Delivery(_handler(world), tools=tools, letters=letters, takes_one=plan.takes_one)
    first = 0
    for size in plan.sizes:
        await asyncio.wait_for(delivery.give(first, first + size), 60)
        first += size
    await delivery.close()
    return delivery.outcomes, letters


def _counted(outcome: Outcome) -> int:
    return 0 if outcome.state is None else int(json.loads(outcome.state)["n"])


def _handled_up_to(done: Sequence[tuple[int, str]], number: int) -> int:
    return sum(1 for each, how in done if how == "handled" and each <= number)


@given(plans)
@example(
    Plan((Act("sort", 0, "raise"),) * 3, frozenset({1}), (4, 4), 4, 1, False, False, False, True)
)
@example(Plan((Act("drain", 5, "exit"),) * 4, frozenset(), (6,), 6, 2, False, True, True, False))
def test_each_event_is_handled_or_put_aside_once_in_order_and_the_state_counts_what_was_handled(
    plan: Plan,
) -> None:
    world = World(plan)
    outcomes, letters = asyncio.run(_run(world))
    events = sum(plan.sizes)
    assert world.wrong == []
    # Every event once, in order.
    assert [number for number, _ in world.done] == list(range(events))
    # Put aside is what the handler cannot take, and nothing else.
    aside = [number for number, how in world.done if how == "aside"]
    assert aside == [letter.position.sequence for letter in letters.kept]
    if not plan.puts_aside:
        assert aside == []
    elif not plan.acts:
        assert aside == [number for number in range(events) if number in plan.poison]
    # Checkpoint positions go forward, and never beyond an event that is not done.
    positions = [outcome.position.sequence for outcome in outcomes]
    assert positions == sorted(positions)
    assert (positions[-1] if positions else -1) == (world.marked if plan.by_hand else events - 1)
    if not plan.by_hand:
        # The state of a place holds what was handled up to it, once: also of calls that failed.
        for outcome in outcomes:
            assert _counted(outcome) == _handled_up_to(world.done, outcome.position.sequence)


def test_the_same_without_anything_random_is_told_at_the_end() -> None:
    plan = Plan((), frozenset({2}), (3, 3), 3, 2, False, False, False, True)
    world = World(plan)
    outcomes, letters = asyncio.run(_run(world))
    assert [letter.id for letter in letters.kept] == ["3/2"]
    assert outcomes[-1].position.sequence == 5
    assert world.calls[:2] == [[0, 1, 2], [0, 1, 2]]
    assert replace(plan, poison=frozenset()).policy.attempts == 2
