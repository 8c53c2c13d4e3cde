"""Batch sizes by what an event costs: how they begin, grow, shrink and come to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.sizing import (
    GROWTH,
    SHRINKAGE,
    Call,
    Sizing,
    Together,
    after,
    fitting,
    inherited,
    joined,
)

TARGET_S = 1.0
MOST = 500

costs = st.floats(1e-7, 30.0)
calls = st.builds(Call, st.integers(1, 5_000), st.floats(0.0, 1e6))


def lived(
    calls: int, fixed_s: float, event_s: float, sizing: Sizing | None = None
) -> Iterator[tuple[Sizing, Call]]:
    """Calls of a handler that always has enough events, each with the sizing after it."""
    sizing = sizing or Sizing()
    for _ in range(calls):
        events = min(sizing.most, MOST)
        call = Call(events, fixed_s + event_s * events)
        sizing = after(sizing, call, TARGET_S)
        yield sizing, call


def rate(calls: Iterator[tuple[Sizing, Call]]) -> float:
    all_calls = [call for _, call in calls]
    return sum(call.events for call in all_calls) / sum(call.seconds for call in all_calls)


def test_the_first_call_of_a_handler_of_unknown_cost_has_one_event() -> None:
    assert Sizing().most == 1


def test_ten_milliseconds_an_event_are_soon_a_hundred_events_a_call() -> None:
    sizes = [call.events for _, call in lived(12, 0.0, 0.01)]
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 100, 100]


def test_events_that_cost_more_than_the_target_come_one_by_one() -> None:
    """Two are tried once, to see whether they take longer than one."""
    assert [call.events for _, call in lived(6, 0.0, 5.0)] == [1, 2, 1, 1, 1, 1]
    assert [call.events for _, call in lived(6, 0.0, 60.0)] == [1, 1, 1, 1, 1, 1]


@given(st.lists(calls, max_size=30), st.floats(0.01, 60.0))
def test_a_call_has_one_event_at_least_and_the_next_at_most_twice_and_at_least_a_quarter(
    history: list[Call], target_s: float
) -> None:
    sizing = Sizing()
    for call in history:
        before, sizing = sizing, after(sizing, call, target_s)
        assert sizing.most >= 1
        assert sizing.most >= call.events // SHRINKAGE
        assert sizing.most <= max(call.events * GROWTH, before.most)


@given(costs)
def test_a_call_comes_to_take_no_longer_than_the_target_however_slow_an_event_is(
    event_s: float,
) -> None:
    *_, (_, last) = lived(40, 0.0, event_s)
    assert last.seconds <= max(TARGET_S * 1.01, event_s)
    # And no shorter than it need: rounding down costs one event.
    assert last.events + 1 >= min(TARGET_S / event_s, MOST) * 0.99


@given(costs, st.floats(1.5, 1000.0))
def test_events_that_become_dearer_exceed_the_target_for_two_calls_of_the_whole_excess_in_all(
    event_s: float, times: float
) -> None:
    *_, (sizing, last) = lived(40, 0.0, event_s)
    excess_s = 0.0
    for _, call in lived(12, 0.0, event_s * times, sizing):
        excess_s += max(call.seconds - max(TARGET_S, event_s * times), 0.0)
    assert excess_s <= 2 * last.seconds * times


@given(st.floats(1e-6, 0.1), st.floats(1.5, 10_000.0), st.floats(0.0, 0.4))
def test_one_slow_outlier_costs_its_own_time_and_a_tenth_of_a_second_more(
    event_s: float, times: float, fixed_s: float
) -> None:
    *_, (steady, last) = lived(40, fixed_s, event_s)
    expected = rate(lived(40, fixed_s, event_s, steady))
    outlier = after(steady, Call(last.events, last.seconds * times), TARGET_S)
    calls = [call for _, call in lived(40, fixed_s, event_s, outlier)]
    seconds = sum(call.seconds for call in calls)
    lost_s = seconds - sum(call.events for call in calls) / expected
    assert lost_s <= 4 * fixed_s + 0.1
    assert calls[-1].events >= last.events * 0.9 - 1


@given(st.floats(0.0, 5.0), st.floats(1e-7, 1e-3))
def test_a_cost_that_is_of_the_call_alone_does_not_make_batches_small(
    fixed_s: float, event_s: float
) -> None:
    """A transaction, or a file, for each call: half of the time at least is for the events, or
    the batch is as large as may be."""
    *_, (sizing, last) = lived(40, fixed_s, event_s)
    room_s = max(TARGET_S - fixed_s, fixed_s)
    assert last.events >= min(room_s / event_s, MOST) * 0.9 - 1
    assert rate(lived(10, fixed_s, event_s, sizing)) > 0.45 * min(
        1 / event_s, MOST / (fixed_s + MOST * event_s)
    )


def test_a_cost_of_the_call_alone_is_told_from_one_of_the_events_also_where_sizes_sink_slowly() -> (
    None
):
    *_, (sizing, last) = lived(14, 1.2, 0.0001, Sizing(most=125))
    assert last.events == MOST
    assert sizing.most >= MOST


def test_a_few_events_now_and_then_neither_raise_nor_lower_the_size_of_a_fast_handler() -> None:
    *_, (sizing, _) = lived(20, 0.0, 0.0001)
    for events in (1, 3, 2, 1, 1, 5):
        sizing = after(sizing, Call(events, events * 0.0001), TARGET_S)
    assert sizing.most == MOST * GROWTH
    few = after(Sizing(most=4), Call(1, 0.0001), TARGET_S)
    assert few.most == 4


def test_one_event_that_takes_long_keeps_a_burst_small() -> None:
    *_, (sizing, _) = lived(20, 0.0, 0.0001)
    sizing = after(sizing, Call(1, 1.0), TARGET_S)
    assert sizing.most <= 2


def test_a_partition_that_comes_begins_with_a_quarter_of_what_others_have() -> None:
    *_, (sizing, _) = lived(20, 0.0, 0.01)
    assert inherited(Together(sizing=sizing)) == replace(sizing, most=sizing.most // 4)
    assert inherited(Together()).most == 1


@given(st.lists(st.tuples(st.integers(1, 600), st.floats(0.5, 2.0)), min_size=30, max_size=60))
def test_noise_and_batches_of_any_size_leave_a_call_within_a_few_times_the_target(
    history: list[tuple[int, float]],
) -> None:
    """An event takes 10 ms, twice as long or half as long; as many wait as it may be."""

    def lasted(waiting: int, noise: float) -> Callable[[int], Call]:
        return lambda most: Call(min(waiting, most), 0.01 * noise * min(waiting, most))

    sizing, longest_s = Sizing(), 0.0
    for waiting, noise in history:
        call = lasted(waiting, noise)(min(sizing.most, MOST))
        longest_s = max(longest_s, call.seconds)
        sizing = after(sizing, call, TARGET_S)
    assert longest_s <= 4 * GROWTH * TARGET_S


def beside(
    partitions: int,
    fixed_s: float,
    event_s: float,
    *,
    is_locked: bool = True,
    trickles: int = 0,
    seconds: float = 60.0,
) -> tuple[list[float], list[float]]:
    """Partitions that always have enough events, and some that get one every 20 ms, each call
    under one lock or not: events a second of each, and its longest call after a while."""
    sizings, together = [Sizing()] * partitions, Together()
    handled, longest_s = [0] * partitions, [0.0] * partitions
    free_at, noise = 0.0, Random(1)
    due: list[tuple[float, int, int]] = [(0.0, number, number) for number in range(partitions)]
    running: dict[int, tuple[float, Call, Together]] = {}
    heapify(due)
    while due and due[0][0] < seconds:
        at, _, number = heappop(due)
        if number in running:
            begun_at, call, begun = running.pop(number)
            together = joined(together, begun, call, TARGET_S)
            sizings[number] = after(sizings[number], call, TARGET_S)
            handled[number] += call.events
            if begun_at > seconds / 4:
                longest_s[number] = max(longest_s[number], call.seconds)
            if number >= partitions - trickles:
                heappush(due, (at + 0.02, len(due), number))
                continue
        is_trickle = number >= partitions - trickles
        events = 1 if is_trickle else min(fitting(sizings[number], together, TARGET_S), MOST)
        work_s = (fixed_s + event_s * events) * noise.uniform(0.9, 1.1)
        ends_at = (max(free_at, at) if is_locked else at) + work_s
        free_at = ends_at if is_locked else free_at
        running[number] = at, Call(events, ends_at - at), together
        heappush(due, (ends_at, len(due), number))
    return [events / seconds for events in handled], longest_s


@pytest.mark.parametrize("partitions", [4, 16])
@pytest.mark.parametrize("event_s", [0.05, 0.01, 0.001])
def test_partitions_that_wait_for_one_lock_get_about_the_same_and_their_calls_stay_short(
    partitions: int, event_s: float
) -> None:
    rates, longest_s = beside(partitions, 0.0, event_s)
    assert sum(rates) > 0.95 / event_s
    assert max(rates) < 5 * min(rates)
    assert max(longest_s) < 5 * TARGET_S


def test_a_fixed_cost_under_a_lock_does_not_make_batches_small() -> None:
    rates, _ = beside(16, 0.3, 0.0001, seconds=300.0)
    assert sum(rates) > 0.7 * MOST / (0.3 + MOST * 0.0001)


@pytest.mark.parametrize(("fixed_s", "event_s"), [(0.0, 0.0002), (0.05, 0.0001), (0.0, 0.01)])
def test_a_busy_partition_is_not_held_down_by_others_that_have_few_events(
    fixed_s: float, event_s: float
) -> None:
    rates, _ = beside(16, fixed_s, event_s, is_locked=False, trickles=15)
    size = min(TARGET_S / event_s, MOST)
    assert rates[0] > 0.8 * size / (fixed_s + size * event_s)
