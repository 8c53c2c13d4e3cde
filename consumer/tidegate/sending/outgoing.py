"""An event to send, and how it is written as a line of text. Pure.

Rules: a plain line is the body of an event, as it is. A JSON line is an object whose `body` is the
event: a text is taken as it is, anything else is written as JSON. `key`, `partition` and
`properties` are optional, and any other field is an error, for it would be lost. An error names
the line and the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

# What application properties can carry to every reader.
Value = str | int | float | bool
_FIELDS = ("body", "key", "partition", "properties")


class LineError(ValueError):
    """A line that is no event; the message names it and says what is wrong."""


class Outgoing(NamedTuple):
    """An event to send. A key or a partition, or neither: then the service chooses."""

    body: bytes
    key: str = ""
    partition: str = ""
    properties: Mapping[str, Value] | None = None


def plain(line: bytes) -> Outgoing:
    """The event that a plain line is."""
    return Outgoing(line)


def from_json(line: bytes, number: int) -> Outgoing:
    """The event that a JSON line describes. Raises LineError."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise LineError(
            f"line {number} is not JSON: {error}. Without --json it is sent as it is."
        ) from None
    if not isinstance(found, dict) or "body" not in found:
        raise LineError(
            f'line {number} is not an object with a body: write {{"body": ..., "key": "..."}}'
        )
    unknown = sorted(found.keys() - set(_FIELDS))
    if unknown:
        raise LineError(
            f"line {number} has a field {unknown[0]!r}: known are {', '.join(_FIELDS)}. What "
            "belongs to the event goes into its body or its properties."
        )
    key, partition = _text(found, "key", number), _text(found, "partition", number)
    if key and partition:
        raise LineError(f"line {number} has a key and a partition: write one of them")
    return Outgoing(_body(found["body"]), key, partition, _properties(found, number))


def _body(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _text(found: Mapping[str, Any], field: str, number: int) -> str:
    value = found.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise LineError(f"line {number}: {field} is not a text: {value!r:.60}")
    return value


def _properties(found: Mapping[str, Any], number: int) -> Mapping[str, Value] | None:
    value = found.get("properties")
    if value is None:
        return None
    if not isinstance(value, dict):
        raise LineError(f"line {number}: properties is not an object")
    for name, each in value.items():
        if not isinstance(each, str | int | float | bool):
            raise LineError(
                f"line {number}: property {name!r} is {each!r:.60}: write a text, a number, true "
                "or false"
            )
        if isinstance(each, int) and not -(1 << 63) <= each < 1 << 63:
            raise LineError(f"line {number}: property {name!r} does not fit 64 bits")
    return value or None
