"""How many pods a group gets where little is known, where figures lie, and within its bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.model import Figures
from tidegate_operator.scaling import Bound, Floor, Mode, Policy
from unit.operator.sized_loads import TEN_FOLD_AT, assert_sound, report_of, ten_fold
from unit.operator.sized_world import SizedWorld

# Minutes of a group's life each: `make test` runs them.
pytestmark = pytest.mark.slow


# --- what is not known, and what is not so


def test_where_nothing_is_known_for_long_there_are_as_many_as_fallback_says() -> None:
    world = SizedWorld(lambda _, __: 2.0, Policy(fallback=5, fallback_after_s=120.0))
    world.run(100.0)
    world.seen_as = lambda _: Figures()
    world.run(150.0)
    assert world.replicas == 1
    world.run(60.0)
    assert world.replicas == 5
    world.seen_as = lambda figures: figures
    world.run(170.0)
    assert world.replicas == 5, "what was not known does not count as enough"
    world.run(60.0)
    assert world.replicas == 1


@pytest.mark.parametrize(
    "lie",
    [
        lambda figures: replace(figures, end=-5),
        lambda figures: replace(figures, end=10**12),
        lambda figures: replace(figures, handled=10**12),
        lambda figures: replace(figures, arriving=-3.0, handling=-3.0, busy=-1.0, behind_s=-9.0),
        lambda figures: replace(figures, arriving=1e12, handling=1e12, busy=50.0),
        lambda figures: replace(figures, busy=float("nan"), handling=float("inf")),
    ],
    ids=["negative end", "end that jumps", "handled that jumps", "negative", "huge", "no numbers"],
)
def test_figures_that_lie_once_move_no_pod(lie: object) -> None:
    world = SizedWorld(lambda _, __: 30.0)
    world.run(600.0)
    before = world.counts
    world.seen_as = lie  # type: ignore[assignment]
    world.run(1.0)
    world.seen_as = lambda figures: figures
    world.run(400.0)
    assert world.counts == before


def test_figures_that_stand_still_make_no_group_smaller() -> None:
    world = SizedWorld(ten_fold)
    world.run(TEN_FOLD_AT + 60.0)
    assert world.replicas == 8
    stuck = Figures(end=100, handled=100, behind_s=0.0)
    world.seen_as = lambda _: stuck
    world.run(60.0)
    assert world.replicas == 8


# --- floors and bounds


def test_a_floor_holds_from_its_beginning_to_its_end() -> None:
    # The world begins at 00:16:40 UTC.
    policy = Policy(floors=(Floor("20 0 * * *", "30 0 * * *", 4),))
    world = SizedWorld(lambda _, __: 2.0, policy)
    world.run(195.0)
    assert world.replicas == 1
    world.run(20.0)
    assert world.replicas == 4
    world.run(580.0)
    assert world.replicas == 4
    world.run(300.0)
    assert world.counts == [1, 4, 1]
    assert_sound(world)


def test_bounds_that_are_changed_are_kept_at_once_and_their_victims_hand_over() -> None:
    world = SizedWorld(lambda _, __: 45.0)
    world.run(300.0)
    assert world.replicas >= 4
    policy = replace(world.policy, max=2)
    world.wish = replace(world.wish, max_replicas=2, scaling=policy)
    world.run(60.0)
    assert world.replicas == 2 and world.problems == []
    decision = report_of(world).decision
    assert decision.bound is Bound.MAX and "raise it" in decision.message


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.EXTERNAL])
@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_where_nobody_decides_the_size_a_pause_ends_with_as_many_as_there_were(
    mode: Mode, least: int, *, is_restarted: bool
) -> None:
    """Also above `max`, and by an operator that began during the pause."""
    world = SizedWorld(lambda _, __: 5.0, Policy(min=least, max=4, mode=mode), pods=6)
    world.run(60.0)
    assert world.replicas == 6, "it is as it is"
    for kept in (0, 1):
        world.wish = replace(world.wish, is_paused=True, paused_replicas=kept)
        world.run(60.0)
        assert world.replicas == kept
        assert world.said is not None and world.said["beforePause"] == 6
        if is_restarted:
            world.restart_operator()
        world.wish = replace(world.wish, is_paused=False)
        world.run(60.0)
        assert world.replicas == len(world.members) == 6
        assert "beforePause" not in world.said
    world.size_by_hand(3)
    world.run(60.0)
    assert world.replicas == 3, "a pause that is over decides nothing any more"


def test_a_group_that_was_made_paused_begins_with_the_fewest() -> None:
    policy = Policy(min=2, max=4, mode=Mode.OBSERVE)
    world = SizedWorld(lambda _, __: 5.0, policy, pods=0)
    world.wish = replace(world.wish, is_paused=True)
    world.run(30.0)
    world.wish = replace(world.wish, is_paused=False)
    world.run(30.0)
    assert world.replicas == len(world.members) == 2


def test_pods_that_somebody_adds_to_the_deployment_stay_until_fewer_have_been_enough() -> None:
    """Another operator that has seen more than this one, or a hand."""
    world = SizedWorld(lambda _, __: 5.0)
    world.run(60.0)
    world.size_by_hand(4)
    world.run(world.policy.stable_s - 70.0)
    assert world.replicas == 4
    world.run(120.0)
    assert world.replicas == len(world.members) == 1
    assert_sound(world)


def test_pods_that_somebody_takes_from_the_deployment_are_there_again_at_once() -> None:
    world = SizedWorld(ten_fold)
    world.run(TEN_FOLD_AT + 60.0)
    assert world.replicas == 8
    world.size_by_hand(2)
    world.run(5.0)
    assert world.replicas == 8
