"""Reads what the service's messages hold: the usual shape in place, anything else generically.

Pure. Rules: the specialised readers give None for what is not of their shape, and never a wrong
answer; the general decoder then reads it or says what is wrong.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from tidegate.ports import NotUnderstoodError
from tidegate_amqp import AmqpError, Described
from tidegate_amqp.decode import decode_value
from tidegate_amqp.encode import encode_symbol
from tidegate_amqp.sections import DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, sections

_U32 = struct.Struct(">I").unpack_from
_I64 = struct.Struct(">q").unpack_from

SEQUENCE_KEY = b"x-opt-sequence-number"
OFFSET_KEY = b"x-opt-offset"
ENQUEUED_KEY = b"x-opt-enqueued-time"
PARTITION_KEY = b"x-opt-partition-key"

# What the service writes last into the annotations, as its keys and their types have it: an epoch
# of -1, then the sequence number, the offset and the time.
UP_TO_SEQUENCE = (
    encode_symbol("x-opt-sequence-number-epoch")
    + b"\x54\xff"
    + encode_symbol(SEQUENCE_KEY.decode())
)
TO_OFFSET = encode_symbol(OFFSET_KEY.decode()) + b"\xa1"
TO_TIME = encode_symbol(ENQUEUED_KEY.decode()) + b"\x83"
_SEQUENCE_SKIP, _OFFSET_SKIP, _TIME_SKIP = len(UP_TO_SEQUENCE), len(TO_OFFSET), len(TO_TIME)

_SHORT_DATA = b"\x00\x53\x75\xa0"
_LONG_DATA = b"\x00\x53\x75\xb0"


class Place(NamedTuple):
    """Where an event stands in its partition, and since when, in milliseconds."""

    sequence: int
    offset: str
    enqueued_ms: int | None


def plain_place(payload: bytes) -> Place | None:
    """The place of a message whose annotations end with the four that the service writes.

    A sender's own annotations and the partition key come before them. If one of those holds the
    same bytes, what follows does not end where the annotations end.
    """
    at = 0
    try:
        if payload[2] == DELIVERY_ANNOTATIONS and payload[3] == 0xC1:
            at = 5 + payload[4]
        if payload[at + 2] != MESSAGE_ANNOTATIONS or payload[at + 3] != 0xC1:
            return None
        end = at + 5 + payload[at + 4]
        at = payload.find(UP_TO_SEQUENCE, at + 6, end)
        if at < 0:
            return None
        at += _SEQUENCE_SKIP
        if payload[at] == 0x81:
            sequence, at = _I64(payload, at + 1)[0], at + 9
        elif payload[at] == 0x55 and payload[at + 1] < 0x80:
            sequence, at = payload[at + 1], at + 2
        else:
            return None
        if not payload.startswith(TO_OFFSET, at):
            return None
        start = at + _OFFSET_SKIP + 1
        at = start + payload[start - 1]
        if not payload.startswith(TO_TIME, at) or at + _TIME_SKIP + 8 != end:
            return None
        offset = payload[start:at].decode()
        return Place(sequence, offset, _I64(payload, at + _TIME_SKIP)[0])
    except (IndexError, struct.error, UnicodeDecodeError):
        # Shorter than its shape says: the general decoder tells what is wrong with it.
        return None


def any_place(payload: bytes) -> Place:
    try:
        said = first(decoded(payload), MESSAGE_ANNOTATIONS)
    except AmqpError as error:
        raise NotUnderstoodError(f"an event cannot be decoded: {error}") from error
    sequence, offset = said.get(SEQUENCE_KEY), said.get(OFFSET_KEY)
    if not isinstance(sequence, int) or not isinstance(offset, bytes):
        raise NotUnderstoodError("an event came without its sequence number or its offset")
    try:
        text = offset.decode()
    except UnicodeDecodeError:
        raise NotUnderstoodError("an event came with an offset that is no text") from None
    at = said.get(ENQUEUED_KEY)
    return Place(sequence, text, at if isinstance(at, int) else None)


def plain_content(payload: bytes) -> bytes | None:
    """The body of a message of annotations and one data section."""
    at = 0
    try:
        if payload[2] == DELIVERY_ANNOTATIONS and payload[3] == 0xC1:
            at = 5 + payload[4]
        if payload[at + 2] != MESSAGE_ANNOTATIONS or payload[at + 3] != 0xC1:
            return None
        at += 5 + payload[at + 4]
        if payload.startswith(_SHORT_DATA, at):
            start, size = at + 5, payload[at + 4]
        elif payload.startswith(_LONG_DATA, at):
            start, size = at + 8, _U32(payload, at + 4)[0]
        else:
            return None
    except (IndexError, struct.error):
        return None
    return payload[start:] if start + size == len(payload) else None


def decoded(payload: bytes) -> dict[int, list[Any]]:
    """All values of all sections, by the code of the section."""
    found: dict[int, list[Any]] = {}
    for section in sections(payload):
        value = _as_bytes(decode_value(payload, section.value)[0])
        found.setdefault(section.code, []).append(value)
    return found


def first(found: dict[int, list[Any]], code: int) -> dict[bytes, Any]:
    values = found.get(code)
    return values[0] if values and isinstance(values[0], dict) else {}


def _as_bytes(value: Any) -> Any:
    """Text as the bytes that carried it, as the official SDK gives it."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Described):
        return _as_bytes(value.value)
    if isinstance(value, list):
        return [_as_bytes(item) for item in value]
    if isinstance(value, dict):
        return {_as_bytes(key): _as_bytes(item) for key, item in value.items()}
    return value
