"""What one consumer can handle: learnt from calls that hold each other up, or run side by side."""

from __future__ import annotations

import pytest

from tidegate_operator.scaling import PartitionSample, Policy, Sample
from tidegate_operator.scaling.rates import Costs, costs_of, works_of
from unit.operator.scaling.small_traffic import Traffic

# 10 ms an event.
KNOWN = Costs(event_s=0.01, usual_event_s=0.01)


def sample(
    rate: float, busy: float, utilization: float | None, *, lag: int = 0, partitions: int = 4
) -> Sample:
    """Of each partition of one consumer."""
    seen = PartitionSample(lag=lag, handling=rate, busy=busy, utilization=utilization, owner="a")
    return Sample(0.0, {str(number): seen for number in range(partitions)}, 1, 1)


def after(costs: Costs, seen: Sample, looks: int = 60) -> Costs:
    for look in range(looks):
        costs = costs_of(costs, works_of(seen), 2.0 * look, 2.0)
    return costs


def test_calls_that_hold_each_other_up_make_no_event_dearer() -> None:
    """Five events a second in each of four partitions, all at once: each call takes 0.2 s."""
    found = after(KNOWN, sample(5.0, 0.2, 0.05))
    assert found.per_member == pytest.approx(100)
    assert found.per_partition == pytest.approx(100)


def test_it_is_so_from_the_first_figures_on() -> None:
    assert after(Costs(), sample(5.0, 0.2, 0.05)).per_member == pytest.approx(100)


def test_calls_that_run_side_by_side_show_that_a_consumer_handles_more_than_one() -> None:
    """Of four calls, each of which takes 0.5 s of each second, now and then several run at once."""
    found = after(KNOWN, sample(50.0, 0.5, 0.234))
    assert found.per_member == pytest.approx(200 / 0.936, rel=0.1)
    assert found.per_partition == pytest.approx(100, rel=0.25)


@pytest.mark.parametrize("known", [KNOWN, Costs()])
def test_a_consumer_that_is_full_handles_what_it_handles(known: Costs) -> None:
    held_up = after(known, sample(25.0, 1.0, 0.25, lag=1000))
    side_by_side = after(known, sample(100.0, 1.0, 0.25, lag=1000))
    assert held_up.per_member == pytest.approx(100, rel=0.01)
    assert side_by_side.per_member == pytest.approx(400, rel=0.01)


def test_what_was_seen_side_by_side_is_not_forgotten_under_a_little_load() -> None:
    full = after(KNOWN, sample(100.0, 1.0, 0.25, lag=1000))
    little = after(full, sample(10.0, 0.1, 0.086))
    assert little.per_member == pytest.approx(400, rel=0.25)


@pytest.mark.parametrize("times", [4.0, 0.25])
def test_a_handler_that_becomes_slower_or_faster_is_noticed_while_calls_hold_each_other_up(
    times: float,
) -> None:
    found = after(KNOWN, sample(2.0, min(0.08 * times, 1.0), 0.02 * times))
    assert found.per_member == pytest.approx(100 / times, rel=0.05)


def test_a_member_of_an_older_version_is_taken_as_before() -> None:
    assert after(KNOWN, sample(5.0, 0.05, None)).per_member == pytest.approx(100)
    assert after(KNOWN, sample(25.0, 1.0, None, lag=1000)).per_member == pytest.approx(100)


@pytest.mark.parametrize("tells", [True, False], ids=["now", "before"])
def test_under_a_load_that_wavers_a_consumer_can_handle_what_it_could(tells: bool) -> None:
    world = Traffic(
        lambda _, second: (60 if second % 120 >= 90 else 12) / 8,
        policy=Policy(max=1, stable_s=30.0),
        partitions=8,
        holds_up=True,
        tells_utilization=tells,
    ).run(30)
    found = [world.run(2).history.costs.per_member or 0.0 for _ in range(200)]
    if tells:
        assert min(found) > 90
        assert max(found) < 110
    else:
        assert min(found) < 20, "partitions do hold each other up here"
    assert world.worst_s < 5
