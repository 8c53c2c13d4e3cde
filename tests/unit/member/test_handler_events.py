"""What the handler tells the member beside how far it is: a checkpoint now, or that it hangs."""

from __future__ import annotations

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Position, Rewind, Roster
from tidegate.ports import Release, WriteCheckpoint, WriteRoster


def handled(desk: Desk, sequence: int, *, is_due: bool = False) -> list[m.Command]:
    serial = desk.members["a"].tenures["0"].serial
    position = Position(str(sequence), sequence)
    return desk.tell("a", m.Handled(desk.now, "0", serial, position, is_due=is_due))


def stands(desk: Desk) -> int:
    return desk.listing().checkpoints["0"].position.sequence


def test_a_checkpoint_that_is_asked_for_is_written_at_once_and_said_to_stand() -> None:
    desk = alone()
    handled(desk, 2)
    handled(desk, 3)
    before = stands(desk)
    said = handled(desk, 4, is_due=True)
    assert (before, stands(desk)) == (2, 4)
    serial = desk.members["a"].tenures["0"].serial
    assert m.Checkpointed("0", serial, Position("4", 4)) in said


def test_one_that_is_asked_for_while_another_is_written_follows_it() -> None:
    desk = alone()
    desk.is_held_back = lambda _, operation: isinstance(operation, WriteCheckpoint)
    handled(desk, 3, is_due=True)
    handled(desk, 4, is_due=True)
    (write,) = desk.operations("a", WriteCheckpoint)[-1:]
    desk.is_held_back = lambda *_: False
    etag = desk.ledger.perform_at(write, desk.now)
    tenure = desk.members["a"].tenures["0"]
    assert tenure.wake_at > desk.now, "what is being written is waited for, and not asked for again"
    desk.tell("a", m.Answered(desk.now, desk.now, ("0", tenure.serial), write, etag))
    assert tenure.wake_at <= desk.now
    desk.tell("a", m.Woken(desk.now))
    assert stands(desk) == 4


def test_a_handler_that_hangs_gives_its_partition_up_with_what_it_had_handled() -> None:
    desk = alone()
    handled(desk, 2)
    handled(desk, 3)
    assert stands(desk) == 2
    serial = desk.members["a"].tenures["0"].serial
    desk.tell("a", m.ReaderGaveUp(desk.now, "0", serial, "it hangs"))
    assert stands(desk) == 3
    assert "0" not in desk.members["a"].tenures
    assert desk.operations("a", Release)
    assert desk.reports("a")[-1:] == ["halted"]
    desk.look("a")
    assert desk.reading("a") == []


def test_a_handler_that_hangs_does_not_hold_up_a_stop() -> None:
    desk = alone()
    handled(desk, 3)
    serial = desk.members["a"].tenures["0"].serial
    desk.tell("a", m.ReaderGaveUp(desk.now, "0", serial, "it hangs"))
    said = desk.tell("a", m.StopAsked(desk.now))
    assert m.Stopped() in said


def test_a_rewind_to_a_time_is_resolved_by_the_owner_once_it_reads_no_more() -> None:
    desk = alone()
    handled(desk, 30, is_due=True)
    rewind = Rewind("r1", "0", at=1_000.0)
    desk.ledger.perform_at(WriteRoster(Roster(rewinds=(rewind,)), ""), desk.now)
    desk.look()
    commands = [c for c in desk.said["a"] if isinstance(c, m.CloseReader | m.ResolveStart)]
    assert isinstance(commands[-2], m.CloseReader)
    assert isinstance(commands[-1], m.ResolveStart)
    assert commands[-1].rewind == rewind
    # The desk resolves everything to the beginning.
    assert stands(desk) == -1
    assert desk.listing().checkpoints["0"].rewound_by == "r1"
    assert desk.reading("a") == ["0"]
