"""One board for all members of a driver: when it has joined, and what is read."""

from __future__ import annotations

from support.ops_facts import NOW, listing, tell
from tidegate.ops import observer as facts
from tidegate.ops.health import Health
from tidegate.spark.around import DriverBoard, Relay


class Place:
    """A driver's board, with the clock at `now`."""

    def __init__(self, expected: int) -> None:
        self.now = NOW
        self.board = DriverBoard("home", expected, lambda: self.now)
        tell(self.board, facts.PartitionsKnown(NOW, ("0", "1", "2")))

    def listed(self, *members: str, owners: dict[str, str | None] | None = None) -> None:
        tell(self.board, facts.Listed(self.now, listing(owners or {}, members)))

    @property
    def is_ready(self) -> bool:
        return Health(self.board, NOW).ready(self.now).is_good


def test_a_driver_is_ready_when_as_many_members_have_joined_as_are_expected() -> None:
    place = Place(expected=2)
    place.listed("home-x0", "pod-1")
    assert not place.is_ready
    place.listed("home-x0", "home-x1")
    assert place.is_ready


def test_members_that_do_not_come_are_not_waited_for_without_end() -> None:
    place = Place(expected=3)
    place.listed("home-x0")
    assert not place.is_ready
    place.now += 61
    assert place.is_ready


def test_a_driver_without_members_is_not_ready_however_long_it_lives() -> None:
    place = Place(expected=1)
    place.listed("pod-1", "homes-x1")
    place.now += 1000
    assert not place.is_ready


def test_a_member_that_leaves_with_its_executor_is_not_the_end_of_the_driver() -> None:
    place = Place(expected=1)
    place.listed("home-x0")
    tell(place.board, facts.Stopping(NOW))
    assert place.is_ready
    place.board.is_stopping = True
    assert not place.is_ready


def test_what_our_members_own_and_nobody_reads_is_said() -> None:
    place = Place(expected=1)
    place.listed("home-x0", "pod-1", owners={"0": "home-x0", "1": "home-x0", "2": "pod-1"})
    tell(place.board, facts.ReaderOpened(NOW, "0", 7))
    assert place.board.unread() == ("1",)


def test_a_relay_tells_whoever_listens_by_then() -> None:
    place, relay = Place(expected=1), Relay()
    relay.hear(facts.ReaderOpened(NOW, "0", 7))
    relay.listener = place.board
    relay.hear(facts.ReaderOpened(NOW, "1", 7))
    assert set(place.board.places) == {"1"}
