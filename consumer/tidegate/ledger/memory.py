"""The ledger in memory: for tests, and for the simulator, which passes its own time in.

Rules:
- It behaves as Blob storage does, and the contract suite holds it to that. The service's clock is
  the `now` of each call; there is no other.
- It is quick: a listing is kept, and only what has changed since is built again. The mappings of a
  listing that was handed out are never touched afterwards.
- What a person or another processor may do to the blobs ends in `_by_hand` or `_by_other`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.ledger.layout import Kind
from tidegate.ledger.memory_blob import LEASED, MemoryBlob
from tidegate.ledger.memory_view import (
    MemoryView,
    Named,
    Owned,
    Spoiled,
    checkpoint_row,
    ownership_row,
    with_body_of,
)
from tidegate.ledger.packing import Unreadable
from tidegate.model import (
    Checkpoint,
    Listing,
    Owner,
    Ownership,
    PartitionId,
    Position,
    SourceRecord,
)
from tidegate.ports import (
    Acquire,
    Announce,
    Break,
    Change,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    LedgerError,
    List,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    RecordSource,
    Refusal,
    Release,
    Renew,
    RenewPresence,
    Reply,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)


class MemoryLedger:
    """A group's blobs, and the operations on them at a given time."""

    def __init__(self, lease_s: float = 15.0) -> None:
        self._lease_s = lease_s
        self._blobs: dict[tuple[Kind, str], MemoryBlob] = {}
        self._written = 0
        # This ledger is of one host, which is always the same.
        self._sources: dict[str, SourceRecord] = {}
        self._view = MemoryView(self._blobs)
        self._doing: dict[type, Callable[[Any, float], Reply]] = {
            List: self._list,
            CreateOwnership: self._create_ownership,
            Acquire: self._acquire,
            Renew: self._renew,
            Change: self._change,
            Release: self._release,
            Break: self._break,
            WriteOwnership: self._write_ownership,
            ReadOwnership: self._read_ownership,
            ReadCheckpoint: self._read_checkpoint,
            WriteCheckpoint: self._write_checkpoint,
            Join: self._join,
            RenewPresence: self._renew_presence,
            Announce: self._announce,
            Leave: self._leave,
            Forget: self._forget,
            WriteRoster: self._write_roster,
            RecordSource: self._record_source,
        }

    def perform_at(self, operation: Operation, now: float) -> Reply:
        """Carries out one operation at this time by the service's clock, or raises LedgerError."""
        try:
            return self._doing[type(operation)](operation, now)
        except Unreadable as problem:
            raise LedgerError(Refusal.INVALID, str(problem)) from None

    def _list(self, _: List, now: float) -> Listing:
        return self._view.listing(now)

    def _create_ownership(self, operation: CreateOwnership, now: float) -> str:
        return self._create(Kind.OWNERSHIP, operation.partition, Owned(None, 0, ""), now)

    def _acquire(self, operation: Acquire, now: float) -> None:
        blob = self._matching(Kind.OWNERSHIP, operation.partition, operation.etag)
        was = blob.state(now)
        blob.acquire(operation.lease_id, self._lease_s, now)
        self._leased(Kind.OWNERSHIP, operation.partition, blob, was is not LEASED)

    def _renew(self, operation: Renew, now: float) -> None:
        blob = self._matching(Kind.OWNERSHIP, operation.partition, operation.etag)
        was = blob.state(now)
        blob.renew(operation.lease_id, self._lease_s, now)
        self._leased(Kind.OWNERSHIP, operation.partition, blob, was is not LEASED)

    def _change(self, operation: Change, now: float) -> None:
        blob = self._matching(Kind.OWNERSHIP, operation.partition, operation.etag)
        blob.change(operation.lease_id, operation.new_lease_id, now)

    def _release(self, operation: Release, now: float) -> None:
        blob = self._matching(Kind.OWNERSHIP, operation.partition, operation.etag)
        blob.release(operation.lease_id, now)
        self._view.touch(Kind.OWNERSHIP, operation.partition)

    def _break(self, operation: Break, now: float) -> None:
        blob = self._matching(Kind.OWNERSHIP, operation.partition, operation.etag)
        blob.break_lease(now)
        self._view.touch(Kind.OWNERSHIP, operation.partition)

    def _write_ownership(self, operation: WriteOwnership, now: float) -> str:
        blob = self._matching(Kind.OWNERSHIP, operation.partition, operation.etag)
        blob.authorise(operation.lease_id, now)
        content = Owned(operation.owner, operation.epoch, operation.nonce)
        return self._write(Kind.OWNERSHIP, operation.partition, blob, content, now)

    def _read_ownership(self, operation: ReadOwnership, now: float) -> Ownership | None:
        blob = self._blobs.get((Kind.OWNERSHIP, operation.partition))
        if blob is None:
            return None
        if operation.lease_id is not None:
            blob.authorise(operation.lease_id, now)
        return ownership_row(operation.partition, blob, blob.state(now))

    def _read_checkpoint(self, operation: ReadCheckpoint, _: float) -> Checkpoint | None:
        blob = self._blobs.get((Kind.CHECKPOINT, operation.partition))
        if blob is None:
            return None
        return checkpoint_row(blob)

    def _write_checkpoint(self, operation: WriteCheckpoint, now: float) -> str:
        content = Checkpoint(
            operation.partition,
            "",
            operation.position,
            operation.epoch,
            operation.nonce,
            operation.enqueued_at,
            operation.rewound_by,
            operation.state,
            None if operation.state is None else operation.position,
            begun_at=operation.begun_at,
        )
        if operation.etag is None:
            return self._create(Kind.CHECKPOINT, operation.partition, content, now)
        blob = self._matching(Kind.CHECKPOINT, operation.partition, operation.etag)
        blob.authorise(None, now)
        if operation.keeps_body:
            content = with_body_of(blob, content)
        return self._write(Kind.CHECKPOINT, operation.partition, blob, content, now)

    def _join(self, operation: Join, now: float) -> None:
        key = operation.name.lower()
        blob = self._blobs.get((Kind.MEMBER, key))
        if blob is None:
            self._create(Kind.MEMBER, key, Named(operation.name), now)
            blob = self._blobs[Kind.MEMBER, key]
        blob.acquire(operation.lease_id, self._lease_s, now)
        self._leased(Kind.MEMBER, key, blob, has_changed=True)

    def _renew_presence(self, operation: RenewPresence, now: float) -> None:
        key = operation.name.lower()
        blob = self._present(Kind.MEMBER, key)
        was = blob.state(now)
        blob.renew(operation.lease_id, self._lease_s, now)
        self._leased(Kind.MEMBER, key, blob, was is not LEASED)

    def _announce(self, operation: Announce, now: float) -> str:
        key = operation.presence.name.lower()
        blob = self._present(Kind.MEMBER, key)
        blob.authorise(operation.lease_id, now)
        return self._write(Kind.MEMBER, key, blob, operation.presence, now)

    def _leave(self, operation: Leave, now: float) -> None:
        key = operation.name.lower()
        blob = self._blobs.get((Kind.MEMBER, key))
        if blob is not None:
            blob.authorise(operation.lease_id, now)
            self._delete(Kind.MEMBER, key)

    def _forget(self, operation: Forget, now: float) -> None:
        key = operation.name.lower()
        self._matching(Kind.MEMBER, key, operation.etag).authorise(None, now)
        self._delete(Kind.MEMBER, key)

    def _write_roster(self, operation: WriteRoster, now: float) -> str:
        if not operation.etag:
            return self._create(Kind.ROSTER, "", operation.roster, now)
        blob = self._matching(Kind.ROSTER, "", operation.etag)
        blob.authorise(None, now)
        return self._write(Kind.ROSTER, "", blob, operation.roster, now)

    def _record_source(self, operation: RecordSource, now: float) -> tuple[SourceRecord, ...]:
        if operation.identity not in self._sources or operation.takes_over:
            record = SourceRecord("memory", operation.identity, now)
            self._sources = {operation.identity: record}
        return tuple(self._sources.values())

    # What the operations are made of.

    def _present(self, kind: Kind, key: str) -> MemoryBlob:
        blob = self._blobs.get((kind, key))
        if blob is None:
            raise LedgerError(Refusal.MISSING, f"there is no {kind}/{key}")
        return blob

    def _matching(self, kind: Kind, key: str, etag: str) -> MemoryBlob:
        blob = self._blobs.get((kind, key))
        if blob is None:
            raise LedgerError(Refusal.CHANGED, f"{kind}/{key} is gone")
        blob.match(etag)
        return blob

    def _create(self, kind: Kind, key: str, content: object, now: float) -> str:
        if (kind, key) in self._blobs:
            raise LedgerError(Refusal.EXISTS, f"{kind}/{key} is there already")
        etag = self._next_etag()
        self._blobs[kind, key] = MemoryBlob(f"{kind}/{key}", etag, content, now)
        self._view.touch(kind, key)
        return etag

    def _write(self, kind: Kind, key: str, blob: MemoryBlob, content: object, now: float) -> str:
        etag = self._next_etag()
        blob.write(content, etag, now)
        self._view.touch(kind, key)
        return etag

    def _delete(self, kind: Kind, key: str) -> None:
        del self._blobs[kind, key]
        self._view.touch(kind, key)

    def _leased(self, kind: Kind, key: str, blob: MemoryBlob, has_changed: bool) -> None:
        self._view.ends_at(blob.expires_at)
        if has_changed:
            self._view.touch(kind, key)

    def _next_etag(self) -> str:
        self._written += 1
        return f"0x{self._written:X}"

    # What a person, or another processor, may do to the blobs.

    def delete_by_hand(self, kind: Kind, key: str) -> None:
        """Deletes a blob, leased or not."""
        self._present(kind, key)
        self._delete(kind, key)

    def empty_by_hand(self) -> None:
        """Deletes everything, like the deletion of the container."""
        for kind, key in list(self._blobs):
            self._delete(kind, key)

    def break_by_hand(self, partition: PartitionId, now: float, seconds: float = 0.0) -> None:
        """Breaks the lease of an ownership, whoever has it."""
        blob = self._present(Kind.OWNERSHIP, partition)
        blob.break_lease(now, seconds)
        self._view.ends_at(blob.breaks_at or now)
        self._view.touch(Kind.OWNERSHIP, partition)

    def claim_by_other(self, partition: PartitionId, owner: str, now: float) -> str:
        """An official processor claims a partition, or releases it with an empty owner."""
        content = Owned(Owner.parse(owner), 0, "", is_foreign=bool(owner))
        blob = self._blobs.get((Kind.OWNERSHIP, partition))
        if blob is None:
            return self._create(Kind.OWNERSHIP, partition, content, now)
        blob.authorise(None, now)
        return self._write(Kind.OWNERSHIP, partition, blob, content, now)

    def checkpoint_by_other(self, partition: PartitionId, position: Position, now: float) -> str:
        """An official processor sets a checkpoint without a condition; the body stays."""
        content = Checkpoint(partition, "", position, 0, "")
        blob = self._blobs.get((Kind.CHECKPOINT, partition))
        if blob is None:
            return self._create(Kind.CHECKPOINT, partition, content, now)
        content = with_body_of(blob, content)
        return self._write(Kind.CHECKPOINT, partition, blob, content, now)

    def spoil_by_hand(self, kind: Kind, key: str, now: float) -> str:
        """Makes a blob one that cannot be read."""
        content = Spoiled("a hand has spoilt it")
        blob = self._blobs.get((kind, key))
        if blob is None:
            return self._create(kind, key, content, now)
        return self._write(kind, key, blob, content, now)


class MemoryClient:
    """The same ledger behind the protocol, for one member; the clock is the service's."""

    def __init__(self, ledger: MemoryLedger, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._clock = clock

    async def perform(self, operation: Operation) -> Reply:
        return self._ledger.perform_at(operation, self._clock())

    async def close(self) -> None:
        """Nothing to close."""
