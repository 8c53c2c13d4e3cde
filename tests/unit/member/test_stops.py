"""A member that is asked to stop does not wait for a source that is away, nor long for others."""

from __future__ import annotations

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.member.member import Member
from tidegate.ports import Change, List, ReadCheckpoint, Refusal, Release, WriteCheckpoint

SETTLED_S, FAST_S = 2.0, 0.5
# How long who stops waits for an answer that usually takes a few hundredths of a second.
DOUBT_S = 1.0


def away(desk: Desk, name: str) -> Member:
    """A member that has taken a lease, and whose source does not answer."""
    desk.is_away = True
    member = desk.join(name)
    desk.look()
    assert list(member.tenures) == ["0"]
    assert not member.tenures["0"].is_settled
    return member


def test_who_is_asked_to_stop_while_a_partition_opens_closes_it_and_gives_it_back() -> None:
    desk = alone()
    desk.handled("a", "0", 7)
    desk.tell("a", m.StopAsked(desk.now))
    away(desk, "b")
    assert [type(c) for c in desk.said["b"]].count(m.OpenReader) == 1
    said = desk.tell("b", m.StopAsked(desk.now))
    assert m.CloseReader("0", 1, drain=True) in said
    assert said[-2] == m.Stopped()
    # Nothing was handled there, and the position of the one before stands.
    assert desk.listing().checkpoints["0"].position.sequence == 7
    assert not desk.listing().ownerships["0"].lease.is_held


def test_who_is_asked_to_stop_before_it_is_known_where_to_begin_gives_the_partition_back() -> None:
    desk = Desk("0")
    away(desk, "a")
    assert [type(c) for c in desk.said["a"]].count(m.ResolveStart) == 1
    said = desk.tell("a", m.StopAsked(desk.now))
    assert said[-2] == m.Stopped()
    # Where it begins is left to the next owner, who asks the source.
    assert desk.operations("a", WriteCheckpoint) == []
    assert len(desk.operations("a", ReadCheckpoint, Release)) == 2
    desk.is_away = False
    desk.join("b")
    desk.look()
    assert desk.reading("b") == ["0"]


def test_who_rests_because_the_source_failed_stops_without_waiting_for_the_next_attempt() -> None:
    desk = alone()
    desk.opens = lambda _: False
    serial = desk.members["a"].tenures["0"].serial
    desk.tell("a", m.ReaderFailed(desk.now, "0", serial, "lost"))
    assert desk.members["a"].tenures["0"].wake_at > desk.now
    said = desk.tell("a", m.StopAsked(desk.now))
    assert m.Stopped() in said


def test_who_was_to_leave_while_it_opened_and_is_to_stay_after_all_opens_again() -> None:
    desk = alone()
    tenure = desk.members["a"].tenures["0"]
    desk.is_away = True
    desk.tell("a", m.ReaderFailed(desk.now, "0", tenure.serial, "lost"))
    desk.now += 1.0
    desk.tell("a", m.Woken(desk.now))
    assert [type(command) for command in tenure.leave(desk.now)] == [m.CloseReader]
    tenure.stay()
    desk.is_away = False
    said = desk.tell("a", m.ReaderClosed(desk.now, "0", tenure.serial))
    assert [type(c) for c in said].count(m.OpenReader) == 1
    assert desk.reading("a") == ["0"]


def test_one_that_opened_before_it_heard_that_it_is_to_close_opens_again_too() -> None:
    desk = alone()
    tenure = desk.members["a"].tenures["0"]
    desk.is_away = True
    desk.tell("a", m.ReaderFailed(desk.now, "0", tenure.serial, "lost"))
    desk.now += 1.0
    desk.tell("a", m.Woken(desk.now))
    tenure.leave(desk.now)
    tenure.stay()
    desk.tell("a", m.ReaderOpened(desk.now, "0", tenure.serial))
    desk.is_away = False
    said = desk.tell("a", m.ReaderClosed(desk.now, "0", tenure.serial))
    assert [type(c) for c in said].count(m.OpenReader) == 1
    assert desk.reading("a") == ["0"]


def pair() -> Desk:
    desk = alone("0", "1")
    desk.join("b")
    for _ in range(3):
        desk.look()
    assert len(desk.reading("a")) == len(desk.reading("b")) == 1
    return desk


def test_who_stops_waits_for_others_as_long_as_the_calmest_takes_to_look_and_then_lets_go() -> None:
    desk = pair()
    moved = desk.operations("a", Change)
    desk.tell("a", m.StopAsked(desk.now))
    asked_at = desk.now
    # `b` is there, by its lease, and does not look: its process hangs, or cannot reach its source.
    while not desk.members["a"].is_stopped:
        assert desk.now - asked_at <= SETTLED_S
        assert desk.operations("a", Release, Change) == moved
        desk.now = desk.members["a"].wake_at
        desk.tell("a", m.Woken(desk.now))
    assert desk.now - asked_at == SETTLED_S
    assert len(desk.operations("a", Release)) == 1
    desk.look()
    assert desk.reading("b") == ["0", "1"]


