"""Reads the transfer performative in place: the one frame that comes once an event.

The shape that all known peers send is read field by field without building a list; anything else
goes through the general decoder and gives the same result.
"""

from __future__ import annotations

import struct

from .errors import DecodeError
from .performatives import Transfer, decode_performative

_U32 = struct.Struct(">I").unpack_from

# Fields after `more` that hold only these change nothing: null, null or false, any flag.
_NULL = b"\x40"
_UNSET = b"\x40\x42"
_FLAG = b"\x40\x41\x42"

TransferHead = tuple[int, int | None, int | None, bool | None, bool, bool, int]


def read_transfer(buffer: bytes, start: int, end: int) -> TransferHead:
    """(handle, delivery id, message format, settled, more, aborted, start of the payload)"""
    head = _read_usual(buffer, start, end)
    if head is not None:
        return head
    performative, payload = decode_performative(buffer, start, end)
    if not isinstance(performative, Transfer):
        raise DecodeError("expected a transfer")
    return transfer_head(performative, payload)


def transfer_head(performative: Transfer, payload: int) -> TransferHead:
    return (
        performative.handle,
        performative.delivery_id,
        performative.message_format,
        performative.settled,
        performative.more,
        performative.aborted,
        payload,
    )


def _read_usual(buffer: bytes, start: int, end: int) -> TransferHead | None:
    try:
        code = buffer[start + 3]
        if code == 0xC0:
            count, at, body = buffer[start + 5], start + 6, start + 5 + buffer[start + 4]
        elif code == 0xD0:
            count = _U32(buffer, start + 8)[0]
            at, body = start + 12, start + 8 + _U32(buffer, start + 4)[0]
        else:
            return None
        if body > end or not 6 <= count <= 11:
            return None
        handle, at = _uint(buffer, at)
        delivery_id, at = _uint(buffer, at)
        at = _after_tag(buffer, at)
        message_format, at = _uint(buffer, at)
        settled, more = buffer[at], buffer[at + 1]
        at += 2
        if at + count - 6 != body or handle is None:
            return None
        # Settle mode and state; resume and aborted; batchable, which may be true as well.
        rest = buffer[at:body]
        if rest[:2].strip(_NULL) or rest[2:4].strip(_UNSET) or rest[4:].strip(_FLAG):
            return None
        if settled not in _FLAGS or more not in _FLAGS:
            return None
    except (IndexError, struct.error, TypeError):
        return None
    return handle, delivery_id, message_format, _FLAGS[settled], bool(_FLAGS[more]), False, body


_FLAGS = {0x40: None, 0x41: True, 0x42: False}


def _after_tag(buffer: bytes, at: int) -> int:
    code = buffer[at]
    if code == 0xA0:
        return at + 2 + buffer[at + 1]
    if code == 0x40:
        return at + 1
    raise TypeError("not a short tag")


def _uint(buffer: bytes, at: int) -> tuple[int | None, int]:
    code = buffer[at]
    if code == 0x70:
        return _U32(buffer, at + 1)[0], at + 5
    if code == 0x52:
        return buffer[at + 1], at + 2
    if code == 0x43:
        return 0, at + 1
    if code == 0x40:
        return None, at + 1
    raise TypeError("not a uint")
