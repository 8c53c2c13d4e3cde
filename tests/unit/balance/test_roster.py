"""What the roster says: who is expected, who is leaving, what is pinned or paused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.balance import MemberFacts, PartitionFacts, Snapshot, plan
from unit.balance.groups import (
    carried_out,
    counts_of,
    members,
    names,
    owned,
    true_moves,
    unowned,
    with_members,
)

# -- expected


def test_the_first_of_eight_expected_members_takes_an_eighth_and_the_rest_is_awaited() -> None:
    made = plan(Snapshot(members(["m03"]), unowned(32, is_new=True), names(8)))
    assert made.assignment == dict.fromkeys(["12", "13", "14", "15"], "m03")
    assert len(made.awaited) == 28
    assert set(made.awaited.values()) == set(names(8)) - {"m03"}
    assert not made.is_settled


def test_orphans_are_taken_at_once_by_those_who_are_there() -> None:
    made = plan(Snapshot(members(["m03", "m05"]), unowned(32), names(8)))
    assert sorted(
        counts_of(carried_out(Snapshot(members(["m03", "m05"]), unowned(32)), made)).values()
    ) == [16, 16]
    assert not made.awaited


def test_what_an_expected_member_is_to_get_stays_with_its_owner_until_it_is_there() -> None:
    group = Snapshot(members(names(4)), owned(names(4) * 8), names(8))
    assert plan(group).moves == ()
    assert plan(group).is_settled
    five = with_members(group, members(names(5)), names(8))
    assert len(plan(five).moves) == 4
    assert {move.target for move in plan(five).moves} == {"m04"}


@pytest.mark.parametrize("here", [["a"], ["b"], ["c"], ["a", "b"], ["b", "c"], ["a", "c"]])
def test_what_a_member_is_to_get_does_not_depend_on_who_of_the_others_is_there_yet(
    here: list[str],
) -> None:
    old = names(3, "old")
    new = ["a", "b", "c"]
    goal = plan(Snapshot(members([*old, *new], leaving=old), owned(old * 3), tuple(new)))
    made = plan(Snapshot(members([*old, *here], leaving=old), owned(old * 3), tuple(new)))
    for name in here:
        assert made.owned_by(name) == goal.owned_by(name)


def test_for_an_absent_member_is_kept_first_what_has_an_owner_meanwhile() -> None:
    partitions = (*owned(["a"] * 6), *unowned(9, is_new=True)[6:])
    made = plan(Snapshot(members(["a", "c"]), partitions, ("a", "b", "c")))
    assert made.awaited == {}
    assert [(move.source, move.target) for move in made.moves] == [(None, "c")] * 3


def test_a_member_that_dies_while_it_is_expected_is_stood_in_for() -> None:
    group = with_members(Snapshot((), owned(names(8) * 4)), members(names(8)[1:]), names(8))
    made = plan(group)
    assert true_moves(made) == []
    there = carried_out(group, made)
    assert sorted(counts_of(there).values()) == [4, 4, 4, 5, 5, 5, 5]
    assert plan(there).is_settled
    back = with_members(there, members(names(8)), names(8))
    assert len(plan(back).moves) == 4
    assert counts_of(carried_out(back, plan(back))) == dict.fromkeys(names(8), 4)


def test_a_member_that_nobody_expected_counts_as_a_member() -> None:
    group = Snapshot(members(["m00", "m01", "guest"]), owned(["m00", "m01"] * 6), ("m00", "m01"))
    assert counts_of(carried_out(group, plan(group)))["guest"] == 4


def test_an_expected_member_that_is_absent_is_taken_to_have_the_usual_weight() -> None:
    group = Snapshot((MemberFacts("m00", 4.0),), unowned(32, is_new=True), ("m00", "m01"))
    assert len(plan(group).assignment) == 16


# -- leaving


def test_a_leaving_member_gives_all_with_the_reason() -> None:
    group = Snapshot(members(names(3), leaving=["m01"]), owned(names(3) * 4))
    made = plan(group)
    assert [move.reason for move in made.moves] == ["m01 is leaving"] * 4
    assert counts_of(carried_out(group, made)) == {"m00": 6, "m02": 6}


def test_when_everybody_is_leaving_they_keep_what_they_have_and_take_up_orphans() -> None:
    partitions = (*owned(["m00"] * 5 + ["m01"]), PartitionFacts("6"), PartitionFacts("7"))
    group = Snapshot(members(names(2), leaving=names(2)), partitions)
    made = plan(group)
    assert true_moves(made) == []
    assert counts_of(carried_out(group, made)) == {"m00": 5, "m01": 3}


def test_a_leaving_member_keeps_what_is_for_an_absent_one_until_the_grace_ends() -> None:
    group = Snapshot(members(names(3), leaving=["m00"]), owned(names(3) * 4), ("m01", "m02", "new"))
    assert plan(group).moves == ()
    over = replace(group, expected=("m01", "m02"))
    assert counts_of(carried_out(over, plan(over))) == {"m01": 6, "m02": 6}


# -- pins, pauses, weights


def test_a_pinned_partition_goes_to_its_pin_and_counts_in_its_share() -> None:
    partitions = owned(names(2) * 4)
    group = Snapshot(members(names(2)), (replace(partitions[0], pinned_to="m01"), *partitions[1:]))
    made = plan(group)
    assert [(m.partition, m.target, m.reason) for m in made.moves] == [
        ("0", "m01", "it is pinned to m01"),
        ("7", "m00", "m01 makes room for what is pinned to it"),
    ]


def test_pins_may_exceed_a_share_and_the_others_share_what_is_left() -> None:
    partitions = tuple(replace(p, pinned_to="m00") for p in owned(names(4) * 2)[:6])
    group = Snapshot(members(names(4)), (*partitions, *owned(names(4) * 2)[6:]))
    there = carried_out(group, plan(group))
    assert counts_of(there)["m00"] == 6
    assert sorted(counts_of(there).values()) == [1, 1, 6]


def test_a_pin_to_a_member_that_leaves_or_is_nobody_has_no_effect() -> None:
    partitions = (
        replace(owned(["m00"])[0], pinned_to="stranger"),
        PartitionFacts("1", "m01", pinned_to="m02"),
    )
    group = Snapshot(members(names(3), leaving=["m02"]), partitions)
    assert plan(group).moves == ()


def test_a_paused_partition_is_nobodys_and_counts_for_nobody() -> None:
    partitions = tuple(replace(p, is_paused=int(p.id) < 4) for p in owned(["m00"] * 8))
    made = plan(Snapshot(members(names(2)), partitions))
    assert set(made.assignment) == {"4", "5", "6", "7"}
    assert len(made.moves) == 2


def test_members_share_by_weight() -> None:
    facts = (MemberFacts("a", 1.0), MemberFacts("b", 2.0), MemberFacts("c", 5.0))
    group = Snapshot(facts, unowned(16))
    assert counts_of(carried_out(group, plan(group))) == {"a": 2, "b": 4, "c": 10}


def test_a_member_of_no_weight_owns_something_only_if_nobody_else_is_there() -> None:
    idle = MemberFacts("idle", 0.0)
    assert len(plan(Snapshot((idle,), unowned(4))).assignment) == 4
    group = Snapshot((idle, MemberFacts("able")), owned(["idle"] * 4))
    made = plan(group)
    assert counts_of(carried_out(group, made)) == {"able": 4}
    assert made.moves[0].reason == "idle owns 4 partitions and its share is 0"


# -- nobody, nothing


def test_without_members_nothing_is_assigned() -> None:
    made = plan(Snapshot((), unowned(4)))
    assert (made.assignment, made.awaited, made.moves) == ({}, {}, ())


def test_without_partitions_there_is_nothing_to_do() -> None:
    assert plan(Snapshot(members(names(3)), ())).is_settled


def test_an_owner_that_is_not_alive_is_no_owner() -> None:
    made = plan(Snapshot(members(["m00"]), owned(["gone"])))
    assert made.moves[0].source is None
    assert made.moves[0].reason == "its owner is gone"


def test_partitions_with_numbers_are_in_the_order_of_numbers() -> None:
    made = plan(
        Snapshot(members(["m00"]), tuple(PartitionFacts(id) for id in ("10", "9", "a", "0-FF")))
    )
    assert made.owned_by("m00") == ("9", "10", "0-FF", "a")
