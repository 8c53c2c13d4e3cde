"""What an operation does to a document: the same as to a blob of Blob storage. Pure.

Rules: a deed is done on a blob in memory, made of the document as it was read, and refuses as Blob
storage does. It says what is to be written; whoever writes it does so only over that very document.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ledger import layout, members
from tidegate.ledger.cosmos.documents import INLINE_STATE, Content
from tidegate.ledger.memory_blob import MemoryBlob
from tidegate.ledger.packing import Unfit
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
    Operation,
    Refusal,
    Release,
    Renew,
    RenewPresence,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

# As of the services of blobs.
STATE_LIMIT = 256 << 20


@dataclass(frozen=True, slots=True)
class Deed:
    """What is to be done: write this blob, delete the document, or nothing."""

    blob: MemoryBlob | None = None
    deletes: bool = False
    reply: str | None = None


NOTHING = Deed()


def content_of(operation: Operation, tag: str) -> Content | None:
    """What an operation would have the document say; None where it says nothing. Raises Unfit."""
    match operation:
        case CreateOwnership():
            return Content(layout.ownership_metadata(None, 0, ""))
        case WriteOwnership(owner=owner, epoch=epoch, nonce=nonce):
            return Content(layout.ownership_metadata(owner, epoch, nonce))
        case Join(name=name):
            return Content(members.name_metadata(name))
        case Announce(presence=presence):
            return Content(members.presence_metadata(presence))
        case WriteRoster(roster=roster):
            return Content(members.roster_metadata(roster))
        case WriteCheckpoint():
            metadata = layout.checkpoint_metadata(
                operation.position,
                operation.epoch,
                operation.nonce,
                operation.enqueued_at,
                operation.rewound_by,
                operation.begun_at,
            )
            body = layout.body_of(operation.position, operation.state)
            if len(body) <= INLINE_STATE:
                return Content(metadata, body)
            if len(body) > STATE_LIMIT:
                raise Unfit(
                    f"the state of partition '{operation.partition}' has {len(body)} bytes, and "
                    f"{STATE_LIMIT} are the most. Keep less in it."
                )
            return Content(metadata, body, parts=-1, parts_tag=tag)
    return None


def do(
    operation: Operation,
    name: str,
    blob: MemoryBlob | None,
    content: Content | None,
    tag: str,
    lease_s: float,
    now: float,
) -> Deed:
    """The deed on the document as it is (None: there is none), or LedgerError."""
    match operation:
        case CreateOwnership():
            return _create(name, blob, content, tag, now)
        case WriteCheckpoint(etag=None) | WriteRoster(etag=""):
            return _create(name, blob, content, tag, now)
        case Join(lease_id=lease_id):
            blob = blob or MemoryBlob(name, tag, content, now)
            blob.acquire(lease_id, lease_s, now)
            return Deed(blob)
        case Leave(lease_id=lease_id):
            if blob is None:
                return NOTHING
            blob.authorise(lease_id, now)
            return Deed(deletes=True)
        case RenewPresence() | Announce():
            if blob is None:
                raise LedgerError(Refusal.MISSING, f"{name} is not there")
            if isinstance(operation, RenewPresence):
                blob.renew(operation.lease_id, lease_s, now)
                return Deed(blob)
            blob.authorise(operation.lease_id, now)
            return _write(blob, content, tag, now)
    if blob is None:
        raise LedgerError(Refusal.CHANGED, f"{name} is gone")
    return _on_seen(operation, blob, content, tag, lease_s, now)


def _on_seen(
    operation: Operation,
    blob: MemoryBlob,
    content: Content | None,
    tag: str,
    lease_s: float,
    now: float,
) -> Deed:
    """A deed on a blob that must be as it was seen."""
    match operation:
        case Acquire() | Renew() | Change() | Release() | Break():
            blob.match(operation.etag)
            _lease(operation, blob, lease_s, now)
            return Deed(blob)
        case WriteOwnership(lease_id=lease_id, etag=etag):
            blob.match(etag)
            blob.authorise(lease_id, now)
            return _write(blob, content, tag, now)
        case WriteCheckpoint(etag=etag, keeps_body=keeps_body):
            blob.match(etag or "")
            blob.authorise(None, now)
            if keeps_body and content is not None:
                was = blob.content
                assert isinstance(was, Content)
                content = Content(content.metadata, was.body, was.parts, was.parts_tag)
            return _write(blob, content, tag, now)
        case WriteRoster(etag=etag):
            blob.match(etag)
            blob.authorise(None, now)
            return _write(blob, content, tag, now)
        case Forget(etag=etag):
            blob.match(etag)
            blob.authorise(None, now)
            return Deed(deletes=True)
    raise AssertionError(f"{operation} writes nothing")


def _lease(
    operation: Acquire | Renew | Change | Release | Break,
    blob: MemoryBlob,
    lease_s: float,
    now: float,
) -> None:
    match operation:
        case Acquire(lease_id=lease_id):
            blob.acquire(lease_id, lease_s, now)
        case Renew(lease_id=lease_id):
            blob.renew(lease_id, lease_s, now)
        case Change(lease_id=lease_id, new_lease_id=new_lease_id):
            blob.change(lease_id, new_lease_id, now)
        case Release(lease_id=lease_id):
            blob.release(lease_id, now)
        case Break():
            blob.break_lease(now)


def _create(
    name: str, blob: MemoryBlob | None, content: Content | None, tag: str, now: float
) -> Deed:
    if blob is not None:
        raise LedgerError(Refusal.EXISTS, f"{name} is there already")
    return Deed(MemoryBlob(name, tag, content, now), reply=tag)


def _write(blob: MemoryBlob, content: Content | None, tag: str, now: float) -> Deed:
    blob.write(content, tag, now)
    return Deed(blob, reply=tag)
