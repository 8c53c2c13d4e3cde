"""Whose a lease document is: what we write beside its fields, and what follows where it is missing.

Rules:
- Pure. Other processors write a lease as they know it, and drop what we wrote beside: a document
  whose mark is missing, or is of another owner or time than its fields say, was written by another.
- A mark says which continuation token was written with it. While that still stands, the group's own
  checkpoint says the same and more; where another one stands, another processor has read on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from tidegate.ledger.cosmos.dialects import Boundary, Document

MARK = "tidegate"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a lease says of itself beside the fields that all know."""

    is_ours: bool
    # The token is one that we wrote, and nobody wrote another since.
    has_our_token: bool
    # When one of ours took it from another that lived, by the service's clock.
    taken_at: float = 0.0


def marked(document: Document, taken_at: float = 0.0, *, writes_token: bool = False) -> Document:
    """The document as it will be written by us, with its mark. Owner and timestamp are set."""
    was = document.get(MARK)
    before: Mapping[str, Any] = was if isinstance(was, Mapping) else {}
    mark: dict[str, Any] = {"owner": document.get("Owner"), "at": document.get("timestamp")}
    if writes_token:
        mark["token"] = _digest(document.get("ContinuationToken"))
    elif "token" in before:
        mark["token"] = before["token"]
    taken = taken_at or before.get("takenAt")
    if taken:
        mark["takenAt"] = taken
    return {**document, MARK: mark}


def mark_of(document: Document) -> Mark:
    mark = document.get(MARK)
    if not isinstance(mark, Mapping):
        return Mark(is_ours=False, has_our_token=False)
    is_ours = mark.get("owner") == document.get("Owner") and mark.get("at") == document.get(
        "timestamp"
    )
    taken = mark.get("takenAt")
    return Mark(
        is_ours,
        mark.get("token") == _digest(document.get("ContinuationToken")),
        float(taken) if is_ours and isinstance(taken, int | float) else 0.0,
    )


def _digest(token: object) -> str:
    return blake2b(str(token or "").encode(), digest_size=8).hexdigest()


def foreign_owner(lease: Boundary, age_s: float, expiry_s: float) -> str | None:
    """The living owner that is none of ours; None where there is none."""
    if lease.owner is None or mark_of(lease.document).is_ours or age_s >= expiry_s:
        return None
    return lease.owner
