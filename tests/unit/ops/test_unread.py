"""A partition that we own and cannot read: since when, why, and when that is over."""

from __future__ import annotations

import pytest

from support.ops_facts import handled, listing, tell
from tidegate.member.messages import Report
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.meter import Meter
from tidegate.ports import of_lost_position

BEGAN = 1_000.0
GONE = "no such consumer group"


class World:
    """A member that owns partition 0, and whose source is as the test says."""

    def __init__(self, *others: str) -> None:
        self.now = BEGAN
        self.board = Board("pod-1")
        self.meter = Meter(self.board, lambda: self.now)
        owners: dict[str, str | None] = {"0": "pod-1", **dict.fromkeys(others, "pod-1")}
        tell(self.board, facts.Listed(BEGAN, listing(owners, ("pod-1",))))

    def fails(self, partition: str = "0", *, opens: bool = False, says: str = GONE) -> None:
        """An attempt at reading ends with an error, as a member tells it."""
        if opens:
            self.opens(partition)
        tell(
            self.board,
            facts.ReaderClosed(self.now, partition, "failed"),
            facts.Reported(self.now, Report("reader-failed", partition, says)),
        )

    def opens(self, partition: str = "0") -> None:
        tell(self.board, facts.ReaderOpened(self.now, partition, 7))

    def keeps_failing(self, seconds: float, *, opens: bool = False) -> None:
        for _ in range(int(seconds)):
            self.now += 1.0
            self.fails(opens=opens)

    def unread(self) -> tuple[set[str], str]:
        found, trouble = self.meter.unread(self.now)
        return set(found), trouble


@pytest.mark.parametrize("opens", [False, True], ids=["not opened", "opened and failed at once"])
def test_a_partition_that_has_failed_for_more_than_8_s_is_told_with_its_error(opens: bool) -> None:
    world = World()
    world.fails(opens=opens)
    world.keeps_failing(8.0, opens=opens)
    assert world.unread() == (set(), "")
    world.now += 0.5
    assert world.unread() == ({"0"}, GONE)
    world.opens()
    assert world.unread() == ({"0"}, GONE), "it may fail again at once"


def test_a_reader_that_has_stood_open_for_5_s_reads() -> None:
    world = World()
    world.fails()
    world.keeps_failing(20.0)
    world.opens()
    world.now += 4.9
    assert world.unread()[0] == {"0"}
    world.now += 0.1
    assert world.unread() == (set(), "")
    world.fails()
    world.now += 8.0
    assert world.unread() == (set(), ""), "it counts from the failure after that"
    world.now += 0.1
    assert world.unread()[0] == {"0"}


def test_a_batch_that_was_handled_ends_it_at_once() -> None:
    world = World()
    world.fails()
    world.keeps_failing(20.0)
    world.opens()
    tell(world.board, handled("0", 5, at=world.now))
    assert world.unread() == (set(), "")
    world.now += 1.0
    world.fails()
    assert world.unread() == (set(), "")


@pytest.mark.parametrize(
    "fact",
    [
        facts.LeaseEnded(BEGAN + 20, "0", "let-go"),
        facts.ReaderClosed(BEGAN + 20, "0", "closed"),
        facts.ReaderClosed(BEGAN + 20, "0", "stolen"),
        facts.Listed(BEGAN + 20, listing({"0": "pod-2"}, ("pod-1", "pod-2"))),
    ],
    ids=["let go", "closed", "stolen", "listed as another's"],
)
def test_a_partition_that_is_not_ours_any_more_is_not_told(fact: facts.Fact) -> None:
    world = World()
    world.fails()
    world.keeps_failing(20.0)
    assert world.unread()[0] == {"0"}
    world.board.hear(fact)
    assert world.unread() == (set(), "")


def test_who_cannot_even_ask_where_to_begin_says_so() -> None:
    world = World()
    for _ in range(10):
        world.now += 1.0
        tell(
            world.board,
            facts.ReaderClosed(world.now, "0", "failed"),
            facts.Reported(world.now, Report("start-unknown", "0", "no such hub")),
        )
    assert world.unread() == ({"0"}, "no such hub")


def test_of_several_the_first_that_has_words_is_told() -> None:
    world = World("2", "10")
    for partition, says in (("10", "ten"), ("2", "two"), ("0", "")):
        world.fails(partition, says=says)
    world.now += 8.5
    assert world.unread() == ({"0", "2", "10"}, "two")


def test_of_several_a_lost_position_is_told_first_for_it_does_not_pass() -> None:
    world = World("2", "10")
    lost = of_lost_position("ten")
    for partition, says in (("10", lost), ("2", "two"), ("0", GONE)):
        world.fails(partition, says=says)
    world.now += 8.5
    assert world.unread() == ({"0", "2", "10"}, lost)
