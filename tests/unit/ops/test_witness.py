"""What a member is told and wants done becomes facts, each once, with its times."""

from __future__ import annotations

import pytest

from support.ops_facts import NOW, listing
from tidegate.member import messages as m
from tidegate.model import Position
from tidegate.ops import observer as facts
from tidegate.ops.observer import Observer, Observers
from tidegate.ops.witness import Witness
from tidegate.ports import List, Refusal, WriteCheckpoint


class Heard(Observer):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.facts: list[facts.Fact] = []

    def hear(self, fact: facts.Fact) -> None:
        self.facts.append(fact)


def heard(*messages: m.Event | m.Command) -> list[facts.Fact]:
    observer = Heard()
    witness = Witness(observer, lambda: NOW)
    for message in messages:
        witness.watch(message)
    return observer.facts


POSITION = Position("o9", 9)
CHECKPOINT = WriteCheckpoint("3", "etag", POSITION, 7, "n", 5.0, state=b"12345")
REPORT = m.Report("lapsed", "3", "late")
LISTING = listing({"3": "pod-1"}, ("pod-1",))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (m.Woken(NOW), []),
        (m.PartitionsKnown(NOW, ("1", "3")), [facts.PartitionsKnown(NOW, ("1", "3"))]),
        (m.ReaderClosed(NOW, "3", 1), [facts.ReaderClosed(NOW, "3", "closed")]),
        (m.ReaderRefused(NOW, "3", 1, 9), [facts.ReaderClosed(NOW, "3", "stolen")]),
        (m.ReaderGaveUp(NOW, "3", 1, "x"), [facts.ReaderClosed(NOW, "3", "hung")]),
        (m.ReaderFailed(NOW, "3", 1, "x"), [facts.ReaderClosed(NOW, "3", "failed")]),
        (m.Renewed(NOW, NOW - 0.5, "3", "lease"), [facts.LeaseRenewed(NOW, "3", 0.5)]),
        (
            m.RenewalRefused(NOW, "3", "lease", "etag", Refusal.HELD),
            [facts.LeaseEnded(NOW, "3", "held")],
        ),
        (m.LetGo("3"), [facts.LeaseEnded(NOW, "3", "let-go")]),
        (REPORT, [facts.Reported(NOW, REPORT)]),
        (m.StopAsked(NOW), [facts.Stopping(NOW)]),
        (
            m.Answered(NOW, NOW - 2, None, List(), LISTING),
            [facts.LedgerAnswered(NOW, "List", 2.0), facts.Listed(NOW, LISTING)],
        ),
        (
            m.Answered(NOW, NOW - 2, ("3", 1), CHECKPOINT, "etag2"),
            [
                facts.LedgerAnswered(NOW, "WriteCheckpoint", 2.0),
                facts.CheckpointWritten(NOW, "3", POSITION, 5.0, 2.0, 5),
            ],
        ),
        (
            m.Answered(NOW, NOW - 2, ("3", 1), CHECKPOINT, None, Refusal.CHANGED, "no"),
            [facts.LedgerAnswered(NOW, "WriteCheckpoint", 2.0, "changed")],
        ),
    ],
)
def test_a_message_becomes_these_facts(
    message: m.Event | m.Command, told: list[facts.Fact]
) -> None:
    assert heard(message) == told


def test_a_reader_that_opened_has_the_epoch_and_the_position_that_it_was_opened_with() -> None:
    opening = m.OpenReader("3", 1, POSITION, 7, None)
    assert heard(opening, m.ReaderOpened(NOW, "3", 1)) == [
        facts.ReaderOpened(NOW, "3", 7, POSITION)
    ]


def test_several_listeners_hear_the_same_in_the_same_order() -> None:
    first, second = Heard(), Heard()
    both = Observers(first, second)
    both.hear(facts.Stopping(NOW))
    both.hear(facts.PartitionsKnown(NOW, ("1",)))
    assert first.facts == second.facts == [
        facts.Stopping(NOW),
        facts.PartitionsKnown(NOW, ("1",)),
    ]  # fmt: skip


def test_without_anybody_around_the_handler_nothing_is_entered() -> None:
    silent = Observers(Heard(), Observer())
    assert silent.handling("3", []) is Observer().handling("3", [])
