"""The continuation tokens that leases hold: the server's ETag as it is, or Java's text around it.

Rules:
- Pure. The ETag is the source's own text, quotes and all, and is never looked into.
- A token is refused, and nothing is overwritten, where it is of another container, of another feed
  mode, or of more than the one range of its lease.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.ledger.packing import Unreadable
from tidegate.sources.cosmos.ranges import FeedRange

INCREMENTAL = "INCREMENTAL"

_START: Mapping[str, Any] = {"Type": "BEGINNING"}


def named(range: FeedRange) -> str:
    """A range as leases name it."""
    return f"{range.low}-{range.high}"


@dataclass(frozen=True, slots=True)
class Monitored:
    """The monitored container, as leases and tokens name it."""

    host: str  # of the account, without its port
    database: str
    container: str
    database_rid: str
    container_rid: str

    @property
    def link(self) -> str:
        """What Java's tokens have for the container's id."""
        return f"/dbs/{self.database}/colls/{self.container}"


def java_token(etag: str, range: FeedRange, of: Monitored, before: str | None = None) -> str:
    """Java's token for a range that is read up to an ETag; the one before it gives the rest."""
    token: dict[str, Any] = {"V": 1, "Rid": of.link, "Mode": INCREMENTAL, "StartFrom": _START}
    if before:
        kept = _opened(before)
        token |= {key: value for key, value in kept.items() if key != "Continuation"}
    reach = {"min": range.low, "max": range.high}
    token["Continuation"] = {
        "V": 1,
        "Rid": token["Rid"],
        "Continuation": [{"token": etag, "range": reach}],
        "Range": reach,
    }
    return base64.b64encode(json.dumps(token, separators=(",", ":")).encode()).decode()


def etag_of_java_token(token: str, range: FeedRange, of: Monitored) -> str | None:
    """The ETag in Java's token; None where it says only where reading starts."""
    opened = _opened(token)
    found_rid, found_mode = opened.get("Rid"), opened.get("Mode", INCREMENTAL)
    if found_rid not in (of.link, of.container_rid):
        raise Unreadable(
            f"its continuation token is of the container {found_rid!r}, and the monitored one is "
            f"{of.link} with the id {of.container_rid}: it was made anew since, or is another one"
        )
    if found_mode != INCREMENTAL:
        raise Unreadable(
            f"its continuation token is of the feed mode {found_mode!r}, and only {INCREMENTAL} "
            "can be shared and moved"
        )
    inner = opened.get("Continuation")
    if inner is None:
        return None
    entries = inner.get("Continuation") if isinstance(inner, dict) else None
    if not isinstance(entries, list) or not entries:
        raise Unreadable("its continuation token has no ranges")
    if len(entries) > 1:
        raise Unreadable(
            f"its continuation token covers {len(entries)} ranges: a split is under way. Let the "
            "processor that wrote it run until it has made a lease for each"
        )
    return _etag_of(entries[0], range)


def _etag_of(entry: Any, range: FeedRange) -> str | None:
    try:
        reach = FeedRange(entry["range"]["min"], entry["range"]["max"])
        etag = entry["token"]
    except (KeyError, TypeError):
        raise Unreadable("its continuation token has a range without bounds or token") from None
    if reach != range:
        raise Unreadable(
            f"its continuation token is of the range {named(reach)}, and the lease of "
            f"{named(range)}"
        )
    if etag is not None and not isinstance(etag, str):
        raise Unreadable("its continuation token has a token that is no text")
    return etag if etag is None else plain_etag(etag)


def _opened(token: str) -> dict[str, Any]:
    try:
        opened = json.loads(base64.b64decode(token, validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise Unreadable("its continuation token is none that Java's processor writes") from None
    if not isinstance(opened, dict):
        raise Unreadable("its continuation token is none that Java's processor writes")
    return opened


def plain_etag(token: str) -> str:
    """The ETag of a lease that holds it as it is."""
    if len(token) > 1024 or not token.isprintable() or token.startswith("ey"):
        raise Unreadable("its continuation token is no ETag of a change feed")
    return token
