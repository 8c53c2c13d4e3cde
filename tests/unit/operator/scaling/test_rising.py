"""What is clearly too much is answered at once; what wavers, and what was there before, is not."""

from __future__ import annotations

import pytest

from tidegate_operator.scaling import PartitionSample, Policy, Sample
from tidegate_operator.scaling.rates import Arrivals, Flow, flow_of
from tidegate_operator.scaling.rising import is_higher, is_rising, is_step, rising, told
from unit.operator.scaling.small_traffic import Traffic

# One consumer of the little world handles so many events a second.
ONE = 100.0


def flowing(*rates: float) -> Flow:
    """So many events a second, each for five seconds."""
    flow = flow_of(Flow(), 0.0, 0.0)
    for number, rate in enumerate(rates, start=1):
        flow = flow_of(flow, rate, number * 5.0)
    return flow


# --- what is a step


def test_much_more_than_ever_before_is_a_step() -> None:
    flow = flowing(20, 22, 18, 20)
    assert is_step(flow, 200.0)
    assert is_step(flow, 33.0)
    assert not is_step(flow, 32.0)


def test_as_much_as_came_once_in_the_last_minutes_is_none() -> None:
    """Who sends all at once each minute is no cause to grow each minute."""
    assert not is_step(flowing(0, 0, 200, 0, 0, 0, 0, 0), 200.0)


def test_what_comes_now_is_not_compared_with_itself() -> None:
    assert is_step(flowing(20, 20, 20, 200), 200.0)


def test_where_nothing_is_known_of_the_time_before_there_is_no_step() -> None:
    assert not is_step(Flow(), 200.0)
    assert not is_step(flowing(20), 200.0)


def test_the_newest_rate_counts_where_it_is_clearly_more_or_its_owner_says_so() -> None:
    arrivals = {
        "0": Arrivals(rate=100.0, newest=119.0),
        "1": Arrivals(rate=100.0, newest=130.0),
        "2": Arrivals(rate=100.0, newest=20.0),
        "3": Arrivals(rate=100.0),
        "4": Arrivals(),
        "5": Arrivals(rate=100.0, newest=130.0),
    }
    rows = {p: PartitionSample(arriving=200.0 if p == "5" else None) for p in arrivals}
    said = told(arrivals, rows)
    assert said == {"0": 100.0, "1": 100.0, "2": 100.0, "3": 100.0, "4": 0.0, "5": 200.0}
    found = rising(arrivals, said)
    assert found == {"0": 100.0, "1": 130.0, "2": 100.0, "3": 100.0, "4": 0.0, "5": 200.0}


@pytest.mark.parametrize(
    ("newest", "said", "since", "waits"),
    [
        (100.0, 20.0, 24.0, True),
        (100.0, 90.0, 24.0, False),
        (100.0, 20.0, 22.0, False),
        (100.0, 20.0, None, False),
        (25.0, 20.0, 24.0, False),
    ],
    ids=["it rises", "it is known", "for too long", "never", "a little more"],
)
def test_what_rises_is_waited_for_until_it_is_known_how_high_but_not_for_long(
    newest: float, said: float, since: float | None, *, waits: bool
) -> None:
    arrivals = {"0": Arrivals(rate=20.0, newest=newest)}
    assert is_higher(arrivals, {"0": said}, flowing(20, 20, 20, 20, 20), since) is waits


# --- whether to look again soon


def seen(lag: int | None, handling: float = 50.0) -> Sample:
    return Sample(0.0, {"0": PartitionSample(lag=lag, handling=handling)})


@pytest.mark.parametrize(
    ("before", "now", "is_more"),
    [
        (seen(0), seen(51), True),
        (seen(0), seen(50), False),
        (seen(100), seen(151), True),
        (seen(100), seen(20), False),
        (seen(0, 1.0), seen(10, 1.0), False),
        (seen(0, 1.0), seen(11, 1.0), True),
        (seen(0), seen(None), False),
        (None, seen(1000), False),
    ],
)
def test_more_waits_where_it_is_more_than_is_handled_in_a_moment(
    before: Sample | None, now: Sample, *, is_more: bool
) -> None:
    assert is_rising({}, before, now) is is_more


@pytest.mark.parametrize(
    ("coming", "handling", "is_more"),
    [(80.0, 50.0, True), (74.0, 50.0, False), (12.0, 1.0, True), (10.0, 1.0, False)],
)
def test_more_comes_where_it_is_clearly_more_than_is_handled(
    coming: float, handling: float, *, is_more: bool
) -> None:
    arrivals = {"0": Arrivals(rate=1.0, newest=coming)}
    assert is_rising(arrivals, seen(0, handling), seen(0, handling)) is is_more


# --- what comes of it


def changing(before: float, after: float, at: int = 300, **facts: object) -> Traffic:
    return Traffic(lambda _, s: (after if s >= at else before) / 16, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("within_s", [10.0, 30.0, 60.0, 300.0])
@pytest.mark.parametrize("after", [1.6 * ONE, 2 * ONE, 4 * ONE, 10 * ONE])
def test_a_step_to_what_is_clearly_too_much_is_answered_within_5_s_whatever_the_objective(
    within_s: float, after: float
) -> None:
    world = changing(20.0, after, policy=Policy(within_s=within_s)).run(306)
    assert world.counts, "nobody was asked for"
    assert world.changes[0][0] <= 305
    assert world.replicas * ONE >= after or world.replicas == 16


@pytest.mark.parametrize("after", [0.95 * ONE, 1.05 * ONE, 1.2 * ONE])
def test_a_little_too_much_is_left_to_the_objective(after: float) -> None:
    world = changing(20.0, after).run(310)
    assert world.counts == []


def test_what_comes_all_at_once_each_minute_is_no_cause_to_grow_each_minute() -> None:
    """400 events at once wait for 4 s; nobody minds. What they are is seen the first time."""
    world = Traffic(lambda _, s: 400 / 16 if s % 60 == 0 else 10 / 16).run(1800)
    assert len(world.counts) <= 2 and world.replicas == 1


def test_what_some_partitions_have_told_is_not_all_of_it() -> None:
    """Each hears at a time of its own where it ends."""
    arrivals = {p: Arrivals(rate=5.0, newest=12.0) for p in "0123"}
    said = {"0": 25.0, "1": 25.0, "2": 4.0, "3": 4.0}
    flow = flowing(20, 20, 20, 20, 20)
    assert is_higher(arrivals, said, flow, 24.0)
    assert not is_higher(arrivals, dict.fromkeys("0123", 25.0), flow, 24.0)
