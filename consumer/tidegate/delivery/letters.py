"""Dead letters: an event that the handler could not take, whole, with its place and why. Pure.

Rules: a letter is JSON that people can read; the body is there as bytes, so that what is given
again is what came; the name follows from the place alone, so that writing one twice is one letter.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Protocol
from uuid import UUID

from tidegate.error_text import ERROR_LIMIT, said, trace_of
from tidegate.model import PartitionId, Position
from tidegate.ports import SourceEvent

_TRACE_LIMIT = 8_000
# What JSON ends with that nests too deeply, or has numbers and dates that nothing here can hold.
_TOO_MUCH = (RecursionError, OverflowError)


class LetterError(Exception):
    """A dead letter that cannot be read, or not be written; the message says what and why."""


class WholeEvent(SourceEvent, Protocol):
    """What a letter carries of an event."""

    @property
    def content(self) -> bytes: ...

    @property
    def properties(self) -> Mapping[Any, Any]: ...

    @property
    def system_properties(self) -> Mapping[Any, Any]: ...

    @property
    def partition_key(self) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """See the module. Times are of the wall clock."""

    partition: PartitionId
    position: Position
    enqueued_at: float | None
    partition_key: str | None
    body: bytes
    properties: Mapping[str, Any]
    system_properties: Mapping[str, Any]
    error: str
    trace: str
    attempts: int
    member: str
    put_aside_at: float

    @property
    def id(self) -> str:
        """How people name it: its place."""
        return f"{self.partition}/{self.position.sequence}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an event is put aside."""

    error: str
    trace: str
    attempts: int
    member: str
    at: float

    @classmethod
    def of(cls, error: BaseException, attempts: int, member: str, at: float) -> Failure:
        return cls(said(error), trace_of(error), attempts, member, at)


def letter_of(partition: PartitionId, event: WholeEvent, failure: Failure) -> DeadLetter:
    key = event.partition_key
    # Events of one transaction have one place, and a letter each.
    place = getattr(event, "letter_place", event.position)
    return DeadLetter(
        partition=partition,
        position=place,
        enqueued_at=event.enqueued_at,
        partition_key=None if key is None else key.decode(errors="replace"),
        body=event.content,
        properties=_by_text(event.properties),
        system_properties=_by_text(event.system_properties),
        error=failure.error,
        trace=failure.trace,
        attempts=failure.attempts,
        member=failure.member,
        put_aside_at=failure.at,
    )


def shown(letter: DeadLetter, hide: Callable[[str], str]) -> DeadLetter:
    """What may be written of a letter: without secrets, with the end of a long trace, and with the
    beginning of a long error, which may hold the whole event."""
    trace = hide(letter.trace)[-_TRACE_LIMIT:]
    return replace(letter, error=hide(letter.error)[:ERROR_LIMIT], trace=trace)


def letter_name(partition: PartitionId, sequence: int) -> str:
    """The name under the group's own prefix; names sort by place."""
    return f"{partition}/{sequence:020d}.json"


def encode_letter(letter: DeadLetter) -> bytes:
    content: dict[str, Any] = {
        "partition": letter.partition,
        "offset": letter.position.offset,
        "sequenceNumber": letter.position.sequence,
        "enqueuedTime": _time(letter.enqueued_at),
        "partitionKey": letter.partition_key,
        "error": letter.error,
        "attempts": letter.attempts,
        "member": letter.member,
        "putAsideAt": _time(letter.put_aside_at),
        "properties": _packed(letter.properties),
        "systemProperties": _packed(letter.system_properties),
        "body": base64.b64encode(letter.body).decode(),
        "trace": letter.trace,
    }
    text = _text_of(letter.body)
    if text is not None:
        # For people; what is given again is the body.
        content["text"] = text
    return json.dumps(content, ensure_ascii=False, indent=1).encode(errors="replace")


def decode_letter(stored: bytes) -> DeadLetter:
    try:
        content: Any = json.loads(stored)
        return DeadLetter(
            partition=content["partition"],
            position=Position(content["offset"], int(content["sequenceNumber"])),
            enqueued_at=_seconds(content["enqueuedTime"]),
            partition_key=content["partitionKey"],
            body=base64.b64decode(content["body"], validate=True),
            properties=_unpacked(content["properties"]),
            system_properties=_unpacked(content["systemProperties"]),
            error=content["error"],
            trace=content["trace"],
            attempts=int(content["attempts"]),
            member=content["member"],
            put_aside_at=_seconds(content["putAsideAt"]) or 0.0,
        )
    except (AttributeError, KeyError, TypeError, ValueError, *_TOO_MUCH) as problem:
        raise LetterError(f"this is no dead letter ({type(problem).__name__}: {problem})") from None


def _text_of(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _by_text(found: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        key.decode(errors="replace") if isinstance(key, bytes) else str(key): value
        for key, value in found.items()
    }


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    at = datetime.fromisoformat(text).timestamp()
    if at < 0:
        raise ValueError(f"{text[:40]!r} is before 1970")
    # The last hours of all are a year too late elsewhere: what is read can be written again.
    _time(at)
    return at


def _packed(value: Any) -> Any:
    """JSON for what properties may hold; types that JSON lacks are named."""
    if isinstance(value, Mapping):
        return {str(key): _packed(inner) for key, inner in _by_text(value).items()}
    if isinstance(value, list | tuple):
        return [_packed(inner) for inner in value]
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        text = _text_of(raw)
        return {"$bytes": text} if text is not None else {"$base64": base64.b64encode(raw).decode()}
    if isinstance(value, datetime):
        return {"$time": value.isoformat()}
    if isinstance(value, UUID):
        return {"$uuid": str(value)}
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else {"$number": str(value)}
    return {"$text": str(value)}


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((kind, inner),) = value.items()
        match kind:
            case "$bytes":
                return inner.encode()
            case "$base64":
                return base64.b64decode(inner)
            case "$time":
                return datetime.fromisoformat(inner)
            case "$uuid":
                return UUID(inner)
            case "$number":
                return float(inner)
            case "$text":
                return inner
    return {key: _unpacked(inner) for key, inner in value.items()}
