"""The blobs of one partition as a frozen value, and what an operation makes of them.

Rules:
- The ledger is the one in memory, with its rules; it is thawed for one operation and frozen again.
  What comes of an operation is remembered, so each is carried out once.
- There is no time: a lease is held until a step of the model ends it.
- An ETag is made of the nonce that was written, not counted, so that ways that write the same come
  to the same state. Nonces are never written twice, so neither is an ETag.
"""

from __future__ import annotations

from typing import NamedTuple

from model.numbered import Numbered
from tidegate.ledger.layout import Kind
from tidegate.ledger.memory import MemoryLedger
from tidegate.ledger.memory_blob import MemoryBlob
from tidegate.ledger.memory_view import Owned
from tidegate.model import Checkpoint, LeaseState, Ownership
from tidegate.ports import LedgerError, Operation, ReadCheckpoint, ReadOwnership, Refusal, Reply

PARTITION = "0"
LEASE_S = 15.0
_NOW = 0.0
_ENDED = -1.0


class Blob(NamedTuple):
    """A blob and its lease."""

    etag: str
    content: Owned | Checkpoint
    lease_id: str | None = None
    has_ended: bool = False
    is_broken: bool = False

    @property
    def is_leased(self) -> bool:
        return self.lease_id is not None and not self.has_ended and not self.is_broken


class Blobs(NamedTuple):
    """What stands in storage."""

    ownership: Blob | None
    checkpoint: Blob | None = None
    # How often a hand has deleted the ownership: what is made anew gets an ETag of its own.
    deletions: int = 0


class Outcome(NamedTuple):
    """What an operation came to, and the number of the blobs after it."""

    blobs: int
    reply: Reply
    refusal: Refusal | None


NOBODYS = Blobs(Blob("ownership-0:", Owned(None, 0, "")))


class Storage:
    """Carries out operations on frozen blobs, which have numbers here."""

    def __init__(self) -> None:
        self._blobs: Numbered[Blobs] = Numbered()
        self.number = self._blobs.number
        self._known: dict[tuple[int, Operation], Outcome] = {}

    def at(self, number: int) -> Blobs:
        return self._blobs.values[number]

    def perform(self, number: int, operation: Operation) -> Outcome:
        outcome = self._known.get((number, operation))
        if outcome is None:
            after, reply, refusal = _perform(self.at(number), operation)
            outcome = self._known[number, operation] = Outcome(self.number(after), reply, refusal)
        return outcome

    def ownership(self, number: int) -> Ownership | None:
        """The row that a listing shows."""
        row = self.perform(number, ReadOwnership(PARTITION)).reply
        assert row is None or isinstance(row, Ownership)
        return row

    def checkpoint(self, number: int) -> Checkpoint | None:
        row = self.perform(number, ReadCheckpoint(PARTITION)).reply
        assert row is None or isinstance(row, Checkpoint)
        return row


def ended(blobs: Blobs) -> Blobs:
    """The same, the lease having run out."""
    assert blobs.ownership is not None
    return blobs._replace(ownership=blobs.ownership._replace(has_ended=True))


def deleted(blobs: Blobs) -> Blobs:
    """The same, a hand having deleted the ownership."""
    return blobs._replace(ownership=None, deletions=blobs.deletions + 1)


def _perform(blobs: Blobs, operation: Operation) -> tuple[Blobs, Reply, Refusal | None]:
    ledger = _thawed(blobs)
    reply: Reply = None
    refusal = None
    try:
        reply = ledger.perform_at(operation, _NOW)
    except LedgerError as error:
        refusal = error.refusal
    after = Blobs(
        _frozen(ledger, Kind.OWNERSHIP, blobs.ownership, blobs.deletions),
        _frozen(ledger, Kind.CHECKPOINT, blobs.checkpoint, 0),
        blobs.deletions,
    )
    if isinstance(reply, str):
        written = after.ownership if after.ownership != blobs.ownership else after.checkpoint
        assert written is not None
        reply = written.etag
    return after, reply, refusal


def _thawed(blobs: Blobs) -> MemoryLedger:
    ledger = MemoryLedger(LEASE_S)
    for kind, blob in ((Kind.OWNERSHIP, blobs.ownership), (Kind.CHECKPOINT, blobs.checkpoint)):
        if blob is not None:
            thawed = MemoryBlob(kind, blob.etag, blob.content, _NOW)
            thawed.lease_id = blob.lease_id
            thawed.expires_at = _ENDED if blob.has_ended else LEASE_S
            thawed.breaks_at = _NOW if blob.is_broken else None
            ledger._blobs[kind, PARTITION] = thawed
    return ledger


def _frozen(ledger: MemoryLedger, kind: Kind, before: Blob | None, deletions: int) -> Blob | None:
    blob = ledger._blobs.get((kind, PARTITION))
    if blob is None:
        return None
    content = blob.content
    assert isinstance(content, Owned | Checkpoint)
    etag = blob.etag
    if before is None or etag != before.etag:
        etag = f"{kind}-{deletions}:{content.nonce}"
    state = blob.state(_NOW)
    has_lease = blob.lease_id is not None
    return Blob(
        etag,
        content,
        blob.lease_id,
        has_lease and state is LeaseState.EXPIRED,
        has_lease and state is LeaseState.BROKEN,
    )
