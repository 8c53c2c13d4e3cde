"""The arithmetic of lag: exact, estimated, unknown or lost; never below 0, never 0 by ignorance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.lag import UNKNOWN_LAG, Lag, LagKind, lag_from_start, lag_of, total
from tidegate.model import Position
from tidegate.sources.start import Start

NOW = 1_000_000.0
EXACT, ESTIMATED, LOST = LagKind.EXACT, LagKind.ESTIMATED, LagKind.LOST


def test_lag_is_exact_where_both_ends_of_it_are_known() -> None:
    lag = lag_of(handled=90, end=99, handled_enqueued_at=NOW - 3, now=NOW)
    assert lag == Lag(EXACT, 9, 3.0)


@pytest.mark.parametrize(("handled", "end"), [(None, 99), (90, None), (None, None)])
def test_lag_is_unknown_where_an_end_of_it_is_missing(handled: int | None, end: int | None) -> None:
    assert lag_of(handled=handled, end=end, now=NOW) == UNKNOWN_LAG


def test_what_retention_has_passed_is_lost_and_only_what_is_left_is_counted() -> None:
    assert lag_of(handled=10, end=99, begins_at=50) == Lag(LOST, 50)
    assert lag_of(handled=10, end=49, begins_at=50) == Lag(LOST, 0, 0.0)
    assert lag_of(handled=49, end=99, begins_at=50) == Lag(EXACT, 50)


def test_nothing_is_lost_before_the_beginning_because_that_is_whatever_is_there() -> None:
    assert lag_of(handled=-1, end=99, begins_at=50) == Lag(EXACT, 50)


def test_a_single_event_that_waits_is_as_old_as_the_last_of_the_partition() -> None:
    lag = lag_of(
        handled=98, end=99, handled_enqueued_at=NOW - 3600, end_enqueued_at=NOW - 2, now=NOW
    )
    assert lag == Lag(EXACT, 1, 2.0)


def test_an_idle_hour_does_not_count_as_waiting() -> None:
    lag = lag_of(handled=90, end=99, handled_enqueued_at=NOW - 3600, clear_at=NOW - 5, now=NOW)
    assert lag == Lag(EXACT, 9, 5.0)


def test_how_long_is_not_known_where_no_time_is() -> None:
    assert lag_of(handled=90, end=99, now=NOW) == Lag(EXACT, 9, None)


def test_a_start_at_the_latest_event_means_that_nothing_waits() -> None:
    assert lag_from_start(Start(), end=99, begins_at=0, now=NOW) == Lag(ESTIMATED, 0, 0.0)
    assert lag_from_start(Start(), end=None, now=NOW) == Lag(ESTIMATED, 0, 0.0)


def test_a_start_at_the_earliest_event_counts_all_that_is_left() -> None:
    assert lag_from_start(Start("earliest"), end=99, begins_at=40, now=NOW) == Lag(ESTIMATED, 60)
    assert lag_from_start(Start("earliest"), end=None, now=NOW) == UNKNOWN_LAG
    assert lag_from_start(Start("earliest"), end=-1, now=NOW) == Lag(ESTIMATED, 0, 0.0)


def test_a_start_at_a_time_counts_at_most_all_that_is_left_and_waits_since_then_at_most() -> None:
    start = Start("time", at=NOW - 60)
    lag = lag_from_start(start, end=99, begins_at=40, end_enqueued_at=NOW - 1, now=NOW)
    assert lag == Lag(ESTIMATED, 60, 60.0)


def test_a_start_at_a_time_after_the_last_event_means_that_nothing_waits() -> None:
    start = Start("time", at=NOW - 60)
    lag = lag_from_start(start, end=99, begins_at=40, end_enqueued_at=NOW - 61, now=NOW)
    assert lag == Lag(ESTIMATED, 0, 0.0)


def test_a_start_after_a_position_counts_from_there_and_loses_nothing() -> None:
    start = Start("position", position=Position(sequence=89))
    assert lag_from_start(start, end=99, begins_at=40, now=NOW) == Lag(ESTIMATED, 10)
    assert lag_from_start(start, end=99, begins_at=95, now=NOW) == Lag(ESTIMATED, 5)


numbers = st.integers(-1, 200)
times = st.none() | st.floats(NOW - 1e6, NOW + 1e6)


@given(numbers, numbers, st.none() | numbers, times, times, times)
def test_no_lag_is_below_nothing_or_above_what_the_source_has(
    handled: int,
    end: int,
    begins_at: int | None,
    handled_at: float | None,
    clear_at: float | None,
    end_at: float | None,
) -> None:
    lag = lag_of(
        handled=handled,
        end=end,
        begins_at=begins_at,
        handled_enqueued_at=handled_at,
        clear_at=clear_at,
        end_enqueued_at=end_at,
        now=NOW,
    )
    assert lag.events is not None
    assert 0 <= lag.events <= max(end - max(begins_at or 0, 0) + 1, 0)
    assert lag.behind_s is None or lag.behind_s >= 0
    assert lag.events or lag.behind_s == 0.0


@pytest.mark.parametrize(
    ("lags", "sum_of_known", "known"),
    [
        ([], Lag(EXACT, 0, 0.0), 0),
        ([Lag(EXACT, 3, 1.0), Lag(EXACT, 4, 9.0)], Lag(EXACT, 7, 9.0), 2),
        ([Lag(EXACT, 3, 1.0), UNKNOWN_LAG], Lag(EXACT, 3, 1.0), 1),
        ([Lag(EXACT, 3), Lag(EXACT, 0, 0.0)], Lag(EXACT, 3, None), 2),
        ([Lag(EXACT, 3)], Lag(EXACT, 3, None), 1),
        ([Lag(ESTIMATED, 0, 0.0), Lag(EXACT, 4, 0.5)], Lag(ESTIMATED, 4, 0.5), 2),
        ([Lag(LOST, 3, 1.0), Lag(ESTIMATED, 4, 0.5)], Lag(LOST, 7, 1.0), 2),
        ([UNKNOWN_LAG], UNKNOWN_LAG, 0),
    ],
)
def test_a_sum_says_of_how_many_partitions_it_is(
    lags: list[Lag], sum_of_known: Lag, known: int
) -> None:
    found = total(lags)
    assert (found.lag, found.known, found.partitions) == (sum_of_known, known, len(lags))


def test_the_sum_of_all_is_unknown_if_one_is() -> None:
    assert total([Lag(EXACT, 3, 1.0), UNKNOWN_LAG]).of_all == UNKNOWN_LAG
    assert total([Lag(EXACT, 3, 1.0)]).of_all == Lag(EXACT, 3, 1.0)
