"""What can be heard of a running member: the facts that metrics, logs, traces and the view hear.

Rules:
- Who tells a fact knows nothing of who listens. A listener takes a fact and returns at once: none
  raises, waits, or changes what it is given.
- All facts are told on the member's loop. `at` and `seconds` are of the monotonic clock;
  `enqueued_at` is the source's time, on the wall.
- A batch costs one fact: nothing is told for each event.

    observer.hear(ReaderOpened(now, "3", epoch=7))
    with observer.handling("3", events):
        await handler.handle(events)
    observer.hear(BatchHandled(...))

A listener derives from `Observer`, which hears everything and does nothing; `Observers` tells
several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from tidegate.member.messages import Report
from tidegate.model import Listing, PartitionId, Position
from tidegate.ports import SourceEvent

_NOTHING: AbstractContextManager[None] = nullcontext()


@dataclass(frozen=True, slots=True)
class ReaderOpened:
    """We read a partition, as its owner."""

    at: float
    partition: PartitionId
    epoch: int
    # Reading begins behind it: a checkpoint, or where the partition starts without one.
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class ReaderClosed:
    """We read it no more."""

    at: float
    partition: PartitionId
    reason: str  # 'closed', 'stolen', 'failed' or 'hung'


@dataclass(frozen=True, slots=True)
class BatchHandled:
    """The handler is done with a batch, and it went well."""

    at: float
    partition: PartitionId
    events: int
    size: int  # bytes of the bodies
    seconds: float  # that the handler took, all attempts together
    position: Position  # of the last event
    enqueued_at: float | None  # of the last event
    # That the handler worked for these events, where it had no call of its own for the partition.
    worked_s: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchFailed:
    """An attempt at a batch failed; it is given again, or what the group file asks for is done."""

    at: float
    partition: PartitionId
    events: int
    attempt: int
    error: str  # for people
    is_stuck: bool = False  # the group says `Stuck`
    is_hung: bool = False  # the handler did not come back within its limit


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """Events were put aside, with their errors, and passed."""

    at: float
    partition: PartitionId
    events: int
    where: str


@dataclass(frozen=True, slots=True)
class CheckpointWritten:
    """A checkpoint is in the ledger."""

    at: float
    partition: PartitionId
    position: Position
    enqueued_at: float | None
    seconds: float  # that the write took
    size: int  # bytes of the state that went with it


@dataclass(frozen=True, slots=True)
class EndKnown:
    """Where a partition ends, as the source says: what lag is counted from."""

    at: float
    partition: PartitionId
    sequence: int  # of the last event; -1 where there has never been one
    enqueued_at: float | None  # of the last event
    # The first event that the source still has, where it said so: behind it, lag is lost.
    begins_at: int | None = None


@dataclass(frozen=True, slots=True)
class UnitsSpent:
    """Request units of Cosmos DB, since this was told last; `on` is `leases` or `monitored`."""

    on: str
    units: float


@dataclass(frozen=True, slots=True)
class LedgerAnswered:
    """An operation on the ledger ended; `refusal` is empty where it was done."""

    at: float
    operation: str
    seconds: float
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class LeaseRenewed:
    """The keeper renewed a lease."""

    at: float
    partition: PartitionId
    seconds: float  # from sending to the answer


@dataclass(frozen=True, slots=True)
class LeaseEnded:
    """A lease that we kept is not kept any more."""

    at: float
    partition: PartitionId
    why: str  # 'let-go', or how the renewal was refused


@dataclass(frozen=True, slots=True)
class Listed:
    """What the whole group looks like, by the ledger."""

    at: float
    listing: Listing


@dataclass(frozen=True, slots=True)
class PartitionsKnown:
    """The partitions that the source has."""

    at: float
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True)
class Reported:
    """Something that people should know."""

    at: float
    report: Report


@dataclass(frozen=True, slots=True)
class Stopping:
    """A clean stop has begun."""

    at: float


Fact = (
    ReaderOpened
    | ReaderClosed
    | BatchHandled
    | BatchFailed
    | DeadLettered
    | CheckpointWritten
    | EndKnown
    | LedgerAnswered
    | LeaseRenewed
    | LeaseEnded
    | Listed
    | PartitionsKnown
    | Reported
    | Stopping
    | UnitsSpent
)


class Observer:
    """Hears everything and does nothing. A listener overrides what it needs."""

    def hear(self, fact: Fact) -> None:
        """Takes a fact."""

    def handling(
        self,
        partition: PartitionId,  # noqa: ARG002  for those who override it
        events: Sequence[SourceEvent],  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Around a call of the handler, in the task that makes it."""
        return _NOTHING

    def call_failed(self, kind: str, message: str, trace: str) -> None:
        """Within `handling`: the call ended with an error of this class, which goes no further."""


class Observers(Observer):
    """Tells several listeners, in turn."""

    def __init__(self, *listeners: Observer) -> None:
        self._listeners = listeners
        # Entering a context costs: only listeners that have one are entered.
        self._around = [each for each in listeners if type(each).handling is not Observer.handling]

    def hear(self, fact: Fact) -> None:
        for listener in self._listeners:
            listener.hear(fact)

    def handling(
        self, partition: PartitionId, events: Sequence[SourceEvent]
    ) -> AbstractContextManager[None]:
        if not self._around:
            return _NOTHING
        if len(self._around) == 1:
            return self._around[0].handling(partition, events)
        return self._within_all(partition, events)

    def call_failed(self, kind: str, message: str, trace: str) -> None:
        for listener in self._around:
            listener.call_failed(kind, message, trace)

    @contextmanager
    def _within_all(self, partition: PartitionId, events: Sequence[SourceEvent]) -> Iterator[None]:
        with ExitStack() as stack:
            for listener in self._around:
                stack.enter_context(listener.handling(partition, events))
            yield
