"""Writes the annotations that make a message an event: its number, its place, its time.

Pure. Rules: the sender's own annotations come first, then the partition key, then the four that
the hub stamps, in the order and the encodings in which the service writes them. The plain event
takes a path of few operations, because it is the one that comes by the million.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from tidegate_amqp.encode import (
    encode_long,
    encode_pairs,
    encode_string,
    encode_symbol,
    encode_timestamp,
)

SEQUENCE_EPOCH_KEY = "x-opt-sequence-number-epoch"
SEQUENCE_KEY = "x-opt-sequence-number"
OFFSET_KEY = "x-opt-offset"
ENQUEUED_KEY = "x-opt-enqueued-time"
PARTITION_KEY = "x-opt-partition-key"

STAMPED = frozenset((SEQUENCE_EPOCH_KEY, SEQUENCE_KEY, OFFSET_KEY, ENQUEUED_KEY))

_I64 = struct.Struct(">q").pack

_NO_EPOCH = b"\x54\xff"
_EPOCH_NAME = encode_symbol(SEQUENCE_EPOCH_KEY)
_SEQUENCE_NAME = encode_symbol(SEQUENCE_KEY)
_OFFSET_NAME = encode_symbol(OFFSET_KEY)
_ENQUEUED_NAME = encode_symbol(ENQUEUED_KEY)
_KEY_NAME = encode_symbol(PARTITION_KEY)

_LAST_EPOCH = encode_symbol("last_enqueued_sequence_number_epoch")
_LAST_SEQUENCE = encode_symbol("last_enqueued_sequence_number")
_LAST_OFFSET = encode_symbol("last_enqueued_offset")
_LAST_TIME = encode_symbol("last_enqueued_time_utc")
_RETRIEVED = encode_symbol("runtime_info_retrieval_time_utc")

# From here on a sequence number takes its eight-byte form, and the stamp has a fixed layout.
_WIDE_SEQUENCE = 128


class Annotated(NamedTuple):
    """An event that brought annotations of its own, or a partition key."""

    own: tuple[tuple[bytes, bytes], ...]
    key: str | None
    rest: bytes


Incoming = bytes | Annotated


def stamp(events: list[Incoming], sequence: int, offset: int, enqueued_ms: int) -> list[bytes]:
    """The events as they are stored, numbered from `sequence` and placed from `offset`."""
    stamped: list[bytes] = []
    append = stamped.append
    tail = _ENQUEUED_NAME + encode_timestamp(enqueued_ms)
    head, middle, fixed, next_width = _layout(offset, len(tail))
    for event in events:
        if type(event) is bytes and sequence >= _WIDE_SEQUENCE:
            if offset >= next_width:
                head, middle, fixed, next_width = _layout(offset, len(tail))
            append(b"".join((head, _I64(sequence), middle, b"%d" % offset, tail, event)))
            offset += (fixed + len(event) + 7) & ~7
        else:
            message = _stamp_one(event, sequence, offset, tail)
            append(message)
            offset += (len(message) + 7) & ~7
        sequence += 1
    return stamped


def _layout(offset: int, tail_size: int) -> tuple[bytes, bytes, int, int]:
    """What stands around a sequence number and an offset of this many digits.

    (before the number, between the two, size of the whole stamp, first offset with more digits)
    """
    digits = len(str(offset))
    middle = _OFFSET_NAME + bytes((0xA1, digits))
    body = _EPOCH_NAME + _NO_EPOCH + _SEQUENCE_NAME + b"\x81"
    size = len(body) + 8 + len(middle) + digits + tail_size
    head = b"\x00\x53\x72" + bytes((0xC1, size + 1, 8)) + body
    return head, middle, len(head) + 8 + len(middle) + digits + tail_size, 10**digits


def _stamp_one(event: Incoming, sequence: int, offset: int, tail: bytes) -> bytes:
    own: tuple[tuple[bytes, bytes], ...] = ()
    key = None
    rest: bytes = event if isinstance(event, bytes) else event.rest
    if isinstance(event, Annotated):
        own, key = event.own, event.key
    pairs = list(own)
    if key is not None:
        pairs.append((_KEY_NAME, encode_string(key)))
    pairs.append((_EPOCH_NAME, _NO_EPOCH))
    pairs.append((_SEQUENCE_NAME, encode_long(sequence)))
    pairs.append((_OFFSET_NAME, encode_string(str(offset))))
    pairs.append((_ENQUEUED_NAME, tail[len(_ENQUEUED_NAME) :]))
    return b"\x00\x53\x72" + encode_pairs(pairs) + rest


def runtime_metrics(
    last_sequence: int, last_offset: int, last_enqueued_ms: int, now_ms: int
) -> bytes:
    """The delivery annotations that tell a reader how far its partition has come."""
    pairs = [
        (_LAST_EPOCH, _NO_EPOCH),
        (_LAST_SEQUENCE, encode_long(last_sequence)),
        (_LAST_OFFSET, encode_string(str(last_offset))),
        (_LAST_TIME, encode_timestamp(last_enqueued_ms)),
        (_RETRIEVED, encode_timestamp(now_ms)),
    ]
    return b"\x00\x53\x71" + encode_pairs(pairs)
