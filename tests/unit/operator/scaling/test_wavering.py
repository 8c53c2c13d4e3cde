"""Load that wavers: what an objective levels out changes nothing, and no step is for nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate_operator.scaling import Bound, Policy, Reason
from tidegate_operator.scaling.rates import Flow, flow_of, lasting
from unit.operator.scaling.small_traffic import Traffic

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

# One consumer of the little world handles so many events a second.
ONE = 100.0
STABLE_S = Policy().stable_s


def wavering(low: float, high: float, every_s: int, for_s: int, **facts: object) -> Traffic:
    """A rate that rises every now and then for a while."""
    return Traffic(
        lambda _, second: (high if second % every_s >= every_s - for_s else low) / 16,
        **facts,  # type: ignore[arg-type]
    )


def by_minute(*rates: float, **facts: object) -> Traffic:
    """Another rate in each minute, and the last for ever."""
    return Traffic(
        lambda _, second: rates[min(second // 60, len(rates) - 1)] / 16,
        **facts,  # type: ignore[arg-type]
    )


def by_second(at: int, before: float, after: float, **facts: object) -> Traffic:
    """One rate until a second, and another from then on."""
    return Traffic(lambda _, second: (before if second < at else after) / 16, **facts)  # type: ignore[arg-type]


# --- what has to be handled


def flowing(*rates: float, every_s: float = 5.0) -> Flow:
    """So many events a second, each for a while."""
    flow = flow_of(Flow(), 0.0, 0.0)
    for number, rate in enumerate(rates, start=1):
        flow = flow_of(flow, rate, number * every_s)
    return flow


def test_what_comes_evenly_has_to_be_handled_as_it_comes() -> None:
    assert lasting(flowing(*[40.0] * 24), 20.0) == pytest.approx(40.0)


def test_a_burst_has_to_be_handled_within_the_time_that_events_may_wait() -> None:
    # 1,000 events in 10 s, and 30 s in which they may wait.
    assert lasting(flowing(100.0, 100.0), 30.0) == pytest.approx(100.0), "nothing else is known"
    quiet_before = flowing(*[0.0] * 22, 100.0, 100.0)
    assert lasting(quiet_before, 30.0) == pytest.approx(1000 / (10 + 30))


def test_what_is_to_come_counts_for_as_long_as_help_takes() -> None:
    quiet_before = flowing(*[0.0] * 22, 100.0)
    assert lasting(quiet_before, 30.0, 100.0, 15.0) == pytest.approx(2000 / (5 + 15 + 30))


@given(rates=st.lists(st.floats(0, 500), min_size=1, max_size=24), wait_s=st.floats(1, 60))
def test_what_is_said_to_be_enough_lets_nothing_wait_for_longer(
    rates: list[float], wait_s: float
) -> None:
    # Enough is what was enough at every time so far.
    enough = max(lasting(flowing(*rates[:count]), wait_s) for count in range(1, len(rates) + 1))
    waiting = 0.0
    for rate in rates:
        waiting = max(waiting + (rate - enough) * 5.0, 0.0)
        assert waiting <= enough * wait_s + 1e-6


def test_a_pause_begins_anew_and_little_is_kept() -> None:
    flow = flowing(*[40.0] * 500)
    assert len(flow.notes) <= 26
    assert flow_of(flow, 40.0, flow.at + 61.0).notes == ((flow.at + 61.0, 0.0, 0.0),)


# --- more


def test_half_a_minute_that_the_objective_levels_out_changes_nothing() -> None:
    # 120 % of what four can handle, for half a minute: a wait of 6 s.
    world = wavering(300, 480, 300, 30, replicas=4).run(1800)
    assert world.counts == []
    assert 3 < world.worst_s < 15


def test_what_lasts_is_answered_before_half_of_the_objective() -> None:
    for rate in (4.1 * ONE, 5 * ONE, 8 * ONE):
        world = by_minute(300, 300, 300, rate, replicas=4).run(900)
        assert world.counts and world.replicas * ONE > rate
        assert world.worst_s < 30, rate


@pytest.mark.parametrize("at", [600, 601])
def test_what_rises_is_asked_for_whole_within_seconds_whenever_it_is_looked_at(at: int) -> None:
    world = Traffic(lambda _, second: (1200 if second >= at else 40) / 16).run(at + 600)
    assert world.replicas == 16
    assert world.changes[-1][0] <= at + 5


def test_who_wakes_a_group_counts_what_comes_until_somebody_reads() -> None:
    world = Traffic(
        lambda _, s: 0 if 100 < s <= 871 else 300 / 16, policy=Policy(min=0), start_s=16
    ).run(600)
    counts = [world.look_after(30).replicas for _ in range(10)]
    # 8,700 wait, 290/s have come since the look before, and so for the 16 s of a start.
    assert counts == [0] * 9 + [6]


# --- fewer


def test_peaks_that_fewer_would_have_levelled_out_do_not_keep_consumers() -> None:
    # For 15 s in every 100 more comes than four can handle.
    world = wavering(250, 450, 100, 15, replicas=8).run(3600)
    assert world.counts == [4]
    assert world.worst_s < 15


def test_a_peak_that_fewer_would_have_been_late_for_keeps_consumers() -> None:
    world = wavering(150, 1200, 150, 60, replicas=16).run(3600)
    assert world.counts == []


@pytest.mark.slow
def test_the_wait_after_a_step_that_had_to_be_undone_grows_until_steps_are_rare() -> None:
    world = wavering(150, 1200, 500, 60, replicas=16).run(2 * 3600)
    downs = [at for at, _, decision in world.changes if decision.reason is Reason.FEWER]
    assert world.late_s == 0
    assert 2 <= len(downs) <= 3, "of 14 lulls"
    assert all(later - sooner > STABLE_S for sooner, later in pairwise(downs))


def test_a_step_that_had_to_be_undone_says_nothing_of_half_as_many() -> None:
    # The load wavers until the group waits for long, and then it is another one.
    world = wavering(350, 1200, 500, 60, replicas=16).run(2400)
    patience, failed = world.history.trials.patience, world.history.trials.failed
    assert patience >= 2 and failed >= 4
    world.arriving = lambda _, __: 100 / 16
    began = world.now
    world.run(3600)
    at, count, decision = world.changes[-1]
    assert count * 2 <= failed
    assert at - began < STABLE_S * 2, "and not as long as for a step like the one that failed"
    assert decision.message.endswith("have been enough for 3m")


def test_nobody_goes_while_more_has_begun_to_come() -> None:
    # What fewer would do for is over at the very look at which they would go.
    for second in range(int(STABLE_S) + 20, int(STABLE_S) + 120, 8):
        world = by_second(second, 150, 900, replicas=16)
        world.run(second + 30)
        assert all((decision.inputs.needed or 0) <= count for _, count, decision in world.changes)


@pytest.mark.slow
def test_who_wants_to_be_rid_of_consumers_sooner_is() -> None:
    policy = Policy(stable_s=20.0)
    world = Traffic(lambda _, s: (800 if s < 300 else 80) / 16, policy=policy).run(300)
    assert world.replicas >= 8
    world.run(60)
    assert world.counts[-1] == 1, "fewer are enough for 20 s, and 40 s after it became less"


@given(rates=st.lists(st.integers(0, 1200), min_size=8, max_size=12))
@settings(max_examples=10, deadline=None)
def test_whatever_comes_by_minute_the_objective_is_kept_and_nobody_comes_for_a_moment(
    rates: list[int],
) -> None:
    world = by_minute(*rates).run(60 * len(rates) + 600)
    assert world.late_s == 0
    up_at = -STABLE_S
    for at, count, decision in world.changes:
        if decision.reason is Reason.FEWER:
            assert at - up_at >= STABLE_S
            assert (decision.inputs.needed or 0) <= count
        else:
            up_at = float(at)


# --- what cannot be


def test_where_every_partition_gets_more_than_can_be_handled_of_it_that_is_said() -> None:
    world = Traffic(
        lambda _, s: 130.0 if s >= 300 else 5.0, partitions=8, partition_rate=100.0
    ).run(600)
    assert world.replicas == 8
    assert world.last is not None
    assert world.last.bound is Bound.PARTITIONS


# --- what steps are worth


@pytest.mark.parametrize("start_s", [2, 15])
def test_a_step_that_gained_nothing_is_undone_however_fast_consumers_join(start_s: int) -> None:
    world = Traffic(
        lambda _, s: (600 if s > 300 else 60) / 16,
        rate=lambda members: min(ONE, 250 / max(members, 1)),
        start_s=start_s,
    ).run(1000)
    assert max(world.counts) >= 8
    assert world.replicas == 3
