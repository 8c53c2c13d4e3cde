"""Lease documents of Microsoft's change feed processors, in their four dialects. Pure.

Rules:
- .NET and Java cannot read each other's leases, so a processor's leases are of one dialect.
- A document is written as it was read, but for what changes: fields that are not known here stay.
- Names are `{prefix}{host}_{database}_{container}..{token}`; the processor lists what begins with
  that. Its `.info` says that all leases were made, its `.lock` that they are being made.
- What cannot be read is Unreadable, with words for a person; nothing is written over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from tidegate.ledger.cosmos.tokens import Monitored, etag_of_java_token, java_token, plain_etag
from tidegate.ledger.packing import Unreadable
from tidegate.sources.cosmos.ranges import FeedRange, range_of

Document = Mapping[str, Any]

# What the names of our own documents in a lease container begin with: no processor's do.
OURS = "!tidegate!"

# What .NET calls the mode whose leases can be shared and moved; older leases say nothing of it.
_INCREMENTAL = "incremental feed"
_FEED_RANGE = {"java": "feedRange", "net": "FeedRange"}


class Dialect(StrEnum):
    """Who writes leases like this, and what one is of: an effective range, or a range by its id."""

    JAVA_EPK = "javaEpk"
    JAVA_PK = "javaPk"
    NET_EPK = "netEpk"
    NET_V0 = "netV0"

    @property
    def is_java(self) -> bool:
        return self in (Dialect.JAVA_EPK, Dialect.JAVA_PK)

    @property
    def is_by_range(self) -> bool:
        """Whether a lease is of effective partition keys; else of a range's id."""
        return self in (Dialect.JAVA_EPK, Dialect.NET_EPK)

    @property
    def has_names(self) -> bool:
        """Whether leases are named by database and container; else by their resource ids."""
        return self is Dialect.JAVA_PK

    @property
    def _range_field(self) -> str:
        return _FEED_RANGE["java" if self.is_java else "net"]


def base_of(of: Monitored, prefix: str, dialect: Dialect) -> str:
    """What the names of a processor's documents begin with."""
    if dialect.has_names:
        return f"{prefix}{of.host}_{of.database}_{of.container}"
    return f"{prefix}{of.host}_{of.database_rid}_{of.container_rid}"


@dataclass(frozen=True, slots=True)
class Boundary:
    """A lease as it stands: whose, of what, and how far."""

    token: str  # the range, or the range's id
    owner: str | None
    etag: str | None  # of the feed; None where nothing was read yet
    range: FeedRange | None  # None where only the range's id is known
    stamped_at: float | None  # by the clock of its writer
    document: Document

    @property
    def id(self) -> str:
        return str(self.document["id"])


def lease_id(base: str, token: str) -> str:
    return f"{base}..{token}"


def read_lease(document: Document, dialect: Dialect, of: Monitored) -> Boundary:
    """A lease of the processor that reads this container. Raises Unreadable."""
    found = dialect_of(document)
    if found is not None and found is not dialect:
        raise Unreadable(f"it is a lease in the dialect {found}, and the others are {dialect}")
    token = _text(document, "LeaseToken")
    if not token:
        raise Unreadable("it has no LeaseToken, so no change feed processor wrote it")
    mode = _text(document, "Mode")
    if mode and not dialect.is_java and mode.lower() != _INCREMENTAL:
        raise Unreadable(
            f"it is of the feed mode {mode!r}, and only 'Incremental Feed' can be shared and moved"
        )
    range = _range_in(document, dialect) if dialect.is_by_range else None
    continuation = _text(document, "ContinuationToken")
    etag = None
    if continuation and dialect is Dialect.JAVA_EPK:
        assert range is not None
        etag = etag_of_java_token(continuation, range, of)
    elif continuation:
        etag = plain_etag(continuation)
    return Boundary(
        token=token,
        owner=_text(document, "Owner") or None,
        etag=etag or None,
        range=range,
        stamped_at=_seconds(document),
        document=document,
    )


def new_lease(base: str, dialect: Dialect, token: str, etag: str | None, of: Monitored) -> Document:
    """A lease that nobody owns yet, as the processor itself would make it, but for its stamp."""
    document: dict[str, Any] = {
        "id": lease_id(base, token),
        "LeaseToken": token,
        "ContinuationToken": None,
        "Owner": None,
    }
    if dialect.is_by_range:
        range = range_of(token.lower())
        if range is None:
            raise Unreadable(f"{token!r} is no range of effective partition keys")
        document["version"] = 1
        reach: dict[str, Any] = {"min": range.low, "max": range.high}
        if dialect.is_java:
            reach |= {"isMinInclusive": True, "isMaxInclusive": False}
        document[dialect._range_field] = {"Range": reach}
    elif not dialect.is_java:
        document["version"] = 0
    if not dialect.is_java:
        document["properties"] = {}
    return with_etag(document, dialect, etag, of)


def with_owner(document: Document, owner: str | None) -> Document:
    return {**document, "Owner": owner}


