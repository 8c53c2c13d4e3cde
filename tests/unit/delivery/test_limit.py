"""How many plain calls run at once, by how long others wait for the interpreter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.limit import START, SWITCH_S, Watched, limit_after, share

ONE_COMPUTES = Watched((0.0012, 0.0011, 0.0013, 0.0011, 0.0012), 0.99, 15)
SIXTEEN_COMPUTE = Watched((0.016, 0.007, 0.022, 0.012, 0.060), 0.99, 0)
ALL_WAIT = Watched((0.0001, 0.0001, 0.0002, 0.0001), 0.03, 14)


def at_rest(limit: int, threads: int) -> int:
    """Where the limit comes to rest with threads that compute all the time: each waits for the
    others for the time of a switch."""
    for _ in range(20):
        running = min(limit, threads)
        watched = Watched([SWITCH_S * running * share for share in (1.0, 1.1, 1.2, 1.3)], 1.0, 99)
        limit = limit_after(limit, watched)
    return limit


def test_threads_that_compute_come_down_to_a_few_from_any_number() -> None:
    assert limit_after(16, SIXTEEN_COMPUTE) == 8
    assert {at_rest(limit, 16) for limit in range(1, 64)} <= {1, 2, 3}


def test_one_thread_that_computes_gets_no_other_beside_it() -> None:
    assert limit_after(1, ONE_COMPUTES) == 1
    assert limit_after(START, ONE_COMPUTES) == START


def test_threads_that_wait_for_others_all_run_within_a_few_looks() -> None:
    limit = START
    for _ in range(5):
        limit = limit_after(limit, ALL_WAIT)
    assert limit >= 32


def test_threads_that_compute_outside_the_interpreter_all_run() -> None:
    assert limit_after(2, Watched((0.0001,) * 5, 3.9, 14)) == 4


def test_a_machine_on_which_everybody_is_late_does_not_hold_up_calls_that_wait() -> None:
    assert limit_after(4, Watched((0.05, 0.06, 0.07, 0.08), 0.05, 3)) == 8


def test_where_nobody_waits_for_a_turn_there_is_nothing_to_raise() -> None:
    assert limit_after(4, Watched((0.0001,) * 5, 0.01, 0)) == 4


@given(st.integers(1, 1_000), st.lists(st.floats(0, 10)), st.floats(0, 64), st.integers(0, 1_000))
def test_one_call_at_least_may_always_run_and_a_look_at_most_doubles_or_halves(
    limit: int, late_s: list[float], cpu: float, waiting: int
) -> None:
    found = limit_after(limit, Watched(late_s, cpu, waiting))
    assert max(limit // 2, 1) <= found <= limit * 2


@given(st.integers(1, 100), st.integers(0, 1_000), st.floats(0, 60))
def test_the_turns_of_all_who_want_one_come_round_within_the_target(
    limit: int, wanting: int, target_s: float
) -> None:
    each_s = target_s * share(limit, wanting)
    assert 0 <= each_s <= target_s
    assert each_s * max(wanting, limit) / limit <= target_s * 1.000001
