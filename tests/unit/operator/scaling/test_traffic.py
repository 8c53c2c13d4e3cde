"""How many consumers a group gets under load, followed in a little world: in time, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate_operator.scaling import Bound, PartitionSample, Policy, Reason, Sample
from unit.operator.scaling.small_traffic import Traffic

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=25, deadline=None)


def steady(rate: float, **facts: object) -> Traffic:
    return Traffic(lambda _, __: rate / 16, **facts)  # type: ignore[arg-type]


def step(low: float, high: float, at: int, until: int, **facts: object) -> Traffic:
    """A rate that rises at a time, and falls."""
    return Traffic(lambda _, s: (high if at <= s < until else low) / 16, **facts)  # type: ignore[arg-type]


def unknown(sample: Sample) -> Sample:
    """Nothing could be read."""
    return replace(sample, partitions={p: PartitionSample() for p in sample.partitions})


@given(rate=st.floats(1, 1200), policy=st.builds(Policy, min=st.integers(1, 4),
                                                 max=st.integers(4, 20)))  # fmt: skip
@EXAMPLES
def test_there_are_never_fewer_than_min_nor_more_than_max_or_the_partitions(
    rate: float, policy: Policy
) -> None:
    world = steady(rate, policy=policy).run(120)
    assert all(policy.min <= count <= min(policy.max, 16) for count in world.counts)


@pytest.mark.slow
@given(rate=st.floats(1, 1200))
@EXAMPLES
def test_steady_arrivals_change_nothing_once_the_size_is_found(rate: float) -> None:
    world = steady(rate).run(400)
    found = world.replicas
    assert world.run(900).replicas == found
    assert all(at < 400 for at, _, _ in world.changes)


def test_a_ten_fold_step_is_answered_within_5_s_in_one_jump_and_the_objective_kept() -> None:
    world = step(40, 400, 600, 1200).run(1100)
    assert [count for _, count, _ in world.changes] == [6]
    assert world.changes[0][0] <= 605
    assert (world.late_s, world.worst_s < 15) == (0, True)
    world.run(600)
    assert world.counts == [6, 1], "down in one step"
    assert world.changes[1][0] >= 1200 + world.policy.stable_s


def test_a_group_sleeps_while_nothing_comes_and_wakes_with_the_first_event() -> None:
    world = Traffic(lambda _, s: 0.0 if 900 < s < 2400 else 10.0, policy=Policy(min=0))
    world.run(2398)
    assert world.counts[-1] == 0
    world.run(12)
    assert world.changes[-1][0] <= 2405
    assert world.replicas >= 1
    assert world.run(300).late_s == 0


@pytest.mark.parametrize("fallback", [None, 2])
def test_a_group_that_sleeps_is_woken_where_the_lag_of_one_partition_stays_unknown(
    fallback: int | None,
) -> None:
    policy = Policy(min=0, fallback=fallback, fallback_after_s=120.0)
    world = Traffic(lambda _, s: 0.0 if s > 60 else 10.0, policy, partitions=2).run(900)
    assert world.replicas == 0
    world.seen = lambda sample: replace(
        sample, partitions={**sample.partitions, "1": PartitionSample()}
    )
    assert world.run(110).replicas == 0
    assert world.run(20).replicas == 1
    woken = world.changes[-1][2]
    assert woken.reason is Reason.FALLBACK
    assert "1 of 2 partitions has not been known for 12" in woken.message
    assert world.run(600).replicas == 1, "nothing that is not known makes it smaller"


def test_unknown_lag_never_makes_a_group_smaller() -> None:
    world = step(40, 400, 60, 300).run(320)
    assert world.replicas == 6
    world.seen = unknown
    assert world.run(3000).replicas == 6
    assert world.last is not None
    assert world.last.reason is Reason.UNKNOWN


def test_one_partition_whose_lag_is_unknown_keeps_the_group_from_getting_smaller() -> None:
    world = step(40, 400, 60, 300).run(320)
    world.seen = lambda sample: replace(
        sample, partitions={**sample.partitions, "3": PartitionSample(owner="m3")}
    )
    assert world.run(2000).replicas == 6


def test_fallback_raises_a_group_whose_lag_stays_unknown_and_never_lowers_it() -> None:
    for begun, wanted in ((1, 5), (8, 8)):
        policy = Policy(fallback=5, fallback_after_s=60.0)
        world = steady(10, policy=policy, replicas=begun, seen=unknown).run(200)
        assert world.replicas == wanted


def test_a_hot_partition_is_said_and_more_consumers_are_not_wasted_on_it() -> None:
    world = Traffic(lambda p, s: 180.0 if p == 3 and s > 300 else 5.0).run(1200)
    assert world.replicas <= 3
    assert world.last is not None
    assert (world.last.bound, world.last.bound_partitions) == (Bound.PARTITION, ("3",))
    assert "partition 3 alone gets" in world.last.message


def test_a_step_that_gains_nothing_is_undone_and_remembered() -> None:
    world = step(60, 600, 300, 1800, rate=lambda members: min(100.0, 250 / members)).run(1000)
    assert max(world.counts) == 16
    assert world.replicas == 3
    assert world.last is not None
    assert world.last.bound is Bound.DOWNSTREAM
    assert any(d.reason is Reason.DOWNSTREAM for _, _, d in world.changes)


def test_an_objective_out_of_reach_names_the_bound_that_stops_it() -> None:
    world = steady(500, policy=Policy(max=3)).run(600)
    assert world.last is not None
    assert world.last.bound is Bound.MAX
    assert "cannot be reached with scaling.max: 3" in world.last.message


@pytest.mark.parametrize("lie", [-5, 10**12])
def test_a_lag_that_cannot_be_is_not_believed_and_said(lie: int) -> None:
    world = steady(50).run(100)
    honest = world.seen

    def lying(sample: Sample) -> Sample:
        seen = replace(sample.partitions["3"], lag=lie)
        return replace(sample, partitions={**sample.partitions, "3": seen})

    world.seen = lying
    decision = world.look_after(2)
    assert (decision.replicas, world.replicas) == (1, 1)
    assert "Not believed: partition 3" in decision.message
    world.seen = honest
    assert world.run(60).replicas == 1


def test_after_a_restart_nothing_gets_smaller_before_it_has_been_watched() -> None:
    world = steady(40, replicas=8).run(int(Policy().stable_s) - 4)
    assert world.counts == []
    assert world.run(60).counts == [1]
