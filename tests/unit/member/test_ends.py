"""A partition ends once, soon and for good: others begin above the epoch that it ended with.

The partitions are feed ranges, the ledger is in memory.
"""

from __future__ import annotations

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.ports import Operation, WriteCheckpoint
from tidegate.sources.cosmos.lineage import FeedRanges

LINEAGE = FeedRanges()
WHOLE = "-ff"
PARTS = ("-80", "80-ff")


def divided() -> Desk:
    """A member that reads the whole of a container, whose range is split just then."""
    desk = alone(WHOLE, lineage=LINEAGE)
    desk.partitions = PARTS
    return desk


def is_end(operation: Operation) -> bool:
    return isinstance(operation, WriteCheckpoint) and LINEAGE.has_ended(operation.position)


def test_a_range_ends_with_the_first_answer_that_was_asked_for_while_it_was_read() -> None:
    desk = divided()
    desk.ask("a")
    desk.look()
    assert desk.reading("a") == list(PARTS)
    assert [is_end(op) for op in desk.operations("a", WriteCheckpoint)].count(True) == 1


def test_a_range_does_not_end_for_an_answer_from_before_it_was_read() -> None:
    desk = divided()
    desk.tell("a", m.PartitionsKnown(desk.now, PARTS, asked_at=0.0))
    desk.look()
    assert desk.reading("a") == [WHOLE]


def test_an_end_that_stands_is_not_written_again_after_a_lapse_that_hid_its_answer() -> None:
    desk = divided()

    def stands_in_silence(_: str, operation: Operation) -> bool:
        if is_end(operation):
            assert desk.refusal_of(operation) is None
        return is_end(operation)

    desk.is_held_back = stands_in_silence
    desk.ask("a")
    desk.tell("a", m.Woken(desk.now))
    ended = desk.listing().checkpoints[WHOLE]
    assert LINEAGE.has_ended(ended.position)
    desk.now += 60.0
    desk.tell("a", m.Woken(desk.now))
    assert "lapsed" in desk.reports("a")
    desk.is_held_back = lambda *_: False
    desk.look()
    found = desk.listing().checkpoints
    assert found[WHOLE] == ended
    assert [found[part].epoch > ended.epoch for part in PARTS] == [True, True]
    assert desk.reading("a") == list(PARTS)
    assert "checkpoint-restored" not in desk.reports("a")