def with_etag(document: Document, dialect: Dialect, etag: str | None, of: Monitored) -> Document:
    """The lease after reading up to an ETag; None where nothing was read."""
    if etag is None or dialect is not Dialect.JAVA_EPK:
        return {**document, "ContinuationToken": etag}
    range = _range_in(document, dialect)
    before = _text(document, "ContinuationToken") or None
    return {**document, "ContinuationToken": java_token(etag, range, of, before)}


def stamped(document: Document, now: float) -> Document:
    """With the time of its renewal, which the others judge its owner by."""
    at = datetime.fromtimestamp(now, UTC)
    return {**document, "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


def dialect_of(document: Document) -> Dialect | None:
    """The dialect that a document shows by itself; None where it could be of two."""
    version = document.get("version")
    if _FEED_RANGE["java"] in document:
        return Dialect.JAVA_EPK
    if version == 1:
        return Dialect.NET_EPK if _FEED_RANGE["net"] in document else None
    if version == 0:
        return Dialect.NET_V0
    if "LeaseToken" in document and "version" not in document:
        return Dialect.JAVA_PK if "properties" not in document else Dialect.NET_V0
    return None


@dataclass(frozen=True, slots=True)
class Found:
    """What a lease container has of a processor."""

    dialect: Dialect | None  # None where it has nothing
    base: str
    leases: tuple[Document, ...]
    is_complete: bool  # its `.info` is there
    strangers: tuple[str, ...] = ()  # names with the same prefix that are of something else


class OtherProcessorError(Exception):
    """What is there is somebody else's; the message says whose and what to do."""


def survey(documents: Iterable[Document], prefix: str, of: Monitored) -> Found:
    """What a processor has in the container, of all documents that begin with its prefix.

    Raises OtherProcessorError where they are of two processors or of two dialects.
    """
    bases = {base_of(of, prefix, dialect): dialect for dialect in Dialect}
    leases: dict[str, list[Document]] = {}
    complete: set[str] = set()
    strangers: list[str] = []
    for document in documents:
        name = str(document.get("id", ""))
        if name.startswith(OURS):
            continue
        base = next((each for each in bases if name.startswith((f"{each}..", f"{each}."))), None)
        if base is None:
            strangers.append(name)
        elif name == f"{base}.info":
            complete.add(base)
        elif name.startswith(f"{base}.."):
            leases.setdefault(base, []).append(document)
    # Java's processor by ranges leaves an `.info` in the names of the other one, too.
    found = sorted(leases)
    if len(found) > 1:
        raise OtherProcessorError(
            f"the lease container has leases of two processors with this prefix: '{found[0]}' and "
            f"'{found[1]}'. Remove those that no longer run. Nothing was overwritten."
        )
    if not found:
        return Found(None, "", (), is_complete=False, strangers=tuple(strangers))
    base = found[0]
    dialects = {kind for each in leases.get(base, ()) if (kind := dialect_of(each)) is not None}
    if len(dialects) > 1:
        names = " and ".join(sorted(dialects))
        raise OtherProcessorError(
            f"the leases of '{base}' are of two dialects, {names}: two kinds of processor have "
            "been there. Stop one, and remove its leases. Nothing was overwritten."
        )
    dialect = next(iter(dialects), None) or (bases[base] if bases[base].has_names else None)
    return Found(dialect, base, tuple(leases.get(base, ())), base in complete, tuple(strangers))


def nothing_of(found: Found, prefix: str, of: Monitored) -> OtherProcessorError:
    """What to say where leases are wanted and there are none of this processor."""
    wanted = base_of(of, prefix, Dialect.NET_EPK)
    if not found.strangers:
        return OtherProcessorError(
            f"the lease container has nothing that begins with '{wanted}'. Check the lease "
            "prefix (the processor's name), the account's host, and the container."
        )
    return OtherProcessorError(
        f"the lease container has documents such as '{found.strangers[0]:.120}', which are of "
        f"another processor or another monitored container, and none that begin with '{wanted}'. "
        "Check the lease prefix and the account's host; where the monitored container was made "
        "anew, its old positions mean nothing. Nothing was overwritten."
    )


def _range_in(document: Document, dialect: Dialect) -> FeedRange:
    feed_range = document.get(dialect._range_field)
    reach = feed_range.get("Range") if isinstance(feed_range, Mapping) else None
    try:
        range = FeedRange(reach["min"], reach["max"]) if reach is not None else None
    except (KeyError, TypeError):
        range = None
    range = range or range_of(_text(document, "LeaseToken").lower())
    if range is None or not isinstance(range.low, str) or not isinstance(range.high, str):
        raise Unreadable("it names no range of effective partition keys")
    return range


def _text(document: Document, field: str) -> str:
    value = document.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable(f"its {field} is no text")
    return value


def _seconds(document: Document) -> float | None:
    text = _text(document, "timestamp")
    if not text:
        return None
    # .NET writes seven digits of a second, and Java up to nine.
    head, dot, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))] if dot else ""
    zone = rest[len(digits) :] if dot else ""
    try:
        at = datetime.fromisoformat(f"{head}.{digits[:6]:0<6}{zone}" if dot else text)
    except ValueError:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
