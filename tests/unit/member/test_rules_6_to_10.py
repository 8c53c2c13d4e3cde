"""The ten safety rules of the ledger, from 6 on, each as one member or two would live it."""

from __future__ import annotations

from dataclasses import replace

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Position, Rewind, Roster
from tidegate.ports import (
    Acquire,
    Break,
    Change,
    Join,
    Release,
    Renew,
    WriteCheckpoint,
    WriteRoster,
)

LEASE_S = 15.0


def test_rule_6_a_second_process_of_one_name_owns_nothing_and_says_who_holds_the_name() -> None:
    desk = alone("0", "1")
    first = desk.members["a"]
    desk.join("a", life="2")
    desk.tell("a", m.Woken(desk.now))
    assert "name-taken" in desk.reports("a")
    assert desk.operations("a", Acquire) == []
    assert len(first.tenures) == 2


def test_rule_6_a_newcomer_that_owns_nothing_is_given_its_share() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    desk.look()
    assert (desk.reading("a"), desk.reading("b")) == (["0"], ["1"])
    assert desk.operations("b", Join)


def test_rule_7_the_living_give_after_the_drain_and_the_last_checkpoint() -> None:
    desk = alone("0", "1")
    desk.handled("a", "1", 7)
    desk.join("b")
    desk.look()
    desk.look()
    given = [
        command.operation
        for command in desk.said["a"]
        if isinstance(command, m.Perform)
        and isinstance(command.operation, Change | WriteCheckpoint)
        and command.operation.partition == "1"
    ]
    assert isinstance(given[-2], WriteCheckpoint)
    assert given[-2].position == Position("7", 7)
    assert isinstance(given[-1], Change)
    assert desk.operations("b", Break) == []
    opened = [command for command in desk.said["b"] if isinstance(command, m.OpenReader)]
    assert opened[-1].position == Position("7", 7)


def test_rule_7_a_living_owner_is_taken_from_only_after_the_whole_hand_over_limit() -> None:
    desk = alone("0", "1")
    desk.join("b", hand_over_limit_s=20.0)
    began_at = desk.now
    # The main loop of a is blocked; its keeper goes on.
    while not desk.operations("b", Break) and desk.now < began_at + 60.0:
        for keep in desk.kept["a"].values():
            desk.ledger.perform_at(Renew(keep.partition, keep.lease_id, keep.etag), desk.now)
        desk.look("b")
    assert began_at + 20.0 <= desk.now <= began_at + 25.0
    desk.look("b")
    assert desk.reading("b") == ["1"]


def test_rule_8_after_a_stall_ended_leases_are_claimed_one_lease_later() -> None:
    desk = alone("0", "1", "2", "3")
    desk.join("b")
    desk.look()
    desk.look()
    assert len(desk.reading("b")) == 2
    # Nobody reaches storage for 20 s; then b is the first who does.
    desk.now += 20.0
    desk.tell("b", m.Woken(desk.now))
    began_at = desk.now
    while len(desk.members["b"].tenures) < 4 and desk.now < began_at + 60.0:
        desk.look("b")
    assert began_at + LEASE_S <= desk.now <= began_at + LEASE_S + 5.0


def test_rule_9_a_restart_in_place_takes_up_its_leases_under_new_ids_and_a_higher_epoch() -> None:
    desk = alone("0", "1")
    desk.join("b")
    desk.look()
    desk.look()
    remembered = [command for command in desk.said["a"] if isinstance(command, m.Remember)][-1]
    old = dict(remembered.leases)
    desk.now += 4.0
    desk.join("a", remembered.leases, life="2")
    desk.look()
    assert desk.reading("a") == ["0"]
    assert desk.members["a"].tenures["0"].lease_id != old["0"]
    assert desk.listing().ownerships["0"].epoch == 2
    assert desk.listing().checkpoints["0"].epoch == 2
    assert desk.reading("b") == ["1"]
    assert desk.listing().ownerships["1"].epoch == 2


def test_rule_10_a_rewind_of_the_roster_is_carried_out_once() -> None:
    desk = alone()
    desk.handled("a", "0", 9, b"nine")
    desk.look()
    desk.look()
    rewind = Rewind("r1", "0", Position("4", 4))
    roster = Roster(rewinds=(rewind,), written_at=desk.now)
    desk.ledger.perform_at(WriteRoster(roster, ""), desk.now)
    desk.look()
    stands = desk.listing().checkpoints["0"]
    assert (stands.position, stands.rewound_by) == (Position("4", 4), "r1")
    desk.handled("a", "0", 6)
    desk.look()
    desk.look()
    assert desk.listing().checkpoints["0"].position == Position("6", 6)
    assert rewound(desk) == ["rewound to what comes after sequence number 4"]


def test_rule_10_a_rewind_to_the_beginning_is_reported_in_words() -> None:
    desk = alone()
    desk.handled("a", "0", 9, b"nine")
    desk.look()
    desk.look()
    roster = Roster(rewinds=(Rewind("r1", "0"),), written_at=desk.now)
    desk.ledger.perform_at(WriteRoster(roster, ""), desk.now)
    desk.look()
    assert rewound(desk) == ["rewound to the beginning"]


def rewound(desk: Desk) -> list[str]:
    reports = [each for each in desk.said["a"] if isinstance(each, m.Report)]
    return [each.message for each in reports if each.kind == "rewound"]


def test_rule_10_a_rewind_mends_a_position_that_the_source_does_not_let_be_opened() -> None:
    desk = Desk("0")
    desk.opens = lambda position: position == Position("4", 4)
    desk.join("a")
    desk.look()
    assert desk.reading("a") == []
    rewind = Rewind("r1", "0", Position("4", 4))
    roster = Roster(rewinds=(rewind,), written_at=desk.now)
    desk.ledger.perform_at(WriteRoster(roster, ""), desk.now)
    desk.look()
    stands = desk.listing().checkpoints["0"]
    assert (stands.position, stands.rewound_by) == (Position("4", 4), "r1")
    assert desk.reading("a") == ["0"]
    assert desk.reports("a").count("rewound") == 1


def test_rule_10_a_stale_roster_says_no_more_who_leaves_and_still_says_what_is_paused() -> None:
    desk = Desk("0", "1")
    roster = Roster(leaving=("a",), paused=frozenset({"1"}), written_at=desk.now)
    desk.ledger.perform_at(WriteRoster(roster, ""), desk.now)
    desk.now += 121.0
    desk.join("a")
    desk.join("b")
    desk.look()
    desk.look()
    assert desk.reading("a") + desk.reading("b") == ["0"]
    desk.tell("b", m.StopAsked(desk.now))
    desk.look()
    assert desk.reading("a") == ["0"]


def test_a_member_that_stops_alone_releases_everything_after_its_last_checkpoint() -> None:
    desk = alone("0", "1")
    desk.handled("a", "0", 5)
    said = desk.tell("a", m.StopAsked(desk.now))
    assert isinstance(said[-1], m.Stopped | m.Remember)
    assert len(desk.operations("a", Release)) == 2
    assert desk.listing().checkpoints["0"].position == Position("5", 5)
    assert not any(row.lease.is_held for row in desk.listing().ownerships.values())
    assert replace(desk.listing(), server_time=0.0).members == {}
