"""Turns what a publisher sent into events that can be stamped and stored.

Pure. Rules:
- An event is its message as sent, without a header section; the message annotations are taken
  out, and stamping.py writes them anew.
- Nothing malformed is stored: every section is checked to its last value, because readers decode
  it. The plain event of one data section is checked by its length alone, because it is the one
  that comes by the million.
- A data section may hold null: the JavaScript client sends an event without a body so.
- A delivery is placed as a whole, so the events of one batch keep their order.
- Of a batch only the data sections and the partition key count; its other sections describe it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from tidegate_amqp import DecodeError
from tidegate_amqp.decode import Buffer, check_value, decode_value, skip_value
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    BATCH_FORMAT,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    SEQUENCE,
    VALUE,
    Section,
    sections,
)
from tidegate_hub.stamping import PARTITION_KEY, STAMPED, Annotated, Incoming

_BODIES = frozenset((DATA, SEQUENCE, VALUE))

# How the value of a section may begin: binary, list or map. An amqp-value may be anything.
_BINARY, _LIST, _MAP = b"\xa0\xb0\x40", b"\x45\xc0\xd0", b"\xc1\xd1"
_BEGINNINGS = {
    HEADER: _LIST,
    DELIVERY_ANNOTATIONS: _MAP,
    MESSAGE_ANNOTATIONS: _MAP,
    PROPERTIES: _LIST,
    APPLICATION_PROPERTIES: _MAP,
    DATA: _BINARY,
    SEQUENCE: _LIST,
    FOOTER: _MAP,
}

_LIST8, _SHORT = 0xC0, 128
_U32 = struct.Struct(">I").unpack_from


class Arrival(NamedTuple):
    """What one delivery brought: its events, and the key that places them, if there is one."""

    events: list[Incoming]
    key: str | None


def read_delivery(payload: bytes, message_format: int) -> Arrival:
    """The events of a delivery. Raises DecodeError and then nothing of it is stored."""
    if message_format != BATCH_FORMAT:
        event = _read_event(payload)
        return Arrival([event], event.key if isinstance(event, Annotated) else None)
    messages, key = _split_batch(payload)
    if not messages:
        raise DecodeError("a batch holds no event")
    events = [message if _is_plain(message) else _read_event(message) for message in messages]
    if key is None and isinstance(events[0], Annotated):
        key = events[0].key
    return Arrival(events, key)


def _split_batch(payload: bytes) -> tuple[list[bytes], str | None]:
    messages: list[bytes] = []
    append = messages.append
    key: str | None = None
    index, size = 0, len(payload)
    view = memoryview(payload)
    try:
        while index < size:
            short = payload[index : index + 4]
            if short == b"\x00\x53\x75\xa0":
                start = index + 5
                index = start + payload[index + 4]
            elif short == b"\x00\x53\x75\xb0":
                start = index + 8
                index = start + _U32(payload, index + 4)[0]
            else:
                section = next(sections(view[index:]))
                if section.code in _BODIES:
                    raise DecodeError("the body of a batch is not one of binary data sections")
                if section.code == MESSAGE_ANNOTATIONS:
                    key = _envelope_key(payload[index + section.value : index + section.end])
                index += section.end
                continue
            append(payload[start:index])
    except (IndexError, struct.error) as error:
        raise DecodeError("a batch is cut short") from error
    if index != size:
        raise DecodeError("a batch is cut short")
    return messages, key


def _envelope_key(encoded: bytes) -> str | None:
    annotations, _ = decode_value(encoded)
    if not isinstance(annotations, dict):
        raise DecodeError("the annotations of a batch are not a map")
    key = annotations.get(PARTITION_KEY)
    return key if isinstance(key, str) else None


def _is_plain(message: bytes) -> bool:
    """Whether a message is one data section and nothing else."""
    start = message[:4]
    if start == b"\x00\x53\x75\xa0":
        return len(message) > 4 and len(message) == 5 + message[4]
    if start == b"\x00\x53\x75\xb0":
        return len(message) >= 8 and len(message) == 8 + int(_U32(message, 4)[0])
    return False


def _check(message: Buffer, index: int) -> int:
    """`check_value`, which remembers short lists: most events of a sender have equal properties."""
    head = message[index : index + 2]
    if len(head) == 2 and head[0] == _LIST8 and head[1] <= _SHORT:
        return index + _check_list(bytes(message[index : index + 2 + head[1]]))
    return check_value(message, index)


@lru_cache(maxsize=256)
def _check_list(encoded: bytes) -> int:
    return check_value(encoded, 0)


def _read_event(message: bytes) -> Incoming:
    own: tuple[tuple[bytes, bytes], ...] = ()
    key: str | None = None
    kept: list[Section] = []
    dropped = has_annotations = False
    for section in sections(message, _check):
        if section.code != VALUE and message[section.value] not in _BEGINNINGS[section.code]:
            raise DecodeError(f"a section 0x{section.code:x} is not of the type that it must be")
        if section.code == MESSAGE_ANNOTATIONS:
            if has_annotations:
                raise DecodeError("a message has its annotations twice")
            has_annotations = True
            own, key = _own_annotations(message, section)
            dropped = True
        elif section.code == HEADER:
            dropped = True
        else:
            kept.append(section)
    if not kept and not dropped:
        raise DecodeError("a message is empty")
    if not dropped:
        return message
    rest = b"".join([message[section.start : section.end] for section in kept])
    return Annotated(own, key, rest)


def _own_annotations(
    message: bytes, section: Section
) -> tuple[tuple[tuple[bytes, bytes], ...], str | None]:
    """The sender's annotations as they were encoded, without what the hub stamps itself."""
    annotations, _ = decode_value(message, section.value)
    key = annotations.get(PARTITION_KEY)
    own = [
        pair
        for name, pair in zip(annotations, _raw_pairs(message, section), strict=True)
        if name not in STAMPED and name != PARTITION_KEY
    ]
    return tuple(own), key if isinstance(key, str) else None


def _raw_pairs(message: bytes, section: Section) -> list[tuple[bytes, bytes]]:
    index = section.value + (3 if message[section.value] == 0xC1 else 9)
    pairs = []
    while index < section.end:
        middle = skip_value(message, index)
        end = skip_value(message, middle)
        pairs.append((message[index:middle], message[middle:end]))
        index = end
    names = [decode_value(name)[0] for name, _ in pairs]
    if len(set(names)) != len(names):
        raise DecodeError("the message annotations name a key twice")
    return pairs
