"""The ten safety rules of the ledger, up to 5, each as one member or two would live it."""

from __future__ import annotations

import pytest

from support.member_desk import Desk, alone
from tidegate.ledger.layout import Kind
from tidegate.member import messages as m
from tidegate.model import Position, Rewind, Roster
from tidegate.ports import (
    Acquire,
    Change,
    ReadCheckpoint,
    Refusal,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

LEASE_S = 15.0


def test_rule_1_each_tenure_has_a_fresh_lease_a_higher_epoch_and_calls_that_carry_the_etag() -> (
    None
):
    desk = alone()
    first = desk.operations("a", Acquire)[0]
    assert isinstance(first, Acquire)
    assert first.etag
    desk.ledger.break_by_hand("0", desk.now)
    desk.look()
    leases = [op.lease_id for op in desk.operations("a", Acquire) if isinstance(op, Acquire)]
    assert len(leases) == len(set(leases)) == 2
    epochs = [
        op.epoch for op in desk.operations("a", WriteOwnership) if isinstance(op, WriteOwnership)
    ]
    assert epochs == [1, 2]
    assert desk.listing().checkpoints["0"].epoch == 2


def test_rule_1_the_epoch_is_above_that_of_the_checkpoint_too() -> None:
    desk = Desk("0")
    write = WriteCheckpoint("0", None, Position("5", 5), 41, "other")
    desk.ledger.perform_at(write, desk.now)
    desk.join("a")
    desk.look()
    assert desk.listing().ownerships["0"].epoch == 42


def test_rule_1_an_owner_that_the_hub_refuses_raises_above_the_level_and_touches_again() -> None:
    desk = alone()
    serial = desk.members["a"].tenures["0"].serial
    said = desk.tell("a", m.ReaderRefused(desk.now, "0", serial, level=7))
    opened = [command for command in said if isinstance(command, m.OpenReader)]
    assert [command.epoch for command in opened] == [8]
    assert desk.listing().checkpoints["0"].epoch == 8


def test_rule_2_an_owner_stops_before_the_server_lets_go_counted_from_the_sending() -> None:
    desk = alone()
    tenure = desk.members["a"].tenures["0"]
    assert tenure.valid_until == desk.now + LEASE_S - 1.0
    sent_at = desk.now + 2.0
    desk.now += 6.0
    desk.tell("a", m.Renewed(desk.now, sent_at, "0", tenure.lease_id))
    assert tenure.valid_until == sent_at + LEASE_S - 1.0
    desk.now = tenure.valid_until
    said = desk.tell("a", m.Woken(desk.now))
    assert m.CloseReader("0", tenure.serial, drain=False) in said


def test_rule_2_a_change_of_the_lease_does_not_prolong_it_for_who_restarts_in_place() -> None:
    desk = alone()
    remembered = [command for command in desk.said["a"] if isinstance(command, m.Remember)][-1]
    desk.now += 12.0
    desk.join("a", remembered.leases, life="2")
    desk.look()
    calls = desk.operations("a", Renew, Change)
    assert [type(call) for call in calls[:2]] == [Renew, Change]


def test_rule_3_lease_epoch_touch_attach_in_this_order() -> None:
    desk = alone()
    order = [
        type(command.operation) if isinstance(command, m.Perform) else type(command)
        for command in desk.said["a"]
        if isinstance(command, m.OpenReader)
        or (
            isinstance(command, m.Perform)
            and isinstance(
                command.operation, Acquire | WriteOwnership | ReadCheckpoint | WriteCheckpoint
            )
        )
    ]
    assert order == [Acquire, WriteOwnership, ReadCheckpoint, WriteCheckpoint, m.OpenReader]


def test_rule_3_a_touch_that_finds_an_epoch_not_lower_than_its_own_raises_again() -> None:
    desk = Desk("0")
    desk.is_held_back = lambda _, operation: isinstance(operation, ReadCheckpoint)
    desk.join("a")
    desk.look()
    late = WriteCheckpoint("0", None, Position("5", 5), 1, "of another")
    desk.ledger.perform_at(late, desk.now)
    desk.is_held_back = lambda *_: False
    waiting = desk.operations("a", ReadCheckpoint)[-1]
    tenure = desk.members["a"].tenures["0"]
    found = desk.ledger.perform_at(waiting, desk.now)
    key = ("0", tenure.serial)
    desk.tell("a", m.Answered(desk.now, desk.now, key, waiting, found))
    assert tenure.epoch == 2
    assert desk.listing().checkpoints["0"].epoch == 2
    assert desk.listing().checkpoints["0"].position == Position("5", 5)


@pytest.mark.parametrize("refusal", [Refusal.CHANGED, Refusal.HELD])
def test_rule_3_a_touch_whose_reading_meets_a_write_looks_again(refusal: Refusal) -> None:
    desk = Desk("0")
    desk.refused[ReadCheckpoint] = [refusal] * 3
    desk.join("a")
    desk.look()
    desk.look()
    assert len(desk.operations("a", ReadCheckpoint)) == 4
    assert desk.reading("a") == ["0"]
    assert desk.reports("a") == []


def test_rule_3_a_checkpoint_that_is_refused_all_the_time_halts_the_partition_and_says_so() -> None:
    desk = Desk("0")
    desk.refused[ReadCheckpoint] = [Refusal.CHANGED] * 11
    desk.join("a")
    for _ in range(4):
        desk.look()
    assert desk.reports("a") == ["halted"]
    assert not desk.listing().ownerships["0"].lease.is_held


def test_rule_4_a_checkpoint_whose_reply_was_lost_is_known_by_its_nonce() -> None:
    desk = alone()
    desk.lost[WriteCheckpoint] = 1
    desk.handled("a", "0", 3)
    desk.look()
    desk.look()
    assert desk.listing().checkpoints["0"].position == Position("3", 3)
    assert desk.reading("a") == ["0"]
    desk.handled("a", "0", 4)
    desk.look()
    desk.look()
    assert desk.listing().checkpoints["0"].position == Position("4", 4)
    assert "checkpoint-restored" not in desk.reports("a")


def test_rule_4_a_checkpoint_deleted_by_hand_is_written_again_loudly() -> None:
    desk = alone()
    desk.handled("a", "0", 3)
    desk.look()
    desk.look()
    desk.ledger.delete_by_hand(Kind.CHECKPOINT, "0")
    desk.handled("a", "0", 4)
    desk.look()
    desk.look()
    assert desk.listing().checkpoints["0"].position == Position("4", 4)
    assert "checkpoint-restored" in desk.reports("a")


def test_rule_4_a_higher_epoch_in_the_checkpoint_ends_the_tenure() -> None:
    desk = alone()
    desk.handled("a", "0", 3)
    stands = desk.listing().checkpoints["0"]
    other = WriteCheckpoint("0", stands.etag, Position("9", 9), 6, "of another")
    desk.ledger.perform_at(other, desk.now)
    desk.handled("a", "0", 4)
    desk.now += 5.0
    desk.renew("a")
    desk.tell("a", m.Woken(desk.now))
    assert "fenced" in desk.reports("a")
    assert desk.reading("a") == []
    assert desk.listing().checkpoints["0"].position == Position("9", 9)


def test_rule_5_state_and_position_are_one_write_and_are_taken_over_together() -> None:
    desk = alone()
    desk.handled("a", "0", 3, b"three")
    desk.look()
    desk.look()
    writes = desk.operations("a", WriteCheckpoint)
    assert isinstance(writes[-1], WriteCheckpoint)
    assert (writes[-1].position, writes[-1].state) == (Position("3", 3), b"three")
    desk.ledger.break_by_hand("0", desk.now)
    desk.look()
    opened = [command for command in desk.said["a"] if isinstance(command, m.OpenReader)][-1]
    assert (opened.position, opened.state) == (Position("3", 3), b"three")


def test_rule_5_a_state_behind_its_position_halts_the_partition_and_names_both_remedies() -> None:
    desk = alone()
    desk.handled("a", "0", 3, b"three")
    desk.tell("a", m.StopAsked(desk.now))
    desk.look()
    desk.ledger.checkpoint_by_other("0", Position("8", 8), desk.now)
    desk.join("b")
    desk.look()
    assert_halted(desk, "b")


def assert_halted(desk: Desk, name: str) -> None:
    """The member has halted partition 0, whose position is 8, and said why once."""
    halted = [
        command
        for command in desk.said[name]
        if isinstance(command, m.Report) and command.kind == "halted"
    ]
    assert len(halted) == 1
    assert "StateBehind" in halted[0].message
    assert "Rewind" in halted[0].message
    assert "clear the state" in halted[0].message
    assert desk.reading(name) == []
    assert desk.listing().checkpoints["0"].position == Position("8", 8)
    assert not desk.listing().ownerships["0"].lease.is_held


@pytest.mark.parametrize("is_lost", [False, True])
def test_rule_5_a_state_behind_that_a_write_meets_halts_the_partition_as_well(
    is_lost: bool,
) -> None:
    desk = alone()
    desk.handled("a", "0", 3, b"three")
    desk.look()
    desk.look()
    desk.ledger.checkpoint_by_other("0", Position("8", 8), desk.now)
    desk.lost[WriteCheckpoint] = int(is_lost)
    desk.handled("a", "0", 4, b"four")
    desk.look()
    desk.look()
    assert_halted(desk, "a")
    assert "checkpoint-restored" not in desk.reports("a")


def test_rule_5_a_rewind_remedies_a_state_that_is_behind() -> None:
    desk = alone()
    desk.handled("a", "0", 3, b"three")
    desk.look()
    desk.look()
    desk.ledger.checkpoint_by_other("0", Position("8", 8), desk.now)
    desk.handled("a", "0", 4, b"four")
    desk.look()
    desk.look()
    assert_halted(desk, "a")
    rewind = Rewind("r1", "0", Position("2", 2))
    desk.ledger.perform_at(
        WriteRoster(Roster(rewinds=(rewind,), written_at=desk.now), ""), desk.now
    )
    for _ in range(11):
        desk.look()
    opened = [command for command in desk.said["a"] if isinstance(command, m.OpenReader)][-1]
    assert (opened.position, opened.state) == (Position("2", 2), None)
    assert desk.listing().checkpoints["0"].rewound_by == "r1"
    assert desk.reading("a") == ["0"]
