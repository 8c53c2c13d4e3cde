"""An event as it came: decoded where it is looked at, and no further.

Rules:
- Nothing is decoded before somebody asks. The annotations that the service itself writes have one
  shape in nearly all messages; that one is read in place, anything else by the general decoder.
- What handlers see has the names and the forms of the official SDK's EventData: symbols and
  strings of properties and annotations are bytes, the body of data sections is an iterator. So a
  handler does not see which transport brought an event. `content` is ours: the body as bytes.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tidegate.model import Position
from tidegate.sources.native.shape import (
    PARTITION_KEY,
    Place,
    any_place,
    decoded,
    first,
    plain_content,
    plain_place,
)
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    DELIVERY_ANNOTATIONS,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    SEQUENCE,
    VALUE,
)

# The fields of the properties section, by the names that system properties have for them.
_PROPERTY_NAMES = (
    *(b"message-id", b"user-id", b"to", b"subject", b"reply-to", b"correlation-id"),
    *(b"content-type", b"content-encoding", b"absolute-expiry-time", b"creation-time"),
    *(b"group-id", b"group-sequence", b"reply-to-group-id"),
)


class Event:
    """One event of a partition."""

    __slots__ = ("_parts", "_payload", "_place")

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._place: Place | None = None
        self._parts: dict[int, list[Any]] | None = None

    @property
    def payload(self) -> bytes:
        """The whole message."""
        return self._payload

    def as_received(self) -> Event:
        """The event without what anybody changed in its decoded parts."""
        event = Event(self._payload)
        event._place = self._place
        return event

    # --- where it stands

    @property
    def place(self) -> Place:
        place = self._place
        if place is None:
            place = self._place = plain_place(self._payload) or any_place(self._payload)
        return place

    @property
    def position(self) -> Position:
        place = self.place
        return Position(place.offset, place.sequence)

    @property
    def enqueued_at(self) -> float | None:
        ms = self.place.enqueued_ms
        return None if ms is None else ms / 1000

    @property
    def sequence_number(self) -> int:
        return self.place.sequence

    @property
    def offset(self) -> str:
        return self.place.offset

    @property
    def enqueued_time(self) -> datetime | None:
        ms = self.place.enqueued_ms
        return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)

    @property
    def partition_key(self) -> bytes | None:
        key = self._annotations.get(PARTITION_KEY)
        return key if isinstance(key, bytes) else None

    # --- what it says

    @property
    def size(self) -> int:
        """Bytes of the whole message."""
        return len(self._payload)

    @property
    def content(self) -> bytes:
        """The body of an event of data sections, in one piece."""
        found = plain_content(self._payload)
        if found is not None:
            return found
        # A data section of another kind than bytes is a mistake, and must not stop the others: it
        # has no content, as a value section has none, and `body` shows it.
        return b"".join(part for part in self._body_of(DATA) if isinstance(part, bytes))

    @property
    def body(self) -> Any:
        """An iterator over data or sequence sections, or the value of a value section."""
        found = plain_content(self._payload)
        if found is not None:
            return iter((found,))
        for code in (DATA, SEQUENCE):
            if code in self._sections:
                return iter(self._body_of(code))
        values = self._sections.get(VALUE)
        return values[0] if values else None

    def body_as_str(self, encoding: str = "UTF-8") -> str:
        if any(code in self._sections for code in (SEQUENCE, VALUE)):
            body = self.body
            said = [item for part in body for item in part] if SEQUENCE in self._sections else body
            return "" if not said else str(_text(said, encoding))
        return self.content.decode(encoding)

    def body_as_json(self, encoding: str = "UTF-8") -> Any:
        return json.loads(self.body_as_str(encoding))

    @property
    def properties(self) -> dict[bytes, Any]:
        """What the sender said of it."""
        return first(self._sections, APPLICATION_PROPERTIES)

    @property
    def system_properties(self) -> dict[bytes, Any]:
        """The fields of its properties section, and the service's annotations."""
        fields = self._sections.get(PROPERTIES, [[]])[0]
        fields = fields if isinstance(fields, list) else []  # the hub checks it; others may not
        named = zip(_PROPERTY_NAMES, fields, strict=False)
        return {name: value for name, value in named if value} | self._annotations

    @property
    def content_type(self) -> Any:
        return _maybe_text(self.system_properties.get(b"content-type"))

    @property
    def correlation_id(self) -> Any:
        return _maybe_text(self.system_properties.get(b"correlation-id"))

    @property
    def message_id(self) -> Any:
        return _maybe_text(self.system_properties.get(b"message-id"))

    @property
    def last_enqueued(self) -> Place | None:
        """The last event of its partition when this one was sent, where the service says it."""
        said = first(self._sections, DELIVERY_ANNOTATIONS)
        sequence = said.get(b"last_enqueued_sequence_number")
        offset = said.get(b"last_enqueued_offset")
        if not isinstance(sequence, int) or not isinstance(offset, bytes):
            return None
        at = said.get(b"last_enqueued_time_utc")
        return Place(sequence, offset.decode(), at if isinstance(at, int) else None)

    @property
    def _annotations(self) -> dict[bytes, Any]:
        return first(self._sections, MESSAGE_ANNOTATIONS)

    @property
    def _sections(self) -> dict[int, list[Any]]:
        parts = self._parts
        if parts is None:
            parts = self._parts = decoded(self._payload)
        return parts

    def _body_of(self, code: int) -> list[Any]:
        return self._sections.get(code, [])

    def __repr__(self) -> str:
        return f"Event(sequence_number={self.sequence_number}, offset={self.offset!r})"


def _text(value: Any, encoding: str) -> Any:
    if isinstance(value, bytes):
        return value.decode(encoding)
    if isinstance(value, list):
        return [_text(item, encoding) for item in value]
    if isinstance(value, dict):
        return {_text(key, encoding): _text(item, encoding) for key, item in value.items()}
    return value


def _maybe_text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
