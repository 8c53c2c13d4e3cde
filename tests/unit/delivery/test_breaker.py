"""When the circuit breaker opens, and when it closes again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.breaker import FEWEST, Breaker
from tidegate.delivery.policy import CircuitBreaker, Policy
from tidegate.settings import SettingsError

DEFAULT = CircuitBreaker()


def fail(breaker: Breaker, count: int) -> int:
    """So many events in a row that fail; how many became dead letters."""
    for done in range(count):
        if not breaker.lets_through():
            return done
        breaker.put_aside()
    return count


def test_a_handler_that_always_fails_opens_it_at_the_20th_event() -> None:
    breaker = Breaker(DEFAULT)
    assert fail(breaker, 1000) == 19
    assert breaker.is_open
    assert breaker.share() == (20, 20)


def test_a_row_of_poison_events_shorter_than_20_passes() -> None:
    breaker = Breaker(DEFAULT)
    assert fail(breaker, 19) == 19
    breaker.handled(1000)
    assert fail(breaker, 19) == 19
    assert not breaker.is_open


def test_a_handler_that_breaks_after_many_good_events_opens_it_at_half_of_the_window() -> None:
    breaker = Breaker(DEFAULT)
    breaker.handled(1_000_000)
    assert fail(breaker, 1000) == 50


@given(st.lists(st.integers(0, 30), max_size=60))
def test_a_low_share_of_poison_events_never_opens_it(between: list[int]) -> None:
    breaker = Breaker(DEFAULT)
    for good in between:
        breaker.handled(good + 1)
        assert fail(breaker, 1) == 1


@given(st.integers(1, 99), st.integers(1, 300), st.lists(st.booleans(), max_size=400))
def test_it_never_lets_more_through_than_the_share_of_the_window(
    percent: int, window: int, outcomes: list[bool]
) -> None:
    breaker = Breaker(CircuitBreaker(failure_percent=percent, window_events=window))
    decided: list[bool] = []
    for is_bad in outcomes:
        if not is_bad:
            breaker.handled(1)
        elif breaker.lets_through():
            breaker.put_aside()
        else:
            break
        decided.append(is_bad)
        recent = decided[-window:]
        if is_bad and len(recent) >= min(FEWEST, window):
            assert sum(recent) <= max(1, len(recent) * percent / 100)


def test_with_100_percent_it_never_opens() -> None:
    breaker = Breaker(replace(DEFAULT, failure_percent=100))
    assert fail(breaker, 10_000) == 10_000


def test_a_success_closes_it_and_the_next_row_of_failures_opens_it_at_the_second() -> None:
    breaker = Breaker(DEFAULT)
    fail(breaker, 1000)
    breaker.handled(1)
    assert not breaker.is_open
    assert fail(breaker, 1000) == 1
    breaker.handled(1)
    breaker.handled(30)
    assert fail(breaker, 10) == 10


def test_an_attempt_without_any_event_done_does_not_close_it() -> None:
    breaker = Breaker(DEFAULT)
    fail(breaker, 1000)
    breaker.handled(0)
    assert breaker.is_open


@pytest.mark.parametrize(
    "wrong",
    [
        {"failure_percent": 0},
        {"failure_percent": 101},
        {"window_events": 0},
        {"probe_every_s": 0.0},
        {"probe_every_s": float("nan")},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=r"circuit_breaker\.\w+ \S+: write"):
        Policy(circuit_breaker=replace(DEFAULT, **wrong)).checked()  # type: ignore[arg-type]
