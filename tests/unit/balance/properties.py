"""What holds of every plan, one function for each property.

Rules: a property is given a group in any condition and dice. It says False where it has nothing to
say of that group, True where it holds, and otherwise fails. Its name is the promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

from tidegate.balance import Move, Snapshot, plan
from unit.balance.groups import after, carried_out, counts_of, declining, true_moves
from unit.balance.reference import able, bounds, decliners, fewest_moves, takers_of, unpaused

Property = Callable[[Snapshot, Random], bool]


def without_loads(group: Snapshot) -> Snapshot:
    return replace(group, partitions=tuple(replace(p, load=0.0) for p in group.partitions))


def is_everybody_there(group: Snapshot) -> bool:
    takers = takers_of(group)
    return bool(takers) and set(takers) <= {member.name for member in group.members}


def every_unpaused_partition_is_assigned_or_awaited_and_never_both(
    group: Snapshot, _: Random
) -> bool:
    made = plan(group)
    assert not set(made.assignment) & set(made.awaited)
    assert set(made.assignment) | set(made.awaited) == {p.id for p in unpaused(group)}
    return True


def partitions_are_assigned_to_the_present_and_only_new_ones_are_awaited_for_the_absent(
    group: Snapshot, _: Random
) -> bool:
    made = plan(group)
    present = {member.name for member in group.members}
    assert set(made.assignment.values()) <= present
    assert set(made.awaited.values()) <= set(group.expected) - present
    new = {partition.id for partition in group.partitions if partition.is_new}
    assert set(made.awaited) <= new
    return True


def the_moves_are_what_differs_from_the_owners_and_each_says_why(
    group: Snapshot, _: Random
) -> bool:
    made = plan(group)
    owners = {p.id: p.owner for p in group.partitions}
    assert {move.partition: move.target for move in made.moves} == {
        id: name for id, name in made.assignment.items() if owners[id] != name
    }
    assert all(owners[move.partition] == move.source for move in made.moves)
    assert all(move.reason for move in made.moves)
    assert made.is_settled == (not made.moves and not made.awaited)
    return True


def counts_are_the_floor_or_the_ceiling_of_the_weighted_share(group: Snapshot, _: Random) -> bool:
    if not is_everybody_there(group):
        return False
    counts = Counter(plan(without_loads(group)).assignment.values())
    for name, (lowest, highest) in bounds(group).items():
        assert lowest <= counts[name] <= highest, (name, counts)
    return True


def there_are_never_more_moves_than_the_minimum(group: Snapshot, _: Random) -> bool:
    if not is_everybody_there(group):
        return False
    assert len(true_moves(plan(without_loads(group)))) == fewest_moves(group)
    return True


def while_members_are_awaited_there_are_no_more_moves_than_the_way_to_the_end_takes(
    group: Snapshot, _: Random
) -> bool:
    if not takers_of(group) or is_everybody_there(group):
        return False
    assert len(true_moves(plan(without_loads(group)))) <= fewest_moves(group)
    return True


def a_plan_that_is_carried_out_is_followed_by_no_move(group: Snapshot, _: Random) -> bool:
    made = plan(group)
    again = plan(carried_out(group, made))
    assert again.moves == ()
    assert again.assignment == made.assignment
    assert set(again.awaited) == set(made.awaited)
    return True


def moves_done_in_any_order_lead_to_the_same_counts_with_no_move_more(
    group: Snapshot, dice: Random
) -> bool:
    group = without_loads(group)
    made = plan(group)
    goal = counts_of(carried_out(group, made))
    done: list[Move] = []
    while moves := plan(group).moves:
        chosen = dice.sample(moves, dice.randint(1, len(moves)))
        done += chosen
        group = after(group, chosen)
        assert len(done) <= len(made.moves)
    assert len(done) == len(made.moves)
    assert counts_of(group) == goal
    return bool(done)


def moves_for_load_done_in_any_order_come_to_rest(group: Snapshot, dice: Random) -> bool:
    most = 3 * len(group.partitions)
    moved = 0
    while moves := plan(group).moves:
        chosen = dice.sample(moves, dice.randint(1, len(moves)))
        moved += len(chosen)
        assert moved <= most, "it does not come to rest"
        group = after(group, chosen)
    return moved > 0


def the_order_of_members_and_partitions_does_not_matter(group: Snapshot, dice: Random) -> bool:
    shuffled = replace(
        group,
        members=tuple(dice.sample(group.members, len(group.members))),
        partitions=tuple(dice.sample(group.partitions, len(group.partitions))),
    )
    made, other = plan(group), plan(shuffled)
    assert made == other
    assert list(made.assignment) == list(other.assignment)
    return True


def leaving_members_end_empty_where_everybody_who_stays_is_there(
    group: Snapshot, _: Random
) -> bool:
    leaving = {member.name for member in group.members if member.is_leaving}
    if not leaving or not is_everybody_there(group):
        return False
    assert not leaving & set(plan(group).assignment.values())
    return True


def leaving_members_get_nothing_new_while_anybody_else_is_there(group: Snapshot, _: Random) -> bool:
    leaving = {member.name for member in group.members if member.is_leaving}
    if not leaving or len(leaving) == len(group.members):
        return False
    assert not leaving & {move.target for move in plan(group).moves}
    return True


def pins_hold_wherever_the_pinned_member_is_present_and_stays_and_does_not_decline(
    group: Snapshot, _: Random
) -> bool:
    staying = {member.name for member in group.members if not member.is_leaving}
    made = plan(group)
    pinned = [
        partition
        for partition in unpaused(group)
        if partition.pinned_to in staying
        and (not decliners(group, partition) or partition.pinned_to in able(group, partition))
    ]
    for partition in pinned:
        assert made.assignment[partition.id] == partition.pinned_to
    return bool(pinned)


def to_pin_partitions_to_their_owners_moves_nothing_unless_pins_exceed_a_share(
    group: Snapshot, dice: Random
) -> bool:
    group = without_loads(group)
    group = carried_out(group, plan(group))
    pinned = {p.id for p in group.partitions if p.owner and dice.random() < 0.3}
    if not pinned or not is_everybody_there(group):
        return False
    fixed = replace(
        group,
        partitions=tuple(
            replace(p, pinned_to=p.owner) if p.id in pinned else p for p in group.partitions
        ),
    )
    if bounds(fixed) != bounds(group):
        return False
    assert plan(fixed).moves == ()
    return True


def to_pause_a_partition_gives_it_up_and_moves_no_more_than_evens_out_the_counts(
    group: Snapshot, dice: Random
) -> bool:
    group = without_loads(group)
    group = carried_out(group, plan(group))
    owned = [p.id for p in group.partitions if p.owner]
    if not owned or not is_everybody_there(group):
        return False
    paused = dice.choice(owned)
    fewer = replace(
        group,
        partitions=tuple(
            replace(p, is_paused=True) if p.id == paused else p for p in group.partitions
        ),
    )
    made = plan(fewer)
    assert paused not in made.assignment
    assert len(made.moves) == fewest_moves(fewer)
    return True


def what_is_declined_goes_to_somebody_present_who_does_not_decline_it(
    group: Snapshot, _: Random
) -> bool:
    made = plan(group)
    declined = [p for p in unpaused(group) if decliners(group, p) and able(group, p)]
    assert all(made.assignment[p.id] in able(group, p) for p in declined)
    return bool(declined)


def what_nobody_present_can_have_is_planned_as_if_nobody_declined_it(
    group: Snapshot, _: Random
) -> bool:
    stuck = {p.id for p in unpaused(group) if decliners(group, p) and not able(group, p)}
    kept = {member.name: member.declines - stuck for member in group.members}
    assert plan(group) == plan(declining(group, kept))
    return bool(stuck)


def to_decline_what_another_owns_or_to_lift_a_decline_moves_nothing(
    group: Snapshot, dice: Random
) -> bool:
    group = without_loads(group)
    group = carried_out(group, plan(group))
    free = [p for p in unpaused(group) if p.owner and not p.pinned_to]
    changed = [p for p in free if p.owner not in decliners(group, p)]
    if not changed or not is_everybody_there(group):
        return False
    one = dice.choice(changed)
    others = {member.name: member.declines for member in group.members if member.name != one.owner}
    kept = {member.name: member.declines for member in group.members}
    later = declining(group, kept | {name: ids ^ {one.id} for name, ids in others.items()})
    if bounds(later) != bounds(group):
        return False
    assert plan(later).moves == ()
    return True


def members_of_no_weight_own_nothing_unless_pinned_or_alone(group: Snapshot, _: Random) -> bool:
    staying = [member for member in group.members if not member.is_leaving]
    idle = {member.name for member in staying if member.weight == 0}
    if not idle or len(idle) == len(staying):
        return False
    made = plan(replace(group, expected=()))
    pinned = {partition.id: partition.pinned_to for partition in group.partitions}
    assert all(pinned[id] == name for id, name in made.assignment.items() if name in idle)
    return True


def counts_with_loads_stay_within_bounds_but_for_members_kept_for_one_hot_partition(
    group: Snapshot, _: Random
) -> bool:
    if not is_everybody_there(group):
        return False
    there = carried_out(group, plan(group))
    counts = counts_of(there)
    if any(p.load != 0 and p.owner and counts[p.owner] == 1 for p in unpaused(there)):
        return False
    for name, (lowest, highest) in bounds(group).items():
        assert lowest <= counts[name] <= highest
    return True


PROPERTIES: tuple[Property, ...] = (
    every_unpaused_partition_is_assigned_or_awaited_and_never_both,
    partitions_are_assigned_to_the_present_and_only_new_ones_are_awaited_for_the_absent,
    the_moves_are_what_differs_from_the_owners_and_each_says_why,
    counts_are_the_floor_or_the_ceiling_of_the_weighted_share,
    there_are_never_more_moves_than_the_minimum,
    while_members_are_awaited_there_are_no_more_moves_than_the_way_to_the_end_takes,
    a_plan_that_is_carried_out_is_followed_by_no_move,
    moves_done_in_any_order_lead_to_the_same_counts_with_no_move_more,
    moves_for_load_done_in_any_order_come_to_rest,
    the_order_of_members_and_partitions_does_not_matter,
    leaving_members_end_empty_where_everybody_who_stays_is_there,
    leaving_members_get_nothing_new_while_anybody_else_is_there,
    pins_hold_wherever_the_pinned_member_is_present_and_stays_and_does_not_decline,
    to_pin_partitions_to_their_owners_moves_nothing_unless_pins_exceed_a_share,
    to_pause_a_partition_gives_it_up_and_moves_no_more_than_evens_out_the_counts,
    what_is_declined_goes_to_somebody_present_who_does_not_decline_it,
    what_nobody_present_can_have_is_planned_as_if_nobody_declined_it,
    to_decline_what_another_owns_or_to_lift_a_decline_moves_nothing,
    members_of_no_weight_own_nothing_unless_pinned_or_alone,
    counts_with_loads_stay_within_bounds_but_for_members_kept_for_one_hot_partition,
)
