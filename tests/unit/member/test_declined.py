"""A member whose handler hangs declines the partition, and another one has it until it is back."""

from __future__ import annotations

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Position, Presence
from tidegate.ports import Announce


def hang(desk: Desk, name: str, partition: str) -> int:
    """The serial of the tenure in which it hung."""
    serial = desk.members[name].tenures[partition].serial
    desk.tell(name, m.ReaderGaveUp(desk.now, partition, serial, "it hangs"))
    return serial


def pair(partitions: int = 4) -> Desk:
    """Members `a` and `b` that share the partitions evenly."""
    desk = alone(*(str(number) for number in range(partitions)))
    desk.join("b")
    for _ in range(3):
        desk.look()
    assert len(desk.reading("a")) == len(desk.reading("b")) == partitions // 2
    return desk


def presence(desk: Desk, name: str) -> Presence:
    return desk.listing().members[name]


def test_what_hangs_in_one_member_is_read_by_another_from_where_it_was_handled() -> None:
    desk = pair()
    partition = desk.reading("a")[0]
    desk.handled("a", partition, 7)
    hang(desk, "a", partition)
    assert presence(desk, "a").declines == {partition}
    desk.look()
    desk.look()
    assert partition in desk.reading("b")
    opened = [c for c in desk.said["b"] if isinstance(c, m.OpenReader) and c.partition == partition]
    assert [command.position for command in opened] == [Position("7", 7)]
    # Counts stay even: the one that hangs gets another partition instead.
    assert len(desk.reading("a")) == len(desk.reading("b")) == 2


def test_it_is_declined_until_the_call_has_come_back_and_then_nothing_moves() -> None:
    desk = pair()
    partition = desk.reading("a")[0]
    serial = hang(desk, "a", partition)
    for _ in range(3):
        desk.look()
    owned = desk.reading("a"), desk.reading("b")
    desk.tell("a", m.HandlerReturned(desk.now, partition, serial + 1))
    assert presence(desk, "a").declines == {partition}, "that was another tenure's"
    desk.tell("a", m.HandlerReturned(desk.now, partition, serial))
    assert presence(desk, "a").declines == frozenset()
    for _ in range(3):
        desk.look()
    assert (desk.reading("a"), desk.reading("b")) == owned


def test_a_call_that_never_comes_back_is_declined_for_five_minutes() -> None:
    desk = pair()
    partition = desk.reading("a")[0]
    hang(desk, "a", partition)
    begun_at = desk.now
    while desk.now < begun_at + 299.0:
        desk.look()
        assert presence(desk, "a").declines == {partition} or desk.now >= begun_at + 299.0
    desk.look()
    assert presence(desk, "a").declines == frozenset()


def test_who_is_alone_tries_again_after_half_a_minute_and_says_no_more_that_it_declines() -> None:
    desk = alone()
    hang(desk, "a", "0")
    begun_at = desk.now
    while desk.now < begun_at + 29.0:
        desk.look()
        assert desk.reading("a") == [] or desk.now >= begun_at + 29.0
    desk.look()
    assert desk.reading("a") == ["0"]
    assert presence(desk, "a").declines == frozenset()


def test_what_hangs_everywhere_is_still_tried_again() -> None:
    desk = pair(2)
    partition = desk.reading("a")[0]
    hang(desk, "a", partition)
    for _ in range(3):
        desk.look()
    assert partition in desk.reading("b")
    hang(desk, "b", partition)
    begun_at = desk.now
    while not any(partition in desk.reading(name) for name in "ab"):
        desk.look()
        assert desk.now < begun_at + 40.0


def test_who_stops_does_not_wait_for_one_who_declines_what_it_has() -> None:
    desk = pair(2)
    partition = desk.reading("a")[0]
    hang(desk, "a", partition)
    for _ in range(3):
        desk.look()
    desk.tell("b", m.StopAsked(desk.now))
    desk.look()
    assert m.Stopped() in desk.said["b"]
    assert not desk.listing().ownerships[partition].lease.is_held
    for _ in range(10):
        desk.look("a")
    assert desk.reading("a") == ["0", "1"]


def test_a_decline_is_announced_once_and_again_when_it_ends() -> None:
    desk = pair()
    before = len(desk.operations("a", Announce))
    partition = desk.reading("a")[0]
    serial = hang(desk, "a", partition)
    said = [op.presence.declines for op in desk.operations("a", Announce)[before:]]  # type: ignore[union-attr]
    assert said == [frozenset({partition})]
    desk.tell("a", m.HandlerReturned(desk.now, partition, serial))
    last = desk.operations("a", Announce)[-1]
    assert isinstance(last, Announce)
    assert last.presence.declines == frozenset()
