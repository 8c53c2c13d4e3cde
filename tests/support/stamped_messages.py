"""Messages byte by byte, as the service hands them out."""

from __future__ import annotations

import struct

from tidegate.sources.native.shape import TO_OFFSET, TO_TIME, UP_TO_SEQUENCE
from tidegate_amqp.encode import encode_described

_KEY = b"\xa3\x13x-opt-partition-key\xa1"


def stamped(
    sequence: int, offset: str, at_ms: int, *, key: bytes = b"", more: bytes = b"", pairs: int = 0
) -> bytes:
    """The annotations as the service writes them; `more` are further pairs of the sender's."""
    number = (
        b"\x55" + bytes([sequence]) if sequence < 128 else b"\x81" + struct.pack(">q", sequence)
    )
    inner = more + (_KEY + bytes([len(key)]) + key if key else b"")
    inner += UP_TO_SEQUENCE + number + TO_OFFSET + bytes([len(offset)]) + offset.encode()
    inner += TO_TIME + struct.pack(">q", at_ms)
    count = 8 + (2 if key else 0) + 2 * pairs
    if len(inner) < 255:
        return b"\x00\x53\x72\xc1" + bytes([len(inner) + 1, count]) + inner
    return b"\x00\x53\x72\xd1" + struct.pack(">II", len(inner) + 4, count) + inner


def section(code: int, value: bytes) -> bytes:
    return encode_described(code, value)
