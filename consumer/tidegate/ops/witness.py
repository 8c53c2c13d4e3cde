"""Makes facts of what a member is told and what it wants done: `watch` is given both.

So whoever runs a member needs to know of one callable alone, and nothing is said twice. What only
the delivery of events knows (batches, attempts, dead letters) it tells the observer itself.

Rules: pure, but for the clock that is passed in, for commands carry no time.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.member import messages as m
from tidegate.model import Listing, PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.observer import Fact, Observer
from tidegate.ports import WriteCheckpoint


class Witness:
    """Tells an observer what becomes of a member."""

    def __init__(self, observer: Observer, clock: Callable[[], float]) -> None:
        self._observer = observer
        self._clock = clock
        self._opening: dict[PartitionId, m.OpenReader] = {}

    def watch(self, message: m.Event | m.Command) -> None:
        """Takes an event before the member handles it, or a command before it is carried out."""
        match message:
            case m.OpenReader():
                self._opening[message.partition] = message
            case m.ReaderOpened():
                opening = self._opening.get(message.partition)
                epoch = opening.epoch if opening is not None else 0
                position = opening.position if opening is not None else None
                self._tell(facts.ReaderOpened(message.now, message.partition, epoch, position))
            case m.ReaderClosed():
                self._tell(facts.ReaderClosed(message.now, message.partition, "closed"))
            case m.ReaderRefused():
                self._tell(facts.ReaderClosed(message.now, message.partition, "stolen"))
            case m.ReaderGaveUp():
                self._tell(facts.ReaderClosed(message.now, message.partition, "hung"))
            case m.ReaderFailed():
                self._tell(facts.ReaderClosed(message.now, message.partition, "failed"))
            case m.Answered():
                self._tell_of_answer(message)
            case m.Renewed():
                seconds = message.now - message.sent_at
                self._tell(facts.LeaseRenewed(message.now, message.partition, seconds))
            case m.RenewalRefused():
                self._tell(facts.LeaseEnded(message.now, message.partition, message.refusal))
            case m.LetGo():
                self._tell(facts.LeaseEnded(self._clock(), message.partition, "let-go"))
            case m.PartitionsKnown():
                self._tell(facts.PartitionsKnown(message.now, message.partitions))
            case m.Report():
                self._tell(facts.Reported(self._clock(), message))
            case m.StopAsked():
                self._tell(facts.Stopping(message.now))

    def _tell_of_answer(self, answer: m.Answered) -> None:
        operation, seconds = answer.operation, answer.now - answer.sent_at
        refusal = "" if answer.refusal is None else str(answer.refusal)
        name = type(operation).__name__
        self._tell(facts.LedgerAnswered(answer.now, name, seconds, refusal))
        if isinstance(answer.reply, Listing):
            self._tell(facts.Listed(answer.now, answer.reply))
        if isinstance(operation, WriteCheckpoint) and not refusal:
            self._tell(
                facts.CheckpointWritten(
                    answer.now,
                    operation.partition,
                    operation.position,
                    operation.enqueued_at,
                    seconds,
                    len(operation.state or b""),
                )
            )

    def _tell(self, fact: Fact) -> None:
        self._observer.hear(fact)
