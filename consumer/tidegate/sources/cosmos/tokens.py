"""What the SDK is asked with for one feed, and what its answer says. Pure.

Rules:
- One feed a request, so that the SDK's own composite tokens are made here and read here, and
  nowhere kept. Its token of a reading that began at a date cannot be read back by it: with a token
  of the service, all is `Beginning`, which the service's token goes before.
- The SDK's answer holds a token for each range that it came to know. Where that is not exactly the
  range that was asked, the range was split, and the page is not to be counted: it may hold what is
  not of this range.
- Whose an answer is stands in its items: the id of each begins with its container's. The SDK itself
  reads on, with the tokens of the container that was, where another one has taken its name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.places import Feed
from tidegate.sources.cosmos.ranges import FeedRange, range_of_wire

LATEST, ALL = "LatestVersion", "AllVersionsAndDeletes"
# Of the bytes of an id so many are the container's, and come first.
_CONTAINER_BYTES = 8


class AnswerError(ValueError):
    """The SDK's answer is not understood; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a response says beside its items."""

    # The service's token of each range; one, where nothing was split.
    tokens: Mapping[FeedRange, str | None]
    # The last LSN of the range of the service, by its session token.
    lsn: int | None
    charge: float
    bytes: int | None
    # The id of the container that answered, as the headers have it; '' where they have none.
    rid: str = ""


def question(feed: Feed, rid: str, mode: str) -> dict[str, Any]:
    """The SDK's arguments for what comes next in a feed."""
    wire = feed.range.wire
    if feed.token is not None:
        return {"continuation": _encoded(wire, feed.token, rid, mode)}
    # With a mode there is no page without a start, and the SDK refuses a start with some modes.
    asked: dict[str, Any] = {"feed_range": {"Range": wire}, "mode": mode}
    if feed.since is not None:
        return {**asked, "start_time": datetime.fromtimestamp(feed.since, UTC)}
    return {**asked, "start_time": "Beginning"}


def question_for_now(range: FeedRange, mode: str) -> dict[str, Any]:
    """The same for what comes from now on."""
    return {"feed_range": {"Range": range.wire}, "mode": mode, "start_time": "Now"}


def _encoded(wire: Mapping[str, Any], token: str, rid: str, mode: str) -> str:
    state = {
        "v": "v2",
        "containerRid": rid,
        "mode": mode,
        "startFrom": {"Type": "Beginning"},
        "continuation": {
            "v": "v2",
            "rid": rid,
            "continuation": [{"token": token, "range": wire}],
            "Range": wire,
        },
    }
    return base64.b64encode(json.dumps(state).encode()).decode()


def answer_of(headers: Mapping[str, Any]) -> Answer:
    """What the headers of a response say once the SDK is done with it. Raises AnswerError."""
    return Answer(
        _tokens(str(headers.get("etag", ""))),
        session_lsn(str(headers.get("x-ms-session-token", ""))),
        charge_of(headers),
        _whole(headers.get("content-length")),
        _container_of(headers.get("x-ms-content-path")),
    )


def owner_of(changes: Iterable[Change]) -> str:
    """The id of the container that a page's items are of; '' where none of them says it."""
    for change in changes:
        for item in (change.current, change.previous or {}):
            found = _container_of(item.get("_rid"))
            if found:
                return found
    return ""


def _container_of(rid: Any) -> str:
    """The id of the container in that of something within it; '' where there is none."""
    try:
        raw = base64.b64decode(str(rid).replace("-", "/"), validate=True)
    except ValueError:
        return ""
    if len(raw) < _CONTAINER_BYTES:
        return ""
    return base64.b64encode(raw[:_CONTAINER_BYTES]).decode().replace("/", "-")


def charge_of(headers: Mapping[str, Any]) -> float:
    """Request units of one response."""
    try:
        return float(headers.get("x-ms-request-charge", 0.0))
    except ValueError:
        return 0.0


def _tokens(etag: str) -> dict[FeedRange, str | None]:
    try:
        state = json.loads(base64.b64decode(etag, validate=True))
        parts = state["continuation"]["continuation"]
        return {range_of_wire(part["range"]): part["token"] for part in parts}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise AnswerError(
            f"the SDK's continuation {etag[:80]!r} is not of the form that is known here: pin "
            "azure-cosmos to the version in requirements/core.lock"
        ) from None


def session_lsn(text: str) -> int | None:
    """The global LSN of a session token, such as `0:-1#94` or `0:1#94#1=20`."""
    # Of several partitions the last is the newest.
    last = text.rpartition(",")[2].partition(":")[2]
    parts = last.split("#")
    # Version, global LSN, LSNs of regions; the oldest form is the LSN alone.
    number = parts[1] if len(parts) > 1 else parts[0]
    return _whole(number)


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
