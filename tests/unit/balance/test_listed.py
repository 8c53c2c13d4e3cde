"""Snapshots from listings: who is alive, who owns what, what the roster may still say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import pytest

from tidegate.balance import PartitionFacts, Snapshot, listed, plan
from tidegate.balance.listed import absent_since, alive_members, roster_of
from tidegate.model import LeaseState, Listing, Owner, Ownership, Presence, Roster

NOW = 10_000.0


def ownership(
    partition: str,
    owner: str | None,
    lease: LeaseState = LeaseState.LEASED,
    *,
    epoch: int = 3,
    modified_at: float = NOW - 100,
    is_foreign: bool = False,
) -> Ownership:
    named = Owner(owner, "1") if owner else None
    return Ownership(partition, "etag", lease, named, epoch, "nonce", modified_at, is_foreign)


def presence(
    name: str,
    lease: LeaseState = LeaseState.LEASED,
    *,
    weight: float = 1.0,
    loads: Mapping[str, float] | None = None,
) -> Presence:
    return Presence(name, "etag", lease, "1", weight, loads or {})


def listing(
    *blobs: Ownership | Presence, roster: Roster | None = None, server_time: float = NOW
) -> Listing:
    return Listing(
        ownerships={blob.partition: blob for blob in blobs if isinstance(blob, Ownership)},
        checkpoints={},
        members={blob.name: blob for blob in blobs if isinstance(blob, Presence)},
        roster=roster,
        server_time=server_time,
    )


def snapshot_of(
    seen: Listing,
    partitions: Iterable[str],
    *,
    roster_stale_s: float = 60.0,
    foreign_alive_s: float = 180.0,
    is_grace_over: bool = False,
    given_up: Collection[str] = (),
) -> Snapshot:
    return listed.snapshot_of(
        seen,
        partitions,
        roster_stale_s=roster_stale_s,
        foreign_alive_s=foreign_alive_s,
        is_grace_over=is_grace_over,
        given_up=given_up,
    )


def only(snapshot: Snapshot) -> PartitionFacts:
    (partition,) = snapshot.partitions
    return partition


def alive(snapshot: Snapshot) -> list[str]:
    return [member.name for member in snapshot.members]


def test_a_member_is_alive_by_its_presence_or_by_any_lease() -> None:
    seen = listing(
        presence("present"),
        presence("gone", LeaseState.EXPIRED),
        presence("owning", LeaseState.EXPIRED),
        ownership("0", "owning"),
        ownership("1", "dead", LeaseState.EXPIRED),
    )
    assert alive(snapshot_of(seen, ["0", "1"])) == ["owning", "present"]


@pytest.mark.parametrize("lease", LeaseState)
def test_the_owner_is_named_while_its_lease_is_held(lease: LeaseState) -> None:
    seen = listing(presence("a"), ownership("0", "a", lease))
    owner = "a" if lease in (LeaseState.LEASED, LeaseState.BREAKING) else None
    assert only(snapshot_of(seen, ["0"])).owner == owner


def test_weights_are_those_that_members_state() -> None:
    seen = listing(presence("a", weight=2.5), ownership("0", "b"))
    assert [m.weight for m in snapshot_of(seen, ["0"]).members] == [2.5, 1.0]


# -- the roster


ROSTER = Roster(
    expected=("a", "b", "c"),
    leaving=("b",),
    pins={"0": "a"},
    paused=frozenset({"1"}),
    written_at=NOW - 30,
)


def test_a_fresh_roster_says_who_is_expected_and_who_is_leaving() -> None:
    made = snapshot_of(listing(presence("a"), presence("b"), roster=ROSTER), ["0", "1"])
    assert made.expected == ("a", "c")
    assert [member.is_leaving for member in made.members] == [False, True]


def test_a_member_that_announces_its_end_ends_before_those_that_the_roster_names_first() -> None:
    roster = replace(ROSTER, leaving=("a", "b", "c"))
    members = presence("a"), presence("b"), replace(presence("c"), is_leaving=True)
    assert snapshot_of(listing(*members, roster=roster), ["0"]).leaving == ("c", "a", "b")
    gone = listing(presence("a"), presence("c"), ownership("0", "b"), roster=roster)
    assert snapshot_of(gone, ["0"]).leaving == ("b", "a", "c"), "`b` has left its name on a lease"


def test_a_stale_roster_voids_who_is_expected_and_leaving_and_nothing_else() -> None:
    seen = listing(presence("a"), presence("b"), roster=ROSTER, server_time=NOW + 31)
    made = snapshot_of(seen, ["0", "1"])
    assert made.expected == ()
    assert not any(member.is_leaving for member in made.members)
    assert [p.pinned_to for p in made.partitions] == ["a", None]
    assert [p.is_paused for p in made.partitions] == [False, True]
    assert snapshot_of(seen, ["0", "1"], roster_stale_s=120.0).expected == ("a", "c")


def test_a_group_that_is_paused_has_all_partitions_paused() -> None:
    made = snapshot_of(listing(presence("a"), roster=replace(ROSTER, is_paused=True)), ["0", "1"])
    assert all(partition.is_paused for partition in made.partitions)
    assert plan(made).assignment == {}


def test_each_absence_has_a_time_of_its_own() -> None:
    roster = replace(ROSTER, leaving=(), written_at=NOW + 50)

    def after(before: Mapping[str, float], seen: Listing) -> dict[str, float]:
        return absent_since(before, seen, alive_members(seen), roster_of(seen, 60.0))

    since = after({}, listing(presence("a"), roster=roster))
    assert since == {"b": NOW, "c": NOW}
    later = listing(presence("a"), presence("b"), roster=roster, server_time=NOW + 20)
    assert after(since, later) == {"c": NOW}
    again = listing(presence("a"), roster=roster, server_time=NOW + 40)
    assert after(after(since, later), again) == {"b": NOW + 40, "c": NOW}
    assert after(since, replace(again, roster=None)) == {}
    stale = replace(again, server_time=NOW + 111)
    assert after(since, stale) == {}


def test_whoever_is_given_up_is_expected_no_more() -> None:
    seen = listing(presence("a"), roster=replace(ROSTER, leaving=()))
    assert snapshot_of(seen, ["0"], given_up={"c"}).expected == ("a", "b")


def test_what_nobody_owns_waits_until_the_grace_is_over() -> None:
    seen = listing(presence("a"), roster=Roster(expected=("a", "b", "c"), written_at=NOW))
    six = [str(number) for number in range(6)]
    made = plan(snapshot_of(seen, six))
    assert sorted(made.awaited.values()) == ["b", "b", "c", "c"]
    made = plan(snapshot_of(seen, six, is_grace_over=True))
    assert made.owned_by("a") == tuple(six)


def test_who_holds_a_lease_and_has_no_blob_is_on_its_way_out() -> None:
    made = snapshot_of(listing(presence("a"), ownership("0", "b")), ["0"])
    assert [(member.name, member.is_leaving) for member in made.members] == [
        ("a", False),
        ("b", True),
    ]


def test_who_says_that_it_leaves_is_leaving_whatever_the_roster_says() -> None:
    made = snapshot_of(listing(replace(presence("a"), is_leaving=True)), ["0"])
    assert [member.is_leaving for member in made.members] == [True]


# -- new partitions and orphans


def test_a_partition_that_nobody_ever_owned_is_new() -> None:
    made = snapshot_of(
        listing(presence("a"), ownership("1", None, LeaseState.AVAILABLE, epoch=0)), ["0", "1"]
    )
    assert [partition.is_new for partition in made.partitions] == [True, True]


def test_the_partition_of_a_dead_owner_is_an_orphan() -> None:
    seen = listing(presence("a"), ownership("0", "dead", LeaseState.EXPIRED))
    assert not only(snapshot_of(seen, ["0"])).is_new


def test_a_partition_given_up_while_the_group_runs_is_an_orphan() -> None:
    seen = listing(
        ownership("0", None, LeaseState.AVAILABLE, modified_at=NOW - 5),
        ownership("1", "a", modified_at=NOW - 100),
        presence("a"),
    )
    assert [p.is_new for p in snapshot_of(seen, ["0", "1"]).partitions] == [False, False]


def test_a_partition_that_was_given_up_before_the_group_started_again_is_new() -> None:
    seen = listing(
        ownership("0", "old", LeaseState.AVAILABLE, modified_at=NOW - 500),
        ownership("1", "old", LeaseState.EXPIRED, modified_at=NOW - 500),
        ownership("2", "old", LeaseState.BROKEN, modified_at=NOW - 500),
        ownership("3", "a", modified_at=NOW - 100),
        # It is being claimed, and still names the last owner.
        ownership("4", "old", modified_at=NOW - 900),
        presence("a"),
    )
    made = snapshot_of(seen, ["0", "1", "2", "3"])
    assert [partition.is_new for partition in made.partitions] == [True, False, False, False]


def test_when_the_whole_group_starts_again_partitions_wait_for_the_expected() -> None:
    given_up = [
        ownership(str(n), None, LeaseState.AVAILABLE, modified_at=NOW - 500) for n in range(8)
    ]
    roster = Roster(expected=("a", "b"), written_at=NOW)
    first = snapshot_of(
        listing(presence("a"), *given_up, roster=roster), [str(n) for n in range(8)]
    )
    assert len(plan(first).assignment) == 4
    begun = [ownership(str(n), "a", modified_at=NOW - 1) for n in range(4)]
    second = snapshot_of(
        listing(presence("a"), *given_up[4:], *begun, roster=roster), [str(n) for n in range(8)]
    )
    assert plan(second).moves == ()
    assert len(plan(second).awaited) == 4


# -- loads


def test_the_load_is_what_the_owner_states() -> None:
    seen = listing(
        presence("a", loads={"0": 0.4}), presence("b", loads={"0": 0.9}), ownership("0", "a")
    )
    assert only(snapshot_of(seen, ["0"])).load == 0.4


def test_a_dead_owners_figure_counts_until_there_is_another() -> None:
    seen = listing(
        presence("a", LeaseState.EXPIRED, loads={"0": 0.4}),
        presence("b"),
        ownership("0", "a", LeaseState.EXPIRED),
    )
    assert only(snapshot_of(seen, ["0"])).load == 0.4


def test_what_the_former_owner_still_states_counts_until_the_new_one_has_measured() -> None:
    seen = listing(presence("a", loads={"0": 0.4}), presence("b"), ownership("0", "b"))
    assert only(snapshot_of(seen, ["0"])).load == 0.4


# -- other processors


def foreign(age: float) -> Listing:
    return listing(
        presence("a"),
        presence("b"),
        ownership(
            "0", "official", LeaseState.AVAILABLE, epoch=0, modified_at=NOW - age, is_foreign=True
        ),
    )


def test_a_partition_of_another_processor_that_lives_is_left_alone() -> None:
    made = snapshot_of(foreign(age=30), ["0", "1"])
    assert [partition.id for partition in made.partitions] == ["1"]
    assert alive(made) == ["a", "b"]


def test_a_partition_of_another_processor_that_is_dead_is_an_orphan() -> None:
    partition = only(snapshot_of(foreign(age=180), ["0"]))
    assert (partition.owner, partition.is_new) == (None, False)


def test_the_explicit_switch_takes_partitions_from_another_processor_that_lives() -> None:
    partition = only(snapshot_of(foreign(age=30), ["0"], foreign_alive_s=0.0))
    assert (partition.owner, partition.is_new) == (None, False)


def test_a_foreign_partition_that_one_of_ours_has_just_leased_has_no_owner_yet() -> None:
    seen = listing(ownership("0", "official", LeaseState.LEASED, epoch=0, is_foreign=True))
    made = snapshot_of(seen, ["0"])
    assert alive(made) == []
    assert only(made).owner is None