def test_who_stops_looks_at_once_whether_others_want_what_it_has() -> None:
    desk = pair()
    moved = desk.operations("a", Change)
    for _ in range(5):
        desk.look()
    desk.tell("a", m.StopAsked(desk.now))
    assert desk.members["a"].wake_at <= desk.now + FAST_S
    desk.tell("b", m.Woken(desk.members["b"].wake_at))
    desk.look("b", "a")
    assert desk.members["a"].is_stopped
    assert len(desk.operations("a", Change)) == len(moved) + 1
    assert desk.operations("a", Release) == []


def test_who_is_asked_to_stop_while_a_checkpoint_is_written_drains_as_soon_as_it_stands() -> None:
    desk = alone()
    desk.is_held_back = lambda _, operation: isinstance(operation, WriteCheckpoint)
    desk.handled("a", "0", 7)
    write = desk.operations("a", WriteCheckpoint)[-1]
    desk.tell("a", m.StopAsked(desk.now))
    desk.is_held_back = lambda *_: False
    key = ("0", desk.members["a"].tenures["0"].serial)
    reply, refusal = desk._perform(write)
    said = desk.tell("a", m.Answered(desk.now, desk.now, key, write, reply, refusal))
    assert m.Stopped() in said


def drained_at(desk: Desk, name: str) -> float:
    """When a member that stops asks its last reader to take no more events."""
    while not any(isinstance(command, m.CloseReader) for command in desk.said[name]):
        desk.now = desk.members[name].wake_at
        desk.tell(name, m.Woken(desk.now))
    return desk.now


def test_who_stops_while_storage_does_not_answer_takes_no_more_events() -> None:
    desk = pair()
    desk.said["a"].clear()
    desk.is_held_back = lambda name, _: name == "a"
    asked_at = desk.now
    desk.tell("a", m.StopAsked(desk.now))
    assert drained_at(desk, "a") - asked_at <= FAST_S + DOUBT_S
    assert not desk.members["a"].is_stopped, "its lease is not given back yet"


def test_who_stops_when_the_last_listing_has_failed_takes_no_more_events_at_all() -> None:
    desk = pair()
    desk.said["a"].clear()
    desk.refused[List] = [Refusal.UNKNOWN]
    desk.now = desk.members["a"].wake_at
    desk.tell("a", m.Woken(desk.now))
    desk.is_held_back = lambda name, _: name == "a"
    desk.tell("a", m.StopAsked(desk.now))
    assert any(isinstance(command, m.CloseReader) for command in desk.said["a"])


def test_what_was_handled_before_such_a_stop_is_checkpointed_as_soon_as_storage_answers() -> None:
    desk = pair()
    (partition,) = desk.reading("a")
    desk.is_held_back = lambda name, _: name == "a"
    desk.said["a"].clear()
    desk.handled("a", partition, 9)
    asked_at = desk.now
    desk.tell("a", m.StopAsked(desk.now))
    assert drained_at(desk, "a") - asked_at <= FAST_S + DOUBT_S, "although a checkpoint is written"
    held = [command for command in desk.said["a"] if isinstance(command, m.Perform)]
    desk.is_held_back = lambda *_: False
    desk.now += 5.0
    for command in held:
        lost = m.Answered(
            desk.now, desk.now - 5.0, command.key, command.operation, None, Refusal.UNKNOWN
        )
        desk.tell("a", lost)
    until = desk.now + 10.0
    while not desk.members["a"].is_stopped:
        desk.now = desk.members["a"].wake_at
        assert desk.now < until
        desk.tell("a", m.Woken(desk.now))
    assert desk.listing().checkpoints[partition].position.sequence == 9


def test_a_write_of_ours_that_arrives_late_is_not_reported_as_that_of_somebody_else() -> None:
    desk = pair()
    (partition,) = desk.reading("a")
    desk.is_held_back = lambda name, _: name == "a"
    desk.said["a"].clear()
    desk.handled("a", partition, 9)
    (late,) = desk.operations("a", WriteCheckpoint)
    desk.handled("a", partition, 11)
    desk.tell("a", m.StopAsked(desk.now))
    # Until the lease has ended by its own clock.
    while "lapsed" not in desk.reports("a"):
        desk.now = desk.members["a"].wake_at
        desk.tell("a", m.Woken(desk.now))
    assert desk.refusal_of(late) is None
    desk.is_held_back = lambda *_: False
    desk.renew("a")
    until = desk.now + 10.0
    while desk.reading("a") or partition in desk.members["a"].tenures:
        desk.now = desk.members["a"].wake_at
        assert desk.now < until
        desk.tell("a", m.Woken(desk.now))
    assert desk.listing().checkpoints[partition].position.sequence == 11
    assert "checkpoint-restored" not in desk.reports("a")


def test_who_does_not_stop_goes_on_while_storage_does_not_answer_and_its_lease_holds() -> None:
    desk = pair()
    desk.said["a"].clear()
    desk.is_held_back = lambda name, _: name == "a"
    until = desk.now + 8.0
    while desk.members["a"].wake_at < until:
        desk.now = desk.members["a"].wake_at
        desk.tell("a", m.Woken(desk.now))
    assert not any(isinstance(command, m.CloseReader) for command in desk.said["a"])
