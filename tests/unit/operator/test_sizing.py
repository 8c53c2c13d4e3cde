"""How many pods a group gets from its operator: followed in a little world with events in it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tidegate.sources.start import Start
from tidegate_operator.decide import steps
from tidegate_operator.model import Steps
from tidegate_operator.scaling import Bound, Mode, Policy, Reason
from unit.operator.sized_loads import TEN_FOLD_AT, TEN_FOLD_S, assert_sound, report_of, ten_fold
from unit.operator.sized_world import SizedWorld

# Minutes of a group's life each: `make test` runs them.
pytestmark = pytest.mark.slow


def asleep_until(at: float, rate: float = 20.0) -> SizedWorld:
    """A group that had events, has slept since, and gets events again at a time."""
    world = SizedWorld(lambda _, s: rate if s < 100 or s >= at else 0.0, Policy(min=0), pods=0)
    world.run(1000.0)
    assert world.replicas == 0 and not world.members
    return world


# --- by the lag


def test_a_ten_fold_step_is_answered_in_one_jump_within_5_s_and_goes_back_in_one() -> None:
    world = SizedWorld(ten_fold)
    world.run(900.0)
    assert world.counts == [1, 8, 1]
    up_at, down_at = world.sizes[1][0], world.sizes[2][0]
    assert up_at - TEN_FOLD_AT <= 5.0
    assert down_at - (TEN_FOLD_AT + TEN_FOLD_S) >= world.policy.stable_s
    assert world.late_s == 0.0
    assert world.replicas == len(world.members) == 1
    assert_sound(world)


def test_a_group_in_which_nothing_changes_keeps_its_size_and_nothing_is_written() -> None:
    world = SizedWorld(lambda _, __: 30.0)
    world.run(600.0)
    found, before = world.replicas, (world.cluster_writes, world.roster_writes)
    world.run(900.0)
    assert world.replicas == found
    assert (world.cluster_writes, world.roster_writes) == before


@pytest.mark.parametrize(
    "policy",
    [Policy(within_s=None, drain_within_s=60.0), Policy(within_s=None, lag_per_replica=200)],
    ids=["drain within", "lag per replica"],
)
def test_other_objectives_get_a_group_over_a_backlog_and_back(policy: Policy) -> None:
    world = SizedWorld(lambda _, s: 200.0 if 200 <= s < 220 else 5.0, policy)
    world.run(200.0)
    assert world.replicas == 1
    world.run(60.0)
    assert world.replicas >= 4
    world.run(140.0)
    assert world.lag < 50
    world.run(400.0)
    assert world.replicas == 1
    assert_sound(world)


def test_a_step_that_gains_nothing_is_undone_and_remembered() -> None:
    world = SizedWorld(
        lambda _, s: 75.0 if s > 300 else 7.5,
        rate=lambda alive: min(100.0, 250.0 / alive),
        start_s=15.0,
    )
    world.run(800.0)
    assert max(world.counts) == 8
    assert world.replicas < 8
    assert report_of(world).decision.bound is Bound.DOWNSTREAM
    assert Reason.DOWNSTREAM in {each.decision.reason for each in report_of(world).history.records}
    held = world.replicas
    world.run(500.0)
    assert world.replicas == held, "it is not tried again before a quarter of an hour has passed"
    assert_sound(world)


def test_one_partition_that_is_too_hot_gets_no_pods_that_are_of_no_use_to_it() -> None:
    world = SizedWorld(lambda p, s: 180.0 if p == 3 and s > 300 else 3.0)
    world.run(900.0)
    assert world.replicas <= 3
    decision = report_of(world).decision
    assert (decision.bound, decision.bound_partitions) == (Bound.PARTITION, ("3",))
    assert_sound(world)


def test_a_partition_that_nobody_can_read_asks_for_no_pods() -> None:
    """Its owner has let go of it, and nobody takes it: more pods would not either."""
    world = SizedWorld(lambda _, __: 5.0)
    world.halted = "3"
    world.run(1200.0)
    assert world.queues["3"].lag > 5000
    assert set(world.counts) == {1}


# --- to zero and back


@pytest.mark.parametrize("start", [Start("earliest"), Start("latest")], ids=lambda s: str(s.kind))
def test_a_group_sleeps_while_nothing_comes_and_wakes_within_5_s_of_an_event(start: Start) -> None:
    world = SizedWorld(lambda _, s: 2.0 if s >= 1000 else 0.0, Policy(min=0), pods=0, start=start)
    world.run(60.0)
    assert world.replicas == 1, "partitions are given checkpoints, so that nothing is passed over"
    world.run(540.0)
    assert world.replicas == 0 and not world.members
    assert all(queue.has_checkpoint for queue in world.queues.values())
    world.run(400.0)
    assert world.counts == [1, 0]
    world.run(60.0)
    woken_at = world.sizes[2][0]
    assert woken_at - 1000.0 <= 5.0
    assert world.replicas >= 1
    assert world.lag < 40
    assert_sound(world)


def test_an_event_that_is_told_right_after_a_look_is_not_slept_through() -> None:
    world = asleep_until(math.inf)
    operator = world.operators[0]

    def look() -> Steps:
        """A round that somebody has woken."""
        observed = world._observation(operator)
        operator.lag = world.lag_of(operator, observed)
        found, operator.memory = steps(observed, operator.memory, operator.lag)
        return found

    world.now += 60.0
    assert look().again_s == pytest.approx(60.0)
    world.queues["3"].arrive(world.now, 1.0)
    world.now += 0.3
    world.ends = None  # the source is asked anew, and wakes the group
    soon = look()
    assert soon.wanted == 0
    assert soon.again_s == pytest.approx(1.0)
    world.now += soon.again_s
    assert look().wanted == 1


def test_a_group_that_sleeps_and_whose_hub_says_nothing_is_woken_after_a_while() -> None:
    world = asleep_until(5000.0)
    world.is_hub_down = True
    world.run(world.policy.fallback_after_s + 90.0)
    assert world.replicas == 1
    assert world.sizes[-1][2].scaling is not None
    assert world.sizes[-1][2].scaling.decision.reason is Reason.FALLBACK
    assert "nobody reads" in world.sizes[-1][2].scaling.decision.message


# --- who decides it instead


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.EXTERNAL])
def test_in_other_modes_it_is_said_what_would_be_done_and_nothing_is(mode: Mode) -> None:
    world = SizedWorld(ten_fold, Policy(mode=mode))
    world.run(400.0)
    assert world.counts == [1] and world.replicas == 1
    report = report_of(world)
    assert not report.is_followed
    assert report.decision.replicas == 8
    assert report.decision.reason in (Reason.BACKLOG, Reason.ARRIVALS)


def test_a_number_that_is_written_holds_in_every_mode_and_the_victims_are_still_ours() -> None:
    world = SizedWorld(ten_fold, Policy(mode=Mode.EXTERNAL))
    for count in (4, 2):
        world.wish = replace(world.wish, replicas=count)
        world.run(60.0)
        assert world.replicas == len(world.members) == count
    assert_sound(world)
    world.wish = replace(world.wish, scaling=replace(world.policy, mode=Mode.AUTO))
    world.run(600.0)
    assert world.counts == [4, 2]
    assert report_of(world).instead == "spec.replicas says 2"


def test_when_the_number_is_taken_away_the_group_goes_on_from_it() -> None:
    world = SizedWorld(lambda _, __: 5.0)
    world.wish = replace(world.wish, replicas=4)
    world.run(60.0)
    world.wish = replace(world.wish, replicas=None)
    world.run(world.policy.stable_s - 70.0)
    assert world.replicas == 4
    world.run(120.0)
    assert world.counts == [4, 1], "once fewer have been enough for so long, and in one step"
    assert_sound(world)


def test_after_a_pause_a_group_comes_back_with_what_its_backlog_needs() -> None:
    world = SizedWorld(lambda _, __: 30.0)
    world.run(300.0)
    before = world.replicas
    world.wish = replace(world.wish, is_paused=True)
    world.run(120.0)
    assert world.replicas == 0
    world.wish = replace(world.wish, is_paused=False)
    world.run(30.0)
    assert world.replicas >= before
    assert world.counts[-2:] == [0, world.replicas], "in one step"
    assert world.problems == []


# --- beginning


def test_a_group_of_an_older_operator_keeps_its_pods_until_fewer_have_been_enough() -> None:
    world = SizedWorld(lambda _, __: 2.0, pods=5)
    world.run(world.policy.stable_s - 10.0)
    assert world.counts == [5] and world.replicas == 5
    world.run(120.0)
    assert world.replicas == 1
    assert_sound(world)


def test_a_new_group_begins_with_min_and_no_more() -> None:
    world = SizedWorld(lambda _, __: 1.0, Policy(min=2), pods=0)
    world.run(120.0)
    assert world.counts == [2]


def test_an_operator_that_starts_anew_goes_on_with_what_was_under_way() -> None:
    world = SizedWorld(ten_fold)
    world.run(TEN_FOLD_AT)
    while world.replicas != 8:
        world.step()
    world.restart_operator()
    world.run(200.0)
    assert world.counts == [1, 8] and len(world.members) == 8
    while world.counts[-1] != 1:
        world.step()
    while world.roster is None or not world.roster.leaving:
        world.step()
    assert world.replicas == 8
    world.restart_operator()
    world.run(60.0)
    assert world.counts == [1, 8, 1] and world.replicas == 1
    assert_sound(world)
    records = report_of(world).history.records
    changes = [each for each in records if each.before != each.decision.replicas]
    assert [(each.before, each.decision.replicas) for each in changes] == [(1, 8), (8, 1)]


def test_a_status_that_is_older_than_the_deployment_makes_nothing_smaller() -> None:
    world = SizedWorld(ten_fold)
    world.run(TEN_FOLD_AT)
    before = world.said
    while world.replicas != 8:
        world.step()
    world.said = before
    world.restart_operator()
    world.run(200.0)
    assert world.counts == [1, 8] and world.replicas == 8
