"""What a listing of the ledger in memory shows, kept up to date by touching what has changed.

Rules: pure. Renewals change nothing that a listing shows, so they cost nothing here. A lease that
ends by itself is noticed by its time: no state can change before `_due`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.ledger.layout import Kind, Place, flaw
from tidegate.ledger.memory_blob import NEVER, MemoryBlob
from tidegate.ledger.packing import Unreadable
from tidegate.model import (
    Checkpoint,
    Flaw,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    PartitionId,
    Presence,
    Roster,
)

Key = tuple[Kind, str]


@dataclass(frozen=True, slots=True)
class Owned:
    """The content of an ownership blob."""

    owner: Owner | None
    epoch: int
    nonce: str
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """The content of a member blob before its member has said anything."""

    name: str


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A content that cannot be read."""

    problem: str


def ownership_row(partition: PartitionId, blob: MemoryBlob, state: LeaseState) -> Ownership:
    content = blob.content
    if not isinstance(content, Owned):
        raise _unreadable(blob)
    return Ownership(
        partition,
        blob.etag,
        state,
        content.owner,
        content.epoch,
        content.nonce,
        blob.modified_at,
        content.is_foreign,
    )


def checkpoint_row(blob: MemoryBlob) -> Checkpoint:
    """A checkpoint with its state, as a read of the whole blob gives it."""
    if not isinstance(blob.content, Checkpoint):
        raise _unreadable(blob)
    return replace(blob.content, etag=blob.etag)


def with_body_of(blob: MemoryBlob, content: Checkpoint) -> Checkpoint:
    """The content after a write of metadata alone: a state goes on standing there."""
    was = blob.content
    if not isinstance(was, Checkpoint):
        return content
    return replace(content, state=was.state, state_position=was.state_position)


def _member_row(blob: MemoryBlob, state: LeaseState) -> Presence:
    content = blob.content
    if isinstance(content, Named):
        return Presence(content.name, blob.etag, state, "")
    if not isinstance(content, Presence):
        raise _unreadable(blob)
    figures_at = blob.modified_at if content.figures else 0.0
    return replace(content, etag=blob.etag, lease=state, figures_at=figures_at)


def _unreadable(blob: MemoryBlob) -> Unreadable:
    content = blob.content
    return Unreadable(content.problem if isinstance(content, Spoiled) else "it is something else")


class MemoryView:
    """The last listing, and what has changed since."""

    def __init__(self, blobs: Mapping[Key, MemoryBlob]) -> None:
        self._blobs = blobs
        self._states: dict[Key, LeaseState] = {}
        # In the order of touching, so that one seed gives one listing.
        self._touched: dict[Key, None] = {}
        self._due = NEVER
        self._flaws: dict[Key, Flaw] = {}
        self._rows: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}

    def touch(self, kind: Kind, key: str) -> None:
        """A blob is there, gone, or shows something else."""
        self._touched[kind, key] = None

    def ends_at(self, time: float) -> None:
        """A lease may end by itself at this time."""
        self._due = min(self._due, time)

    def listing(self, now: float) -> Listing:
        if now >= self._due:
            self._notice_ends(now)
        if self._touched:
            self._build(now)
        rows = self._rows
        return Listing(
            rows[Kind.OWNERSHIP],
            rows[Kind.CHECKPOINT],
            rows[Kind.MEMBER],
            rows[Kind.ROSTER].get(""),
            now,
            tuple(self._flaws.values()),
        )

    def _notice_ends(self, now: float) -> None:
        self._due = NEVER
        for key, blob in self._blobs.items():
            if blob.lease_id is not None:
                self._due = min(self._due, blob.changes_at(now))
                if blob.state(now) is not self._states.get(key):
                    self._touched[key] = None

    def _build(self, now: float) -> None:
        for kind in {kind for kind, _ in self._touched}:
            # The mapping that the last listing gave away stays as it was.
            self._rows[kind] = dict(self._rows[kind])
        for key in self._touched:
            self._build_row(key, now)
        self._touched.clear()

    def _build_row(self, key: Key, now: float) -> None:
        kind, name = key
        rows = self._rows[kind]
        self._flaws.pop(key, None)
        blob = self._blobs.get(key)
        if kind is Kind.MEMBER:
            # A listing has members by their own name, blobs have it in lower case.
            for shown in [shown for shown in rows if shown.lower() == name]:
                del rows[shown]
        else:
            rows.pop(name, None)
        if blob is None:
            self._states.pop(key, None)
            return
        state = self._states[key] = blob.state(now)
        try:
            row = _row(key, blob, state)
        except Unreadable as problem:
            self._flaws[key] = flaw(Place(kind, name), blob.name, problem)
            return
        rows[row.name if isinstance(row, Presence) else name] = row


def _row(key: Key, blob: MemoryBlob, state: LeaseState) -> object:
    kind, name = key
    if kind is Kind.OWNERSHIP:
        return ownership_row(name, blob, state)
    if kind is Kind.CHECKPOINT:
        # A listing shows metadata alone.
        whole = checkpoint_row(blob)
        has_state = whole.state is not None
        return replace(whole, state=None, state_position=None, has_state=has_state)
    if kind is Kind.MEMBER:
        return _member_row(blob, state)
    if not isinstance(blob.content, Roster):
        raise _unreadable(blob)
    return replace(blob.content, etag=blob.etag, written_at=blob.modified_at)
