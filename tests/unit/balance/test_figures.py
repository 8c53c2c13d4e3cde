"""The figures that balancing must reach, number by number, and the time that a plan may take."""

from __future__ import annotations

import time
from random import Random

import pytest

from tidegate.balance import MemberFacts, PartitionFacts, Snapshot, plan
from unit.balance.groups import (
    carried_out,
    counts_of,
    members,
    names,
    true_moves,
    unowned,
    with_members,
)


def balanced(partitions: int, present: int) -> Snapshot:
    group = Snapshot(members(names(present)), unowned(partitions))
    return carried_out(group, plan(group))


@pytest.mark.parametrize(
    ("partitions", "before", "now", "moves"),
    [(32, 1, 2, 16), (32, 1, 8, 28), (32, 4, 8, 16), (32, 8, 16, 16), (128, 1, 16, 120)],
)
def test_members_that_join_get_their_share_with_the_fewest_moves(
    partitions: int, before: int, now: int, moves: int
) -> None:
    group = with_members(balanced(partitions, before), members(names(now)))
    made = plan(group)
    assert len(made.moves) == moves
    assert set(counts_of(carried_out(group, made)).values()) == {partitions // now}


def test_32_partitions_of_8_members_of_which_4_leave_take_16_moves() -> None:
    group = with_members(balanced(32, 8), members(names(8), leaving=names(8)[4:]))
    made = plan(group)
    assert len(made.moves) == 16
    assert counts_of(carried_out(group, made)) == dict.fromkeys(names(4), 8)


def test_the_partitions_of_a_dead_member_are_all_that_moves() -> None:
    group = with_members(balanced(32, 8), members(names(8)[1:]))
    made = plan(group)
    assert len(made.moves) == 4
    assert true_moves(made) == []
    assert sorted(counts_of(carried_out(group, made)).values()) == [4, 4, 4, 5, 5, 5, 5]


@pytest.mark.parametrize("partitions", [32, 30, 7, 100])
@pytest.mark.parametrize("seed", range(5))
def test_a_cold_start_of_8_expected_members_moves_nothing_whoever_comes_first(
    partitions: int, seed: int
) -> None:
    everybody = names(8)
    group = Snapshot((), unowned(partitions, is_new=True), expected=everybody)
    came: list[str] = []
    for name in Random(seed).sample(everybody, 8):
        came.append(name)
        group = with_members(group, members(came), expected=everybody)
        made = plan(group)
        assert true_moves(made) == []
        assert {move.target for move in made.moves} <= {name}
        group = carried_out(group, made)
    assert plan(group).is_settled
    assert sum(counts_of(group).values()) == partitions


def test_members_that_start_at_once_and_see_only_themselves_claim_different_partitions() -> None:
    everybody = names(8)
    claimed = [
        move.partition
        for name in everybody
        for move in plan(Snapshot(members([name]), unowned(30, is_new=True), everybody)).moves
    ]
    assert len(claimed) == len(set(claimed)) == 30


def test_without_a_roster_the_first_member_takes_everything() -> None:
    made = plan(Snapshot(members(["only"]), unowned(32, is_new=True)))
    assert len(made.assignment) == 32
    assert not made.awaited


def seconds(group: Snapshot) -> float:
    """The processor time of one plan, at its best: other processes are not its fault."""
    best = float("inf")
    for _ in range(7):
        started = time.process_time()
        plan(group)
        best = min(best, time.process_time() - started)
    return best


def random_group(partitions: int, present: int, seed: int) -> Snapshot:
    dice = Random(seed)
    everybody = names(present)
    return Snapshot(
        tuple(MemberFacts(name) for name in everybody),
        tuple(
            PartitionFacts(str(n), dice.choice(everybody), dice.uniform(0.2, 2.0))
            for n in range(partitions)
        ),
    )


def test_64_members_with_1024_partitions_are_planned_in_20_ms() -> None:
    group = random_group(1024, 64, seed=1)
    assert seconds(group) < 0.020
    assert seconds(carried_out(group, plan(group))) < 0.020


def test_8_members_with_32_partitions_are_planned_in_a_millisecond() -> None:
    group = random_group(32, 8, seed=1)
    assert seconds(carried_out(group, plan(group))) < 0.001
