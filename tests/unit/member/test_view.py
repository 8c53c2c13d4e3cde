"""What a member makes of a listing: it knows its own better, and goes on from what is announced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from support.member_desk import Desk, alone
from tidegate import balance
from tidegate.balance import Snapshot
from tidegate.ledger.members import presence_metadata
from tidegate.ledger.packing import METADATA_LIMIT, size_of
from tidegate.member import messages as m
from tidegate.member.view import Mine, sight_of, snapshot
from tidegate.model import LeaseState, Listing, Owner, Ownership, Presence, Roster
from tidegate.ports import Announce
from tidegate.settings import MemberSettings

NOW = 10_000.0
SETTINGS = MemberSettings("me", weight=2.0, expected_grace_s=10.0, absent_limit_s=60.0)
NOTHING = Mine(is_leaving=False, owned=(), given={}, loads={})


def row(partition: str, owner: str | None, etag: str = "1") -> Ownership:
    lease = LeaseState.LEASED if owner else LeaseState.AVAILABLE
    return Ownership(partition, etag, lease, Owner(owner, "1") if owner else None, 1, "", NOW)


def listing(
    *rows: Ownership,
    loads: Mapping[str, Mapping[str, float]],
    roster: Roster | None = None,
    at: float = NOW,
) -> Listing:
    """`loads`: what each member that is present announces."""
    members = {
        name: Presence(name, "1", LeaseState.LEASED, "1", loads=told)
        for name, told in loads.items()
    }
    return Listing({one.partition: one for one in rows}, {}, members, roster, at)


def seen(shown: Listing, mine: Mine) -> Snapshot:
    return snapshot(sight_of(shown, None, SETTINGS), ("0", "1"), mine, SETTINGS)


def owners(made: Snapshot) -> list[str | None]:
    return [partition.owner for partition in made.partitions]


def test_a_member_sees_itself_before_any_listing_does() -> None:
    made = seen(listing(loads={"other": {}}), NOTHING)
    assert [(one.name, one.weight, one.is_leaving) for one in made.members] == [
        ("me", 2.0, False),
        ("other", 1.0, False),
    ]


def test_a_member_that_stops_ends_before_others_that_the_roster_names() -> None:
    roster = Roster(leaving=("other", "me"), written_at=NOW)
    shown = listing(loads={"me": {}, "other": {}}, roster=roster)
    assert seen(shown, NOTHING).leaving == ("other", "me")
    assert seen(shown, replace(NOTHING, is_leaving=True)).leaving == ("me", "other")


def test_a_member_that_stops_is_leaving_before_it_has_said_so() -> None:
    made = seen(listing(loads={"me": {}}), replace(NOTHING, is_leaving=True))
    assert [one.is_leaving for one in made.members] == [True]


def test_what_a_member_has_claimed_is_its_own_before_a_listing_shows_it() -> None:
    shown = listing(row("0", None), row("1", "other"), loads={"me": {}, "other": {}})
    made = seen(shown, replace(NOTHING, owned=["0"]))
    assert owners(made) == ["me", "other"]
    assert not made.partitions[0].is_new


def test_what_was_given_is_the_receivers_until_a_listing_shows_another_write() -> None:
    given = replace(NOTHING, given={"0": ("other", "1")})
    loads: Mapping[str, Mapping[str, float]] = {"me": {}, "other": {}}
    assert owners(seen(listing(row("0", "me"), loads=loads), given)) == ["other", None]
    later = listing(row("0", "me", etag="2"), loads=loads)
    assert owners(seen(later, given)) == ["me", None]
    without_it = listing(row("0", "me"), loads={"me": {}})
    assert owners(seen(without_it, given)) == [None, None]


def test_the_load_of_an_own_partition_is_what_was_measured_here_or_what_stood_before() -> None:
    shown = listing(row("0", "other"), row("1", "other"), loads={"other": {"0": 0.4, "1": 0.6}})
    made = seen(shown, replace(NOTHING, owned=["0", "1"], loads={"0": 0.3}))
    assert [partition.load for partition in made.partitions] == [0.3, 0.6]


def test_each_absent_member_has_two_grace_times_of_its_own() -> None:
    roster = Roster(expected=("me", "first", "second"), written_at=NOW)
    sight = sight_of(listing(loads={"second": {}}, roster=roster), None, SETTINGS)
    for after_s, is_new, expected in (
        (5.0, True, {"me", "first", "second"}),
        (10.0, True, {"me", "first", "second"}),
        (15.0, False, {"me", "first", "second"}),
        (60.0, False, {"me", "second"}),
        (65.0, False, {"me"}),
    ):
        fresh = replace(roster, written_at=NOW + after_s)
        shown = listing(loads={}, roster=fresh, at=NOW + after_s)
        sight = sight_of(shown, sight, SETTINGS)
        made = snapshot(sight, ("0",), NOTHING, SETTINGS)
        assert (made.partitions[0].is_new, set(made.expected)) == (is_new, expected), after_s


# -- loads that are announced


def announced(desk: Desk, name: str) -> Mapping[str, float]:
    said = desk.operations(name, Announce)[-1]
    assert isinstance(said, Announce)
    return said.presence.loads


def test_who_receives_a_partition_announces_its_load_until_it_has_measured_it() -> None:
    desk = alone("0", "1")
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.3), ("1", 0.6))))
    desk.join("b")
    desk.look()
    desk.look()
    assert desk.reading("b") == ["1"]
    assert announced(desk, "b") == {"1": 0.6}
    desk.tell("b", m.LoadsMeasured(desk.now, (("1", 0.4),)))
    assert announced(desk, "b") == {"1": 0.4}


def test_the_load_of_a_partition_stays_known_while_it_changes_hands() -> None:
    desk = alone("0", "1")
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.3), ("1", 0.6))))
    desk.is_held_back = lambda name, operation: (
        name == "b" and isinstance(operation, Announce) and bool(operation.presence.loads)
    )
    desk.join("b")
    for _ in range(3):
        desk.look()
        shown = desk.listing()
        made = balance.snapshot_of(shown, ("1",), roster_stale_s=1e9, foreign_alive_s=0.0)
        assert [partition.load for partition in made.partitions] == [0.6]
    assert desk.reading("b") == ["1"]
    assert shown.members["b"].loads == {}


def test_what_went_elsewhere_is_announced_no_more_once_its_owner_does() -> None:
    desk = alone("0", "1")
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.3), ("1", 0.6))))
    assert announced(desk, "a") == {"0": 0.3, "1": 0.6}
    desk.join("b")
    for _ in range(3):
        desk.look()
    assert announced(desk, "a") == {"0": 0.3}


def test_the_load_of_a_dead_members_partition_goes_with_it() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    desk.look()
    desk.tell("b", m.LoadsMeasured(desk.now, (("1", 0.6),)))
    desk.look()
    for _ in range(15):
        desk.look("a")
    assert desk.reading("a") == ["0", "1"]
    assert announced(desk, "a") == {"1": 0.6}


def test_that_a_partition_costs_nothing_is_announced_too_so_that_it_is_known() -> None:
    desk = alone("0", "1")
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.0), ("1", 0.6))))
    assert announced(desk, "a") == {"0": 0.0, "1": 0.6}
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.0), ("1", 0.0))))
    assert announced(desk, "a") == {"0": 0.0, "1": 0.0}


def test_of_a_thousand_loads_the_highest_are_announced_and_all_else_still_fits() -> None:
    desk = alone("0")
    measured = tuple((str(number), number / 1000) for number in range(1, 1001))
    desk.tell("a", m.LoadsMeasured(desk.now, measured))
    said = announced(desk, "a")
    assert len(said) == 200
    assert min(said.values()) == 0.8
    presence = Presence("a", "", LeaseState.LEASED, "1", loads=said)
    assert size_of(presence_metadata(presence)) < METADATA_LIMIT / 2


def test_a_restart_goes_on_from_the_loads_of_its_last_life() -> None:
    desk = alone("0", "1")
    desk.tell("a", m.LoadsMeasured(desk.now, (("0", 0.3), ("1", 0.6))))
    remembered = [command for command in desk.said["a"] if isinstance(command, m.Remember)][-1]
    desk.now += 4.0
    desk.join("a", remembered.leases, life="2")
    desk.look()
    said = [op.presence.loads for op in desk.operations("a", Announce) if isinstance(op, Announce)]
    assert said
    assert all(loads == {"0": 0.3, "1": 0.6} for loads in said)
