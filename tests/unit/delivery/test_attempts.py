"""What follows a failure of the handler: again, split, put aside, or halt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.attempts import (
    Finished,
    Give,
    Halt,
    PutAside,
    begin,
    done,
    done_until,
    failed,
    next_step,
    pause_s,
)
from tidegate.delivery.policy import Backoff, OnFailure, Policy

RETRY = Policy()
ASIDE = Policy(on_failure=OnFailure.DEAD_LETTER, attempts=3)
HALT = Policy(on_failure=OnFailure.HALT, attempts=3)


def test_a_failing_batch_is_given_again_whole_for_ever_by_default() -> None:
    todo = begin(10)
    for attempt in range(1, 200):
        assert next_step(RETRY, todo) == Give(0, 10, attempt)
        todo = failed(RETRY, todo)


def test_a_halt_comes_after_the_attempts_that_were_asked_for_and_not_before() -> None:
    todo = begin(10)
    for _ in range(3):
        assert isinstance(next_step(HALT, todo), Give)
        todo = failed(HALT, todo)
    assert next_step(HALT, todo) == Halt(3)


def test_what_the_handler_said_is_done_is_not_given_again() -> None:
    todo = failed(RETRY, done_until(begin(10), 4))
    assert todo.done == 4
    assert next_step(RETRY, todo) == Give(4, 10, 2)
    assert next_step(RETRY, done_until(todo, 10)) == Finished()


def test_an_empty_batch_is_finished() -> None:
    assert next_step(RETRY, begin(0)) == Finished()


@given(st.integers(1, 40), st.sets(st.integers(0, 39)), st.integers(1, 4))
def test_exactly_the_poison_events_are_put_aside_and_all_others_are_handled_in_order(
    count: int, poison: set[int], attempts: int
) -> None:
    policy = Policy(on_failure=OnFailure.DEAD_LETTER, attempts=attempts)
    handled: list[int] = []
    aside: list[int] = []
    tried: dict[int, int] = {}
    todo = begin(count)
    calls = 0
    while not isinstance(step := next_step(policy, todo), Finished):
        if isinstance(step, PutAside):
            aside.append(step.index)
            todo = done(todo)
            continue
        assert isinstance(step, Give)
        calls += 1
        given_now = range(step.first, step.end)
        assert todo.done == step.first == len(handled) + len(aside)
        for index in given_now:
            tried[index] = tried.get(index, 0) + 1
        if poison & set(given_now):
            todo = failed(policy, todo)
        else:
            handled += given_now
            todo = done(todo)
    bad = sorted(poison & set(range(count)))
    assert aside == bad
    assert handled == [index for index in range(count) if index not in poison]
    assert all(tried[index] >= attempts for index in bad)
    assert calls <= attempts + len(bad) * (attempts + 2 * count.bit_length() + 2) + 1


def test_a_single_poison_event_of_500_is_found_in_few_calls() -> None:
    todo, calls = begin(500), 0
    while not isinstance(step := next_step(ASIDE, todo), PutAside | Finished):
        assert isinstance(step, Give)
        calls += 1
        todo = failed(ASIDE, todo) if step.first <= 377 < step.end else done(todo)
    assert step == PutAside(377, 3)
    assert calls < 25


@pytest.mark.parametrize("dice", [0.0, 0.5, 1.0])
def test_waits_grow_to_a_limit_and_are_jittered(dice: float) -> None:
    backoff = Backoff(first_s=0.5, most_s=30.0)
    waits = [backoff.pause_s(failures, dice) for failures in range(1, 12)]
    assert waits == sorted(waits)
    assert waits[-1] == 30.0 * (1 - dice / 2)
    assert backoff.pause_s(10_000, dice) == waits[-1]


def test_a_split_does_not_wait() -> None:
    before = begin(8)
    for _ in range(2):
        after = failed(ASIDE, before)
        assert pause_s(ASIDE, before, after, 0.0) > 0
        before = after
    assert pause_s(ASIDE, before, failed(ASIDE, before), 0.0) == 0.0
