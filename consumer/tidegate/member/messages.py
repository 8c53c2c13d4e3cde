"""What a member is told (events) and what it wants done (commands). All frozen.

Every event carries `now`, the member's own monotonic clock; answers carry `sent_at`, when the
operation was sent, because that is from when a lease counts. A `serial` names one tenure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.model import Figures, PartitionId, Position, Rewind
from tidegate.ports import Operation, Refusal, Reply

# Whose operation it was: the member's own (None), or a tenure's (its partition and serial).
Key = tuple[PartitionId, int] | None


@dataclass(frozen=True, slots=True)
class Woken:
    """It is time: `wake_at` of the member has come, or something outside asks for a look."""

    now: float


@dataclass(frozen=True, slots=True)
class PartitionsKnown:
    """The source's partitions, as it said when it was asked; told again when they change."""

    now: float
    partitions: tuple[PartitionId, ...]
    asked_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """An operation ended: with a reply, or refused."""

    now: float
    sent_at: float
    key: Key
    operation: Operation
    reply: Reply = None
    refusal: Refusal | None = None
    message: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """The keeper renewed a lease of ours."""

    now: float
    sent_at: float
    partition: PartitionId
    lease_id: str


@dataclass(frozen=True, slots=True)
class RenewalRefused:
    """The keeper could not renew: the lease is gone, or the blob is not as we left it."""

    now: float
    partition: PartitionId
    lease_id: str
    etag: str
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class StartResolved:
    """Where a partition that has no checkpoint begins."""

    now: float
    partition: PartitionId
    serial: int
    position: Position


@dataclass(frozen=True, slots=True)
class ReaderOpened:
    now: float
    partition: PartitionId
    serial: int


@dataclass(frozen=True, slots=True)
class ReaderRefused:
    """The source knows a higher epoch, or gave the partition to one: `level`, where it says."""

    now: float
    partition: PartitionId
    serial: int
    level: int | None = None


@dataclass(frozen=True, slots=True)
class ReaderFailed:
    """The reader could not be opened, or ended by itself."""

    now: float
    partition: PartitionId
    serial: int
    message: str = ""
    # It does not pass by itself, such as a consumer group that does not exist.
    is_fatal: bool = False


@dataclass(frozen=True, slots=True)
class Handled:
    """The handler is done with everything up to a position."""

    now: float
    partition: PartitionId
    serial: int
    position: Position
    enqueued_at: float | None = None
    state: bytes | None = None
    # A checkpoint shall be written now rather than when its time comes.
    is_due: bool = False


@dataclass(frozen=True, slots=True)
class ReaderClosed:
    """A reader that was asked to close has ended; Handled came before for all that it did."""

    now: float
    partition: PartitionId
    serial: int


@dataclass(frozen=True, slots=True)
class ReaderGaveUp:
    """The handler hangs: the partition is to be left to others. The reader has ended."""

    now: float
    partition: PartitionId
    serial: int
    message: str


@dataclass(frozen=True, slots=True)
class HandlerReturned:
    """What hung when a reader gave up has come back: its partition can be handled here again."""

    now: float
    partition: PartitionId
    serial: int


@dataclass(frozen=True, slots=True)
class LoadsMeasured:
    """What each partition of ours costs, as a share of one member's capacity."""

    now: float
    loads: tuple[tuple[PartitionId, float], ...]


@dataclass(frozen=True, slots=True)
class FiguresMeasured:
    """How far each partition of ours is, and those whose batch fails again and again.

    `unread` are those whose source cannot be read, and `trouble` says why; `open_circuits` those
    of the stuck whose circuit breaker is open.
    """

    now: float
    figures: Mapping[PartitionId, Figures]
    stuck: frozenset[PartitionId]
    unread: frozenset[PartitionId] = frozenset()
    trouble: str = ""
    open_circuits: frozenset[PartitionId] = frozenset()


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Hand over what we own and leave."""

    now: float


TenureEvent = (
    StartResolved
    | ReaderOpened
    | ReaderRefused
    | ReaderFailed
    | Handled
    | ReaderClosed
    | ReaderGaveUp
)

Event = (
    Woken
    | PartitionsKnown
    | Answered
    | Renewed
    | RenewalRefused
    | TenureEvent
    | HandlerReturned
    | LoadsMeasured
    | FiguresMeasured
    | StopAsked
)


# --- commands


@dataclass(frozen=True, slots=True)
class Perform:
    """Carry out an operation on the ledger; the end comes back as Answered with the same key."""

    key: Key
    operation: Operation


@dataclass(frozen=True, slots=True)
class Keep:
    """Renew this lease from now on, counting from `since`; replaces what was kept before."""

    partition: PartitionId
    lease_id: str
    etag: str
    since: float


@dataclass(frozen=True, slots=True)
class LetGo:
    """Renew the lease of this partition no more."""

    partition: PartitionId


@dataclass(frozen=True, slots=True)
class ResolveStart:
    """Ask the source where a partition without a checkpoint begins, or where a rewind goes to."""

    partition: PartitionId
    serial: int
    rewind: Rewind | None = None


@dataclass(frozen=True, slots=True)
class OpenReader:
    """Read a partition behind a position, with an epoch, and hand its state to the handler."""

    partition: PartitionId
    serial: int
    position: Position
    epoch: int
    state: bytes | None


@dataclass(frozen=True, slots=True)
class CloseReader:
    """Stop reading. `drain`: finish what the handler has; otherwise drop it as soon as can be."""

    partition: PartitionId
    serial: int
    drain: bool


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """A checkpoint of this tenure stands."""

    partition: PartitionId
    serial: int
    position: Position


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep these leases where a restart of this very process will find them."""

    leases: tuple[tuple[PartitionId, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Something that people should know. `kind` is stable, for metrics and Events."""

    kind: str
    partition: PartitionId | None
    message: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The member owns nothing and has left."""


Command = (
    Perform
    | Keep
    | LetGo
    | ResolveStart
    | OpenReader
    | CloseReader
    | Checkpointed
    | Remember
    | Report
    | Stopped
)
