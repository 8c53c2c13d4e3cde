"""The operations that a ledger offers, as values, and the errors that they end with.

Rules:
- An operation is a frozen value that says everything the storage call needs, so that the same one
  can be logged, delayed, repeated and compared. Repeating one is always safe: leases take the same
  id again, and writes are conditional.
- `Unknown` means that the reply is lost: the operation may have been done, now or later.
- A lease call that another lease or none forbids is HELD; a write that a lease or a condition
  forbids is CHANGED; where the condition and the lease both forbid, it may be either.
- A condition on a blob that is gone is CHANGED or MISSING: the services differ.
- Repeating a Release is HELD, repeating a Leave is fine, repeating a Forget is fine or CHANGED;
  none of them does anything more.
- The contract suite in tests/contract/ledger holds every ledger to this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tidegate.model import (
    Checkpoint,
    Listing,
    MemberName,
    Owner,
    Ownership,
    PartitionId,
    Position,
    Presence,
    Roster,
    SourceRecord,
)


@dataclass(frozen=True, slots=True)
class List:
    """One listing of the whole group."""


@dataclass(frozen=True, slots=True)
class CreateOwnership:
    """Makes the ownership blob of a partition that has none, without an owner."""

    partition: PartitionId


@dataclass(frozen=True, slots=True)
class Acquire:
    """Takes the lease of an ownership blob, if it is as it was seen (`etag`)."""

    partition: PartitionId
    lease_id: str
    etag: str


@dataclass(frozen=True, slots=True)
class Renew:
    """Renews the lease of an ownership blob, if the tenure is still ours (`etag`)."""

    partition: PartitionId
    lease_id: str
    etag: str


@dataclass(frozen=True, slots=True)
class Change:
    """Hands the lease over to another id, if the tenure is still ours (`etag`)."""

    partition: PartitionId
    lease_id: str
    new_lease_id: str
    etag: str


@dataclass(frozen=True, slots=True)
class Release:
    """Lets the lease go, if the tenure is still ours (`etag`)."""

    partition: PartitionId
    lease_id: str
    etag: str


@dataclass(frozen=True, slots=True)
class Break:
    """Ends somebody else's lease at once, if the tenure is still the one that was seen."""

    partition: PartitionId
    etag: str


@dataclass(frozen=True, slots=True)
class WriteOwnership:
    """Writes owner, epoch and nonce under our lease. Gives the new ETag."""

    partition: PartitionId
    lease_id: str
    etag: str
    owner: Owner | None
    epoch: int
    nonce: str


@dataclass(frozen=True, slots=True)
class ReadOwnership:
    """Reads one ownership blob. Gives an Ownership, or None where there is none.

    With a lease id it is read only while that very lease lasts, and is CHANGED otherwise.
    """

    partition: PartitionId
    lease_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReadCheckpoint:
    """Reads position and state together. Gives a Checkpoint, or None where there is none."""

    partition: PartitionId


@dataclass(frozen=True, slots=True)
class WriteCheckpoint:
    """Writes position and state in one conditional call. Gives the new ETag.

    `etag` None means that there must be no blob yet. `state` None writes an empty body, but where
    it `keeps_body`: then the metadata alone is written, which costs less, and what stood in the
    body goes on standing there. It is for who knows that the blob of that ETag has none.
    """

    partition: PartitionId
    etag: str | None
    position: Position
    epoch: int
    nonce: str
    enqueued_at: float | None = None
    rewound_by: str = ""
    state: bytes | None = None
    keeps_body: bool = False
    begun_at: float | None = None

    def __post_init__(self) -> None:
        if self.keeps_body and (self.etag is None or self.state is not None):
            raise ValueError("a checkpoint that is new or has a state is written with its body")


@dataclass(frozen=True, slots=True)
class Join:
    """Makes the member blob, where it is missing, and takes its lease: the member is present."""

    name: MemberName
    lease_id: str


@dataclass(frozen=True, slots=True)
class RenewPresence:
    name: MemberName
    lease_id: str


@dataclass(frozen=True, slots=True)
class Announce:
    """Writes the member blob under its lease: all that the member says of itself."""

    presence: Presence
    lease_id: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Lets the presence lease go and removes the member blob."""

    name: MemberName
    lease_id: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Removes the member blob of a member that is dead, if it is as it was seen and unleased."""

    name: MemberName
    etag: str


@dataclass(frozen=True, slots=True)
class WriteRoster:
    """Writes the roster, if it is as it was seen; `etag` empty means there must be none."""

    roster: Roster
    etag: str


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Records what the source calls itself, beside the host that is in the ledger's names.

    Gives all records of this source's name and this group. Nothing is written where another host
    has the same source, unless it `takes_over`: then the records of others are removed.
    """

    identity: str
    takes_over: bool = False


Operation = (
    List
    | CreateOwnership
    | Acquire
    | Renew
    | Change
    | Release
    | Break
    | WriteOwnership
    | ReadOwnership
    | ReadCheckpoint
    | WriteCheckpoint
    | Join
    | RenewPresence
    | Announce
    | Leave
    | Forget
    | WriteRoster
    | RecordSource
)

# Those that change nothing: of none of them it matters whether it was done.
Read = List | ReadOwnership | ReadCheckpoint

# What a good reply carries: a listing, a blob, the new ETag of what was written, records, or
# nothing.
Reply = Listing | Ownership | Checkpoint | str | tuple[SourceRecord, ...] | None


class Refusal(StrEnum):
    """Why an operation was not done."""

    CHANGED = "changed"  # 412: the blob is not as it was seen, or a lease is missing
    HELD = "held"  # 409: somebody else has the lease, or this lease id is not the one it has
    MISSING = "missing"  # 404: there is no such blob
    EXISTS = "exists"  # 409: the blob is there already
    BUSY = "busy"  # 429, 503: come back later
    DENIED = "denied"  # 401, 403: no permission, or credentials that will not do
    UNKNOWN = "unknown"  # the reply is lost, or the service failed: it may have been done
    ABSENT = "absent"  # the container is missing: nothing is there, and nothing can be written
    INVALID = "invalid"  # what is there is not ours to read: a corrupt blob


class LedgerError(Exception):
    """An operation that failed; `refusal` says how, the message what to do."""

    # For how long storage asks not to be asked that again. Who holds leases waits 5 s at the most.
    retry_after_s: float | None = None

    def __init__(self, refusal: Refusal, message: str) -> None:
        super().__init__(message)
        self.refusal = refusal


class Ledger(Protocol):
    """Carries out operations on one group's ledger."""

    async def perform(self, operation: Operation) -> Reply:
        """The reply, or a LedgerError."""

    async def close(self) -> None: ...
