"""A blob of the ledger as a document of a container, with the lease that Cosmos DB does not have.

Rules:
- Pure. The states and refusals of a lease are those of `memory_blob`, to the letter: a document is
  read as such a blob, an operation is done on it, and what came of it is written.
- A document holds its own ETag, `tag`, which changes with what it says and not with its lease. The
  service's `_etag` is the condition of every write, so nothing is ever written over unseen.
- Times in a document count from its last write. `age`, how long that write has stood, is the only
  clock here: it is never too long, so a lease never ends too early.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.ledger.layout import Row
from tidegate.ledger.memory_blob import MemoryBlob
from tidegate.ledger.packing import Unreadable

# A state of no more than this stands in its document; a longer one beside it, in parts.
INLINE_STATE = 4096
# The service takes items of 2 MB, and base64 makes four bytes of three; a request of more than
# 1 MB holds up the event loop that sends it.
STATE_PART = 700_000


@dataclass(frozen=True, slots=True)
class Content:
    """What a document says: a blob's metadata, and where its body is."""

    metadata: Mapping[str, str]
    body: bytes | None = b""
    # A longer body is in so many parts, under the tag of the write that put it there.
    parts: int = 0
    parts_tag: str = ""


def blob_of(document: Mapping[str, Any]) -> MemoryBlob:
    """The document as a blob, whose times count from its last write. Raises Unreadable."""
    try:
        blob = MemoryBlob(
            str(document["id"]), str(document["tag"]), _content(document), written_at(document)
        )
        lease = document.get("lease")
        if lease is not None:
            blob.lease_id = str(lease["id"])
            blob.expires_at = float(lease["lasts"])
            if lease.get("breaks") is not None:
                blob.breaks_at = float(lease["breaks"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise Unreadable(
            f"it is no document of a ledger ({type(problem).__name__}: {problem})"
        ) from None
    return blob


def written_at(document: Mapping[str, Any]) -> float:
    """When its content was written, by the server's clock."""
    return float(document.get("written") or document.get("_ts") or 0.0)


def document_of(blob: MemoryBlob, age: float, was: Mapping[str, Any] | None) -> dict[str, Any]:
    """The blob as a document to be written at the time `age`; fields of others are kept."""
    content = blob.content
    assert isinstance(content, Content)
    document: dict[str, Any] = dict(was or {"id": blob.name})
    for field in ("lease", "written", "body", "parts", "partsTag"):
        document.pop(field, None)
    if was is not None and was.get("tag") == blob.etag:
        document["written"] = written_at(was)
    document["tag"] = blob.etag
    document["metadata"] = dict(content.metadata)
    if content.parts:
        document |= {"parts": content.parts, "partsTag": content.parts_tag}
    elif content.body:
        document["body"] = base64.b64encode(content.body).decode()
    if blob.lease_id is not None:
        lease: dict[str, Any] = {"id": blob.lease_id, "lasts": round(blob.expires_at - age, 3)}
        if blob.breaks_at is not None:
            lease["breaks"] = round(blob.breaks_at - age, 3)
        document["lease"] = lease
    return document


def row_of(name: str, blob: MemoryBlob, age: float) -> Row:
    """The document as the service of blobs would show it; `name` is for what is said of it."""
    content = blob.content
    assert isinstance(content, Content)
    size = content.parts or len(content.body or b"")
    return Row(name, blob.etag, blob.state(age), content.metadata, blob.modified_at, size)


def _content(document: Mapping[str, Any]) -> Content:
    metadata = document["metadata"]
    if not isinstance(metadata, Mapping):
        raise TypeError("its metadata is no object")
    texts = {str(key): str(value) for key, value in metadata.items()}
    parts = int(document.get("parts") or 0)
    if parts:
        return Content(texts, None, parts, str(document["partsTag"]))
    return Content(texts, base64.b64decode(str(document.get("body") or ""), validate=True))


def parts_of(body: bytes) -> list[dict[str, str]]:
    """A long body as the documents that hold it, without their ids."""
    return [
        {"body": base64.b64encode(body[at : at + STATE_PART]).decode()}
        for at in range(0, len(body), STATE_PART)
    ]


def body_of_parts(parts: list[Mapping[str, Any]]) -> bytes:
    try:
        return b"".join(base64.b64decode(str(part["body"]), validate=True) for part in parts)
    except (KeyError, ValueError):
        raise Unreadable("a part of its state is damaged") from None
