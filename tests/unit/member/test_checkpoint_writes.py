"""When a checkpoint is due by time, and when it is a write of metadata alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.member_desk import Desk, alone
from tidegate.ledger.layout import Kind
from tidegate.member import messages as m
from tidegate.model import Position, Rewind, Roster
from tidegate.ports import WriteCheckpoint, WriteRoster
from tidegate.settings import MemberSettings

EVERY_S = 5.0


def writes(desk: Desk, name: str = "a") -> list[WriteCheckpoint]:
    return [op for op in desk.operations(name, WriteCheckpoint) if isinstance(op, WriteCheckpoint)]


def pass_time(desk: Desk, seconds: float) -> None:
    for _ in range(round(seconds * 2)):
        desk.now += 0.5
        desk.renew("a")
        desk.tell("a", m.Woken(desk.now))


def idle() -> Desk:
    """A member that has not written a checkpoint for long."""
    desk = alone()
    pass_time(desk, 2 * EVERY_S)
    return desk


def test_the_first_event_after_a_pause_is_checkpointed_at_once() -> None:
    desk = idle()
    desk.handled("a", "0", 3)
    assert desk.listing().checkpoints["0"].position == Position("3", 3)


def test_after_a_write_the_next_waits_until_its_time_has_come_and_takes_all_with_it() -> None:
    desk = idle()
    desk.handled("a", "0", 3)
    before = len(writes(desk))
    for sequence in (4, 5, 6):
        pass_time(desk, 1.5)
        desk.handled("a", "0", sequence)
    assert desk.listing().checkpoints["0"].position == Position("3", 3)
    pass_time(desk, EVERY_S - 4.5)
    assert desk.listing().checkpoints["0"].position == Position("6", 6)
    assert len(writes(desk)) == before + 1


def test_a_steady_flow_is_checkpointed_once_in_each_period() -> None:
    desk = idle()
    before = len(writes(desk))
    for sequence in range(61):
        desk.handled("a", "0", sequence)
        pass_time(desk, 0.5)
    assert len(writes(desk)) - before == 1 + 30.0 / EVERY_S


def taken_over() -> Desk:
    """A member that has just begun to read."""
    desk = Desk("0")
    desk.join("a")
    while desk.reading("a") != ["0"]:
        pass_time(desk, 0.5)
    return desk


def test_the_first_events_of_a_tenure_are_checkpointed_at_once_and_the_next_when_it_is_time() -> (
    None
):
    desk = taken_over()
    desk.handled("a", "0", 3)
    assert desk.listing().checkpoints["0"].position == Position("3", 3)
    before = len(writes(desk))
    desk.handled("a", "0", 4)
    pass_time(desk, EVERY_S - 0.5)
    assert desk.listing().checkpoints["0"].position == Position("3", 3)
    pass_time(desk, 0.5)
    assert desk.listing().checkpoints["0"].position == Position("4", 4)
    assert len(writes(desk)) == before + 1


def test_a_member_that_dies_sooner_than_a_checkpoint_is_due_makes_progress_in_each_life() -> None:
    desk = Desk("0")
    for life in range(4):
        desk.join("a", life=str(life), checkpoint_every_s=60.0)
        while desk.reading("a") != ["0"]:
            pass_time(desk, 0.5)
        at = desk.listing().checkpoints["0"].position.sequence
        assert at == life * 10 - 1
        desk.handled("a", "0", at + 10)
        pass_time(desk, 1.5)
        desk.handled("a", "0", at + 20)
        pass_time(desk, 1.5)
        # It dies: its memory is gone, and its lease ends.
        desk.kept["a"].clear()
        desk.now += 2 * MemberSettings("a").lease_s


def test_a_take_over_without_any_event_writes_no_checkpoint_but_its_own() -> None:
    desk = taken_over()
    before = len(writes(desk))
    pass_time(desk, 3 * EVERY_S)
    assert len(writes(desk)) == before


def lapse(desk: Desk) -> None:
    """Nobody could be asked to renew the lease until its time was up; then it is renewed."""
    desk.now += MemberSettings("a").valid_s + 0.2
    desk.tell("a", m.Woken(desk.now))
    assert "lapsed" in desk.reports("a")
    pass_time(desk, 0.5)


def be_refused(desk: Desk) -> None:
    """The hub knows of a higher epoch, and the lease is ours all the same."""
    serial = desk.members["a"].tenures["0"].serial
    desk.tell("a", m.ReaderRefused(desk.now, "0", serial, 7))


@pytest.mark.parametrize("interrupt", [lapse, be_refused])
@pytest.mark.parametrize("goes_on", [False, True])
def test_what_was_handled_before_the_epoch_was_raised_is_checkpointed_when_its_time_has_come(
    interrupt: Callable[[Desk], None], goes_on: bool
) -> None:
    desk = idle()
    desk.handled("a", "0", 3)
    desk.handled("a", "0", 4)
    epoch = desk.listing().ownerships["0"].epoch
    interrupt(desk)
    assert desk.reading("a") == ["0"] and desk.listing().ownerships["0"].epoch > epoch
    assert desk.listing().checkpoints["0"].position == Position("3", 3)
    if goes_on:
        desk.handled("a", "0", 5)
    pass_time(desk, EVERY_S)
    last = 5 if goes_on else 4
    assert desk.listing().checkpoints["0"].position == Position(str(last), last)
    desk.handled("a", "0", 6)
    pass_time(desk, EVERY_S)
    assert desk.listing().checkpoints["0"].position == Position("6", 6)


def test_rule_5_where_there_is_no_state_and_was_none_the_body_is_left_out() -> None:
    desk = idle()
    desk.handled("a", "0", 3)
    desk.ledger.break_by_hand("0", desk.now)
    desk.look()
    assert [(op.etag is None, op.keeps_body) for op in writes(desk)] == [
        (True, False),  # it is made
        (False, True),
        (False, True),  # the touch of the next tenure
    ]


@pytest.mark.parametrize("is_lost", [False, True])
def test_rule_5_a_state_is_written_with_its_body_and_so_is_the_write_that_ends_it(
    is_lost: bool,
) -> None:
    desk = idle()
    desk.lost[WriteCheckpoint] = int(is_lost)
    desk.handled("a", "0", 3, b"three")
    desk.lost[WriteCheckpoint] = int(is_lost)
    pass_time(desk, EVERY_S)
    desk.handled("a", "0", 4, b"four")
    pass_time(desk, EVERY_S)
    rewind = Rewind("r1", "0", Position("2", 2))
    desk.ledger.perform_at(WriteRoster(Roster(rewinds=(rewind,)), ""), desk.now)
    desk.look()
    desk.handled("a", "0", 3)
    pass_time(desk, EVERY_S)
    assert [(op.position.sequence, op.keeps_body) for op in writes(desk)] == [
        (-1, False),
        (3, False),
        (4, False),
        (2, False),  # the rewind clears the state
        (3, True),
    ]
    assert desk.listing().checkpoints["0"].position == Position("3", 3)


def test_rule_5_a_checkpoint_that_was_deleted_is_made_anew_with_its_body() -> None:
    desk = idle()
    desk.handled("a", "0", 3)
    desk.ledger.delete_by_hand(Kind.CHECKPOINT, "0")
    pass_time(desk, EVERY_S)
    desk.handled("a", "0", 4)
    pass_time(desk, EVERY_S)
    assert [(op.etag is None, op.keeps_body) for op in writes(desk)[-3:]] == [
        (False, True),
        (True, False),
        (False, True),
    ]
    assert desk.listing().checkpoints["0"].position == Position("4", 4)
