"""Loads: hot partitions are alone, loads are evened out, and what wavers moves nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.balance import MemberFacts, Snapshot, plan
from tidegate.balance.facts import DEFAULT_BAND
from unit.balance.groups import (
    after,
    carried_out,
    counts_of,
    many_groups,
    members,
    names,
    owned,
    owners_of,
    true_moves,
    unowned,
    with_members,
)


def in_turn(loads: Sequence[float | None], size: int) -> Snapshot:
    """The partitions dealt out to members in turn."""
    return Snapshot(
        members(names(size)), owned([f"m{n % size:02}" for n in range(len(loads))], loads)
    )


def levels(group: Snapshot) -> dict[str, float]:
    """The load of each member by the mean."""
    sums = Counter[str]()
    for partition in group.partitions:
        if partition.owner:
            sums[partition.owner] += partition.load or 0.0  # type: ignore[assignment]
    mean = math.fsum(sums.values()) / len(group.members)
    return {member.name: sums[member.name] / mean for member in group.members}


def with_noise(group: Snapshot, part: float, dice: Random) -> Snapshot:
    return replace(
        group,
        partitions=tuple(
            replace(p, load=(p.load or 0.0) * (1 + dice.uniform(-part, part)))
            for p in group.partitions
        ),
    )


def partitions_of(group: Snapshot, name: str) -> list[str]:
    return [p.id for p in group.partitions if p.owner == name]


# -- loads that are not known yet


def test_partitions_of_unknown_load_are_not_exchanged_for_those_of_which_it_is_known() -> None:
    """A member that was alone knows the loads of its first partitions; what came just before four
    shared it out is not known yet."""
    loads = [0.3, 0.3, None, None, None, None, None, None]
    owners = ["m00", "m00", "m01", "m01", "m02", "m02", "m03", "m03"]
    group = Snapshot(members(names(4)), owned(owners, loads))
    assert plan(group).moves == ()
    # That these cost nothing is another matter.
    known = Snapshot(members(names(4)), owned(owners, [load or 0.0 for load in loads]))
    assert plan(known).moves


# -- hot partitions


def test_a_partition_that_is_more_than_a_fair_share_gets_a_member_for_itself() -> None:
    group = in_turn([10.0] + [1.0] * 15, 4)
    made = plan(group)
    there = carried_out(group, made)
    assert partitions_of(there, "m00") == ["0"]
    assert sorted(counts_of(there).values()) == [1, 5, 5, 5]
    # Its owner keeps it and gives the others: that takes three moves, the fewest.
    assert [(move.partition, move.source) for move in made.moves] == [
        ("4", "m00"),
        ("8", "m00"),
        ("12", "m00"),
    ]
    assert made.moves[0].reason == "m00 keeps partition 0 alone: its load is that high"


def test_a_partition_that_is_alone_by_number_does_not_become_hot_by_that() -> None:
    """As a hot one it would leave less as fair to the others, who would exchange theirs."""
    there = (MemberFacts("m00", 0.5), *members(names(6)[1:]))
    owners = ["m00", "m01", "m01", "m02", "m03", "m04", "m05"]
    group = Snapshot(there, owned(owners, [0.0, 0.05, 0.3, 0.3, 0.3, 0.3, 0.3]))
    assert plan(group).moves == ()


def test_a_hot_partition_moves_to_a_newcomer_where_that_is_one_move() -> None:
    group = with_members(in_turn([10.0] + [1.0] * 15, 4), members(names(5)))
    made = plan(group)
    assert [(m.partition, m.source, m.target) for m in made.moves] == [("0", "m00", "m04")]
    assert made.moves[0].reason == (
        "its load is more than a fair share, and m04 will own nothing else"
    )


def test_two_hot_partitions_get_a_member_each() -> None:
    group = in_turn([10.0, 1.0, 1.0, 1.0, 12.0] + [1.0] * 11, 4)
    there = carried_out(group, plan(group))
    owners = owners_of(there)
    counts = counts_of(there)
    assert counts[str(owners["0"])] == counts[str(owners["4"])] == 1
    assert sorted(counts.values()) == [1, 1, 7, 7]


def test_a_hot_partition_that_cools_down_to_just_the_fair_share_stays_alone() -> None:
    there = carried_out(in_turn([10.0] + [1.0] * 15, 4), plan(in_turn([10.0] + [1.0] * 15, 4)))
    mild = replace(
        there,
        partitions=(replace(there.partitions[0], load=5.1), *there.partitions[1:]),
    )
    assert plan(mild).moves == ()
    cold = replace(
        there,
        partitions=(replace(there.partitions[0], load=1.0), *there.partitions[1:]),
    )
    assert sorted(counts_of(carried_out(cold, plan(cold))).values()) == [4, 4, 4, 4]


def test_a_hot_partition_goes_to_the_new_member_alone_when_its_own_is_leaving() -> None:
    group = in_turn([10.0] + [1.0] * 15, 4)
    group = carried_out(group, plan(group))
    rolled = with_members(
        group, members([*names(4), "new"], leaving=["m00"]), [*names(4)[1:], "new"]
    )
    moves = plan(rolled).moves
    assert [(m.partition, m.source, m.target) for m in moves] == [("0", "m00", "new")]


def test_a_mild_partition_that_is_alone_because_the_others_are_still_to_come_is_not_hot() -> None:
    owners = ["b"] + ["a"] * 7 + ["c"] * 4
    group = Snapshot(members(["a", "b", "c"]), owned(owners, [3.09] + [0.5] * 11))
    assert counts_of(carried_out(group, plan(group))) == {"a": 4, "b": 4, "c": 4}


def test_orphans_that_wait_for_nobody_do_not_join_a_hot_partition() -> None:
    partitions = (*owned(["a", "b", "b", "b"], [10.0, 1.0, 1.0, 1.0]), *unowned(8)[4:])
    group = Snapshot(members(["a", "b"]), partitions, ("a", "b", "absent"))
    assert counts_of(carried_out(group, plan(group))) == {"a": 1, "b": 7}


def test_a_group_without_work_moves_nothing_for_load() -> None:
    assert plan(in_turn([0.1] + [0.001] * 15, 4)).moves == ()


@given(
    st.integers(2, 12),
    st.integers(1, 5),
    st.integers(0, 100),
    st.floats(1.2, 50.0),
    st.integers(),
)
@many_groups
def test_however_it_lies_a_hot_partition_ends_alone(
    size: int, each: int, where: int, heat: float, seed: int
) -> None:
    count = size * each + 1
    hot = str(where % count)
    # So much that it is `heat` times the fair share of all.
    load = heat * (count - 1) / (size - heat) if heat < size * 0.9 else 10.0 * count
    dice = Random(seed)
    owners = [dice.choice(names(size)) for _ in range(count)]
    loads = [load if str(number) == hot else 1.0 for number in range(count)]
    group = Snapshot(members(names(size)), owned(owners, loads))
    there = carried_out(group, plan(group))
    assert partitions_of(there, str(owners_of(there)[hot])) == [hot]
    others = [counts_of(there)[name] for name in names(size) if name != owners_of(there)[hot]]
    assert max(others) - min(others) <= 1
    assert plan(there).moves == ()


# -- evening out


def test_loads_are_evened_out_by_exchanges_that_keep_the_counts() -> None:
    group = in_turn([2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0], 2)
    assert levels(group) == {"m00": pytest.approx(4 / 3), "m01": pytest.approx(2 / 3)}
    made = plan(group)
    there = carried_out(group, made)
    assert len(made.moves) == 4
    assert made.moves[0].reason == "it evens out the load of m00 and m01"
    assert levels(there) == {"m00": 1.0, "m01": 1.0}
    assert counts_of(there) == {"m00": 4, "m01": 4}


def test_which_partitions_move_to_a_newcomer_is_chosen_by_load_at_no_further_move() -> None:
    loads = [0.2] * 8 + [2.0] * 8
    group = with_members(in_turn(loads, 1), members(names(2)))
    made = plan(group)
    assert len(made.moves) == 8
    assert max(levels(carried_out(group, made)).values()) <= 1 + DEFAULT_BAND


def test_a_heavier_member_carries_more_load() -> None:
    facts = (MemberFacts("big", 3.0), MemberFacts("small", 1.0))
    group = Snapshot(facts, owned(["small"] * 16, [0.5] * 16))
    assert counts_of(carried_out(group, plan(group))) == {"big": 12, "small": 4}


@pytest.mark.parametrize("roster", ["leaving", "expected"])
def test_nothing_moves_for_load_while_the_roster_has_changes_to_come(roster: str) -> None:
    group = in_turn([2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0], 2)
    if roster == "leaving":
        group = replace(group, members=(*group.members, MemberFacts("old", is_leaving=True)))
    else:
        group = replace(group, expected=("m00", "m01", "zzz"))
    assert true_moves(plan(group)) == []


def test_what_waits_with_its_owner_for_an_absent_member_is_not_moved_to_choose_by_load() -> None:
    owners = ["m00", *names(6)[1:], *["m00"] * 6]
    loads = [0.0] * 6 + [0.0, 0.0, 0.05, 0.05, 0.05, 0.3]
    group = Snapshot(members(names(6)), owned(owners, loads), names(9))
    assert plan(group).moves == ()


@given(st.lists(st.floats(0.2, 2.0), min_size=8, max_size=48), st.integers(2, 6), st.integers())
@many_groups
def test_whoever_is_relieved_gains_a_band_by_it(loads: list[float], size: int, seed: int) -> None:
    group = Snapshot(
        members(names(size)),
        owned([f"m{n * size // len(loads):02}" for n in range(len(loads))], loads),
    )
    group = carried_out(group, plan(replace(group, busy_from=math.inf)))
    made = plan(group)
    there = carried_out(group, made)
    if made.moves and all(move.reason.startswith("it evens out") for move in made.moves):
        before, now = levels(group), levels(there)
        gained = max(before[name] - now[name] for name in before)
        assert gained >= DEFAULT_BAND - 1e-6
        assert max(now.values()) <= max(before.values())


# -- what wavers


@given(
    st.integers(2, 12), st.integers(2, 64), st.floats(0.3, 5.0), st.randoms(use_true_random=False)
)
@many_groups
def test_noise_of_a_fifth_of_the_band_moves_nothing_where_loads_are_equal(
    size: int, count: int, load: float, dice: Random
) -> None:
    group = in_turn([load] * count, size)
    group = carried_out(group, plan(group))
    for _ in range(5):
        assert plan(with_noise(group, DEFAULT_BAND / 5, dice)).moves == ()


@given(
    st.lists(st.floats(0.2, 2.0), min_size=8, max_size=48),
    st.integers(2, 8),
    st.randoms(use_true_random=False),
)
@many_groups
def test_noise_moves_no_partition_there_and_back(
    loads: list[float], size: int, dice: Random
) -> None:
    """Right at the edge of the band some noise does tip it, but once, and not back."""
    group = in_turn(loads, size)
    for _ in range(4):
        group = carried_out(group, plan(group))
    owners = [owners_of(group)]
    for _ in range(12):
        noisy = with_noise(group, DEFAULT_BAND / 8, dice)
        group = after(group, plan(noisy).moves)
        owners.append(owners_of(group))
    for id in owners[0]:
        visited = [
            seen[id] for n, seen in enumerate(owners) if n == 0 or owners[n - 1][id] != seen[id]
        ]
        assert len(visited) == len(set(visited)), (id, visited)


@pytest.mark.parametrize("figure", [math.nan, math.inf, -1.0, -math.inf, 1e300])
def test_a_figure_that_makes_no_sense_does_not_stop_the_plan(figure: float) -> None:
    group = in_turn([figure] + [1.0] * 15, 4)
    assert set(plan(group).assignment) == set(owners_of(group))
    odd = replace(group, members=(MemberFacts("m00", figure), *group.members[1:]))
    assert set(plan(odd).assignment) == set(owners_of(group))
