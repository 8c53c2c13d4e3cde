"""Moving positions between leases and a ledger: what is carried over, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from support.lease_samples import RID
from tidegate.ledger.cosmos.dialects import Boundary
from tidegate.ledger.cosmos.leases_seen import Leases
from tidegate.ledger.cosmos.migration import (
    Allowed,
    MigrationRefused,
    check_written,
    to_leases,
    to_ledger,
)
from tidegate.ledger.cosmos.positions import position_of
from tidegate.model import (
    Checkpoint,
    Flaw,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    Position,
    Presence,
)
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import FeedRange

LOW, HIGH = FeedRange("", "7F"), FeedRange("7F", "FF")
EMPTY = Listing({}, {}, {}, None, 1000.0)
ALL = Allowed(even_if_alive=True, overwrite=True, without_state=True)


def lease(range: FeedRange, etag: str | None, owner: str | None = None) -> Boundary:
    token = f"{range.low}-{range.high}"
    return Boundary(token, owner, etag, range, None, {"id": token})


def leases(*each: Boundary, **other: Any) -> Leases:
    return Leases({one.range.id: one for one in each if one.range is not None}, **other)


TWO = leases(lease(LOW, '"94"'), lease(HIGH, '"57"'))


def checkpoint(range: FeedRange, lsn: int, etag: str = "e", **other: Any) -> Checkpoint:
    position = position_of(f'"{lsn}"', range, RID)
    return Checkpoint(range.id, etag, position, 3, "n", **other)


def listing(*each: Checkpoint, **other: Any) -> Listing:
    rows = {one.partition: one for one in each}
    return Listing(other.get("ownerships", {}), rows, other.get("members", {}), None, 1000.0)


def lives(boundary: Boundary) -> bool:
    return boundary.owner is not None


def refused(what: Any) -> str:
    with pytest.raises(MigrationRefused) as said:
        what()
    assert str(said.value).startswith("nothing was written")
    return str(said.value)


# --- to a ledger


def test_each_position_is_carried_over_as_it_stands() -> None:
    plan = to_ledger(TWO, EMPTY, RID, Allowed(), lives)
    assert {write.partition: write.position for write in plan.writes} == {
        LOW.id: position_of('"94"', LOW, RID),
        HIGH.id: position_of('"57"', HIGH, RID),
    }
    assert all(write.etag is None for write in plan.writes)


def test_a_range_that_was_never_read_begins_where_the_group_begins() -> None:
    plan = to_ledger(leases(lease(LOW, None), lease(HIGH, '"57"')), EMPTY, RID, Allowed(), lives)
    assert plan.unread == (LOW.id,)
    assert [write.partition for write in plan.writes] == [HIGH.id]


def test_moving_twice_writes_nothing_again() -> None:
    plan = to_ledger(TWO, EMPTY, RID, Allowed(), lives)
    after = listing(checkpoint(LOW, 94), checkpoint(HIGH, 57))
    assert check_written({w.partition: w.position for w in plan.writes}, after) == ()
    again = to_ledger(TWO, after, RID, Allowed(), lives)
    assert (again.writes, again.same) == ((), (LOW.id, HIGH.id))


def test_a_living_host_is_not_passed_over_unless_told() -> None:
    owned = leases(lease(LOW, '"94"', "host-1"), lease(HIGH, '"57"'))
    said = refused(lambda: to_ledger(owned, EMPTY, RID, Allowed(), lives))
    assert "living hosts (host-1)" in said
    assert to_ledger(owned, EMPTY, RID, Allowed(even_if_alive=True), lives).writes
    assert to_ledger(owned, EMPTY, RID, Allowed(), lambda _: False).writes


def test_a_living_group_is_not_passed_over_unless_told() -> None:
    member = Presence("m1", "e", LeaseState.LEASED, "i")
    row = Ownership(LOW.id, "e", LeaseState.LEASED, Owner("m2", "i"), 4, "", 0.0)
    living = listing(members={"m1": member}, ownerships={LOW.id: row})
    said = refused(lambda: to_ledger(TWO, living, RID, Allowed(), lives))
    assert "members of the group live (m1, m2)" in said


def test_what_stands_there_is_written_over_only_where_that_is_allowed() -> None:
    further = listing(checkpoint(LOW, 120))
    said = refused(lambda: to_ledger(TWO, further, RID, Allowed(), lives))
    assert "at 120, and its lease says 94: --overwrite" in said
    plan = to_ledger(TWO, further, RID, Allowed(overwrite=True), lives)
    (write,) = [each for each in plan.writes if each.partition == LOW.id]
    assert (write.etag, write.epoch) == ("e", 3), "over what was seen, with its epoch"


def test_checkpoints_of_other_ranges_are_refused_whatever_is_allowed() -> None:
    other = listing(checkpoint(FeedRange("", "3F"), 5))
    assert "of other ranges (-3f)" in refused(lambda: to_ledger(TWO, other, RID, ALL, lives))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    flawed = leases(lease(LOW, '"94"', "host-1"), flaws=(Flaw("x", "lease 'x' cannot be read"),))
    said = refused(lambda: to_ledger(flawed, EMPTY, RID, Allowed(), lives))
    for part in ("lease 'x' cannot be read", "7f-ff are in none", "living hosts"):
        assert part in said


# --- to leases

NO_LEASES = leases()


def test_each_position_is_an_etag_again() -> None:
    group = listing(checkpoint(LOW, 94), checkpoint(HIGH, 57))
    plan = to_leases(group, {}, NO_LEASES, RID, Allowed(), lives)
    assert plan.etags == {LOW.id: '"94"', HIGH.id: '"57"'}
    assert plan.within_page == ()


def test_there_and_back_is_where_it_was() -> None:
    plan = to_ledger(TWO, EMPTY, RID, Allowed(), lives)
    group = listing(
        *(Checkpoint(w.partition, "e", w.position, w.epoch, w.nonce) for w in plan.writes)
    )
    assert to_leases(group, {}, TWO, RID, Allowed(), lives).etags == {
        key: each.etag for key, each in TWO.by_partition.items()
    }


def test_a_position_within_a_page_is_told() -> None:
    within = Place(RID, (Feed(LOW, '"94"', 97),)).position
    group = listing(Checkpoint(LOW.id, "e", within, 1, "n"), checkpoint(HIGH, 57))
    plan = to_leases(group, {}, NO_LEASES, RID, Allowed(), lives)
    assert (plan.etags[LOW.id], plan.within_page) == ('"94"', (LOW.id,))


def test_a_state_is_left_behind_only_where_that_is_allowed() -> None:
    group = listing(checkpoint(LOW, 94), checkpoint(HIGH, 57))
    states = {LOW.id: b"sums", HIGH.id: None}
    said = refused(lambda: to_leases(group, states, NO_LEASES, RID, Allowed(), lives))
    assert f"{LOW.id}: there is a state" in said
    assert to_leases(group, states, NO_LEASES, RID, Allowed(without_state=True), lives).etags


def test_a_partition_that_can_have_no_lease_is_told_before_anything_is_written() -> None:
    group = listing(checkpoint(LOW, 94), checkpoint(HIGH, 57))
    unfit = {HIGH.id: "the service has split its range '1' since"}
    said = refused(lambda: to_leases(group, {}, NO_LEASES, RID, ALL, lives, unfit))
    assert f"partition {HIGH.id} can have no lease: the service has split its range" in said
    assert LOW.id not in said
    assert to_leases(group, {}, TWO, RID, ALL, lives, unfit).etags, "its lease is there"


def test_leases_that_say_otherwise_are_written_over_only_where_that_is_allowed() -> None:
    group = listing(checkpoint(LOW, 100), checkpoint(HIGH, 57))
    stale = leases(lease(LOW, '"94"'), lease(FeedRange("7F", "BF"), '"1"'))
    said = refused(lambda: to_leases(group, {}, stale, RID, Allowed(), lives))
    assert 'stands at "94", and the group at "100"' in said
    assert "leases of other ranges (7F-BF)" in said
    plan = to_leases(group, {}, stale, RID, Allowed(overwrite=True), lives)
    assert [each.token for each in plan.gone] == ["7F-BF"]


def test_a_group_whose_ranges_are_changing_is_refused() -> None:
    ended = Place(RID, (Feed(LOW, '"94"', 94),), into=("-3f", "3f-7f")).position
    group = listing(Checkpoint(LOW.id, "e", ended, 1, "n"), checkpoint(HIGH, 57))
    said = refused(lambda: to_leases(group, {}, NO_LEASES, RID, ALL, lives))
    assert "the keys -7f are in none" in said


def test_positions_of_another_container_are_refused_whatever_is_allowed() -> None:
    group = listing(checkpoint(LOW, 94), checkpoint(HIGH, 57))
    said = refused(lambda: to_leases(group, {}, NO_LEASES, "another", ALL, lives))
    assert "another container of this name" in said


def test_a_position_that_is_no_place_is_refused() -> None:
    group = listing(
        Checkpoint(LOW.id, "e", Position("8589934592", 5), 1, "n"), checkpoint(HIGH, 57)
    )
    said = refused(lambda: to_leases(group, {}, NO_LEASES, RID, ALL, lives))
    assert "none of a change feed" in said
