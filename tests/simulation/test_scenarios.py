"""The figures to beat, in virtual time: how long, how many moves, how long a partition is idle.

`make bench-balance` prints them over more seeds, beside those of the official SDK.
"""

from __future__ import annotations

import pytest

from simulation import scenarios
from simulation.judge import judge
from simulation.scenarios import Figures, measure, merged
from simulation.world import World

SEEDS = range(3)

GROWTHS = [
    # partitions, members before and after, seconds allowed, fewest moves
    (32, 1, 2, 15.0, 16),
    (32, 1, 8, 15.0, 28),
    (32, 4, 8, 15.0, 16),
    (32, 8, 16, 15.0, 16),
    (128, 1, 16, 20.0, 120),
]


@pytest.mark.parametrize(("partitions", "before", "after", "limit_s", "fewest"), GROWTHS)
def test_newcomers_are_given_their_share_in_time_and_with_the_fewest_moves(
    partitions: int, before: int, after: int, limit_s: float, fewest: int
) -> None:
    for seed in SEEDS:
        got = measure(scenarios.growing(seed, partitions, before, after))
        assert got.moves == fewest
        assert got.balanced_s < limit_s
        assert got.duplicates == 0
        assert got.idle(0.95) < 1.0
        assert set(got.owners.values()) == {partitions // after}


@pytest.mark.parametrize("has_roster", [False, True])
def test_a_cold_start_of_eight_makes_no_needless_move(has_roster: bool) -> None:
    for seed in SEEDS:
        got = measure(scenarios.cold_start(seed, 32, 8, has_roster=has_roster))
        assert got.moves == 32
        assert got.balanced_s < 10.0
        assert set(got.owners.values()) == {4}


@pytest.mark.slow
def test_the_partitions_of_a_killed_member_are_idle_for_less_than_17_s() -> None:
    got = merged([measure(scenarios.killed(seed, 32, 8)) for seed in range(40)])
    assert len(got.idle_s) == 40 * 4
    assert got.idle(0.95) < 17.0
    assert got.moves == 4


@pytest.mark.parametrize("renews_any_id", [False, True])
def test_who_comes_while_the_leases_of_a_dead_member_last_does_not_prolong_them(
    renews_any_id: bool,
) -> None:
    got = merged(
        [
            measure(scenarios.replaced(seed, 32, 4, 7.0 + seed, renews_any_id=renews_any_id))
            for seed in range(6)
        ]
    )
    assert 10.0 < got.idle_s[-1] < 17.0


def test_members_that_leave_cleanly_hand_over_in_less_than_2_s_without_a_duplicate() -> None:
    got = merged([measure(scenarios.shrinking(seed, 32, 8, 4)) for seed in SEEDS])
    assert got.idle(0.95) < 2.0
    assert got.moves == 16
    assert got.duplicates == 0


def test_in_a_rolling_update_each_partition_moves_once() -> None:
    got = merged([measure(scenarios.rolled_out(seed, 32, 8)) for seed in SEEDS])
    assert got.moves == 32
    assert got.duplicates == 0
    assert set(got.owners.values()) == {4}


def test_a_restart_in_place_takes_its_own_start_time_and_moves_nothing() -> None:
    for start_s in (0.5, 2.0, 8.0):
        got = merged(
            [measure(scenarios.restarted_in_place(seed, 32, 8, start_s)) for seed in SEEDS]
        )
        assert got.moves == 0
        assert got.idle_s
        assert got.idle_s[-1] < start_s + 1.0


def test_a_stall_of_storage_of_20_s_moves_nothing() -> None:
    got = merged([measure(scenarios.stalled(seed, 32, 8, 20.0)) for seed in SEEDS])
    assert got.moves == 0
    assert got.duplicates == 0


def test_a_member_that_is_stopped_for_three_leases_comes_back_without_harm() -> None:
    """No checkpoint moves back, the hub refuses the late owner, its share returns to it."""
    for seed in SEEDS:
        world = World(scenarios.paused(seed, 32, 8, 3.0))
        facts = world.run()
        assert judge(world.records, facts) == []
        got = scenarios.figures(world.records, scenarios.CHANGE_AT)
        assert got.moves == 8  # its four partitions go and come back
        assert set(got.owners.values()) == {4}


def test_figures_are_taken_by_rank() -> None:
    assert scenarios.percentile((), 0.5) == 0.0
    assert scenarios.percentile((1.0, 2.0, 3.0, 4.0), 0.5) == 3.0
    assert scenarios.percentile((1.0,), 0.95) == 1.0
    assert isinstance(measure(scenarios.growing(0, 4, 1, 2)), Figures)
