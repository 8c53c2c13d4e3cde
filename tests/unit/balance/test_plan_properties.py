"""What holds of every plan, whatever condition the group is in."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from tidegate.balance import Snapshot, plan
from unit.balance.groups import carried_out, counts_of, many_groups, snapshots, true_moves
from unit.balance.reference import (
    bounds,
    fewest_moves,
    fewest_moves_of_all_assignments,
    takers_of,
    unpaused,
)


@given(snapshots(with_loads=True))
@many_groups
def test_every_unpaused_partition_is_assigned_or_awaited_and_never_both(group: Snapshot) -> None:
    made = plan(group)
    assert not set(made.assignment) & set(made.awaited)
    assert set(made.assignment) | set(made.awaited) == {p.id for p in unpaused(group)}


@given(snapshots(with_loads=True))
@many_groups
def test_partitions_are_assigned_to_present_members_and_awaited_for_absent_ones(
    group: Snapshot,
) -> None:
    made = plan(group)
    present = {member.name for member in group.members}
    assert set(made.assignment.values()) <= present
    assert set(made.awaited.values()) <= set(group.expected) - present
    new = {partition.id for partition in group.partitions if partition.is_new}
    assert set(made.awaited) <= new
    if group.is_grace_over:
        assert not made.awaited


@given(snapshots(with_loads=True))
@many_groups
def test_the_moves_are_what_differs_from_the_owners_and_each_says_why(group: Snapshot) -> None:
    made = plan(group)
    owners = {p.id: p.owner for p in group.partitions}
    assert {move.partition: move.target for move in made.moves} == {
        id: name for id, name in made.assignment.items() if owners[id] != name
    }
    assert all(owners[move.partition] == move.source for move in made.moves)
    assert all(move.reason for move in made.moves)
    assert made.is_settled == (not made.moves and not made.awaited)


@given(snapshots())
@many_groups
def test_counts_are_the_floor_or_the_ceiling_of_the_weighted_share(group: Snapshot) -> None:
    present = {member.name for member in group.members}
    assume(takers_of(group) and set(takers_of(group)) <= present)
    counts = Counter(plan(group).assignment.values())
    for name, (lowest, highest) in bounds(group).items():
        assert lowest <= counts[name] <= highest, (name, counts)


@given(snapshots())
@many_groups
def test_there_are_never_more_moves_than_the_minimum(group: Snapshot) -> None:
    present = {member.name for member in group.members}
    assume(takers_of(group) and set(takers_of(group)) <= present)
    assert len(true_moves(plan(group))) == fewest_moves(group)


@given(snapshots(most_members=4, most_partitions=6, with_pins=False, with_roster=False))
@many_groups
def test_no_assignment_within_the_weights_has_fewer_moves(group: Snapshot) -> None:
    assert len(true_moves(plan(group))) == fewest_moves_of_all_assignments(group)


@given(snapshots())
@many_groups
def test_while_members_are_awaited_no_more_moves_than_the_way_to_the_end_takes(
    group: Snapshot,
) -> None:
    assume(takers_of(group))
    assert len(true_moves(plan(group))) <= fewest_moves(group)


@given(snapshots(with_loads=True))
@many_groups
def test_a_plan_that_is_carried_out_is_followed_by_no_move(group: Snapshot) -> None:
    made = plan(group)
    there = carried_out(group, made)
    again = plan(there)
    assert again.moves == ()
    assert again.assignment == made.assignment
    assert set(again.awaited) == set(made.awaited)


@given(snapshots(with_loads=True), st.integers())
@many_groups
def test_the_order_of_members_and_partitions_does_not_matter(group: Snapshot, seed: int) -> None:
    dice = Random(seed)
    shuffled = replace(
        group,
        members=tuple(dice.sample(group.members, len(group.members))),
        partitions=tuple(dice.sample(group.partitions, len(group.partitions))),
    )
    made, other = plan(group), plan(shuffled)
    assert made == other
    assert list(made.assignment) == list(other.assignment)


@given(snapshots(with_loads=True))
@many_groups
def test_leaving_members_end_empty_where_everybody_who_stays_is_present(group: Snapshot) -> None:
    leaving = {member.name for member in group.members if member.is_leaving}
    present = {member.name for member in group.members}
    assume(takers_of(group) and set(takers_of(group)) <= present)
    assert not leaving & set(plan(group).assignment.values())


@given(snapshots(with_loads=True))
@many_groups
def test_leaving_members_get_nothing_new_while_anybody_else_is_there(group: Snapshot) -> None:
    assume(not all(member.is_leaving for member in group.members))
    leaving = {member.name for member in group.members if member.is_leaving}
    assert not leaving & {move.target for move in plan(group).moves}


@given(snapshots(with_loads=True))
@many_groups
def test_pins_hold_wherever_the_pinned_member_is_present_and_stays(group: Snapshot) -> None:
    staying = {member.name for member in group.members if not member.is_leaving}
    made = plan(group)
    for partition in unpaused(group):
        if partition.pinned_to in staying:
            assert made.assignment[partition.id] == partition.pinned_to


@given(snapshots(with_loads=True))
@many_groups
def test_members_of_no_weight_own_nothing_unless_pinned_or_alone(group: Snapshot) -> None:
    staying = [member for member in group.members if not member.is_leaving]
    assume(any(member.weight > 0 for member in staying))
    made = plan(replace(group, is_grace_over=True))
    pinned = {partition.id: partition.pinned_to for partition in group.partitions}
    idle = {member.name for member in staying if member.weight == 0}
    assert all(pinned[id] == name for id, name in made.assignment.items() if name in idle)


@given(snapshots(with_loads=True))
@many_groups
def test_counts_with_loads_stay_within_bounds_but_for_members_kept_for_one_hot_partition(
    group: Snapshot,
) -> None:
    present = {member.name for member in group.members}
    assume(takers_of(group) and set(takers_of(group)) <= present)
    there = carried_out(group, plan(group))
    counts = counts_of(there)
    hot = {
        p.owner
        for p in there.partitions
        if not p.is_paused and p.load > 0 and p.owner and counts[p.owner] == 1
    }
    assume(not hot)
    for name, (lowest, highest) in bounds(group).items():
        assert lowest <= counts[name] <= highest
