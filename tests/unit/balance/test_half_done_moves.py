"""Plans carried out step by step, by members that do not see the same thing at the same time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidegate.balance import Move, PartitionFacts, Snapshot, plan
from unit.balance.groups import (
    after,
    carried_out,
    counts_of,
    many_groups,
    members,
    names,
    owned,
    snapshots,
    true_moves,
    with_members,
)
from unit.balance.reference import takers_of

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

steady = snapshots(with_pins=True)


def everybody_is_there(group: Snapshot) -> bool:
    return bool(takers_of(group)) and set(takers_of(group)) <= {m.name for m in group.members}


@given(steady, st.randoms(use_true_random=False))
@many_groups
def test_moves_done_in_any_order_lead_to_the_same_counts_with_no_move_more(
    group: Snapshot, dice: Random
) -> None:
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


@given(steady, st.randoms(use_true_random=False))
@many_groups
def test_nobody_changes_his_mind_while_the_moves_are_being_made(
    group: Snapshot, dice: Random
) -> None:
    assume(everybody_is_there(group))
    made = plan(group)
    moves = list(made.moves)
    while moves:
        chosen = dice.sample(moves, dice.randint(1, len(moves)))
        group = after(group, chosen)
        moves = [move for move in moves if move not in chosen]
        assert [(m.partition, m.source, m.target) for m in plan(group).moves] == [
            (m.partition, m.source, m.target) for m in moves
        ]


@given(steady, st.randoms(use_true_random=False))
@many_groups
def test_members_with_old_listings_make_no_move_more(group: Snapshot, dice: Random) -> None:
    """Giver and receiver each act on a listing of their own age; a move needs them to agree."""
    assume(everybody_is_there(group))
    history = [group]
    fewest = len(plan(group).moves)
    goal = counts_of(carried_out(group, plan(group)))
    done = 0
    while moves := plan(history[-1]).moves:
        seen_by = {
            member.name: plan(dice.choice(history[-3:])).assignment for member in group.members
        }
        now = history[-1]
        for move in dice.sample(moves, len(moves)):
            source, target = move.source or move.target, move.target
            if all(seen_by[name].get(move.partition) == target for name in (source, target)):
                now = after(now, [move])
                done += 1
                break
        else:
            # Nobody agreed on anything: the next listing is fresh.
            now = after(now, [moves[0]])
            done += 1
        history.append(now)
    assert done == fewest
    assert counts_of(history[-1]) == goal


@given(st.integers(1, 40), st.lists(st.integers(1, 10), min_size=1, max_size=5), st.integers())
@many_groups
def test_members_that_come_and_go_before_it_is_settled_leave_it_settled_soon_after(
    partitions: int, sizes: list[int], seed: int
) -> None:
    dice = Random(seed)
    group = with_members(Snapshot((), tuple(PartitionFacts(str(n)) for n in range(partitions))), ())
    for size in sizes:
        group = with_members(group, members(dice.sample(names(10), size)))
        moves = plan(group).moves
        group = after(group, dice.sample(moves, len(moves) // 2))
    group = carried_out(group, plan(group))
    assert plan(group).is_settled
    counts = [counts_of(group)[member.name] for member in group.members]
    assert max(counts) - min(counts) <= 1


@given(
    st.lists(st.floats(0.2, 3.0), min_size=2, max_size=40),
    st.integers(2, 8),
    st.randoms(use_true_random=False),
)
@many_groups
def test_moves_for_load_done_one_by_one_come_to_rest(
    loads: list[float], size: int, dice: Random
) -> None:
    everybody = names(size)
    group = Snapshot(members(everybody), owned([dice.choice(everybody) for _ in loads], loads))
    moved: Counter[str] = Counter()
    while moves := plan(group).moves:
        move = dice.choice(moves)
        moved[move.partition] += 1
        group = after(group, [move])
        assert moved.total() <= 3 * len(loads), "it does not come to rest"
    assert true_moves(plan(group)) == []
    assert plan(replace(group, partitions=group.partitions[::-1])).is_settled


def test_what_has_been_asked_for_stays_so_when_one_more_leaves_and_one_more_is_expected() -> None:
    """A rollout whose next pod is told to go before the first has handed all over."""
    owners = ["m00"] * 4 + ["m01"] * 4
    one = Snapshot(members(["m00", "m01", "m08"], ["m01"]), owned(owners), expected=("m00", "m08"))
    asked = {move.partition: move.target for move in plan(one).moves}
    assert asked == dict.fromkeys(("4", "5", "6", "7"), "m08")
    partitions = tuple(replace(p, wanted_by=asked.get(p.id)) for p in one.partitions)
    both = Snapshot(members(["m00", "m01", "m08"], ["m00", "m01"]), partitions, ("m08", "m09"))
    assert {move.partition: move.target for move in plan(both).moves} == asked


def test_who_asked_for_more_than_his_count_gets_his_count() -> None:
    group = Snapshot(members(["m00", "m01", "m02"], ["m00"]), owned(["m00"] * 4))
    asked = tuple(replace(p, wanted_by="m02") for p in group.partitions)
    found = plan(replace(group, partitions=asked)).assignment
    assert Counter(found.values()) == {"m01": 2, "m02": 2}
    late = tuple(replace(p, wanted_by="m02" if p.id >= "2" else None) for p in group.partitions)
    found = plan(replace(group, partitions=late)).assignment
    assert [id for id, owner in found.items() if owner == "m02"] == ["2", "3"]
