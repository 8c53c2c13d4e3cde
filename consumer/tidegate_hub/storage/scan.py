"""Reading a segment file from some place on, to find where its sound part ends.

Rules: the file is read a mebibyte at a time, whatever its headers claim; nothing is believed that
was not checked; what comes after the first unsound byte is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from zlib import crc32

from tidegate_hub.storage.batch import HEADER, Flaw, aligned, check, claimed_length
from tidegate_hub.storage.index import End, SpanIndex

WINDOW_BYTES = 1 << 20
SEGMENT_MAGIC = b"TGSEGMT1"
_HEADER = Struct("<8sI")
_BEGINNING = Struct("<QQqQ")
_END = Struct("<I")
HEADER_BYTES = _HEADER.size + _BEGINNING.size

Read = Callable[[int, int], bytes]


def encode_segment_header(end: End) -> bytes:
    """The header of the segment that follows `end`: it keeps what an empty log must remember."""
    checked = _BEGINNING.pack(end.next_sequence, end.next_offset, end.last_offset, end.last_ms)
    return _HEADER.pack(SEGMENT_MAGIC, crc32(checked)) + checked


def decode_segment_header(data: bytes) -> End | None:
    """Where a segment begins, or None where this is not the sound header of one."""
    if len(data) < HEADER_BYTES:
        return None
    magic, crc = _HEADER.unpack_from(data)
    if magic != SEGMENT_MAGIC or crc32(data[_HEADER.size : HEADER_BYTES]) != crc:
        return None
    sequence, offset, last_offset, last_ms = _BEGINNING.unpack_from(data, _HEADER.size)
    return End(HEADER_BYTES, sequence, offset, last_offset, last_ms)


def scan(read: Read, file_size: int, index: SpanIndex, end: End) -> Flaw | None:
    """Go on from `end` to the end of the file, moving `end` and filling `index` on the way.

    Returns why it stopped before the end of the file, if it did.
    """
    base, window = end.size, memoryview(b"")
    flaw: Flaw | None = None
    while end.size < file_size:
        flaw = _scan_window(window, base, index, end)
        if flaw is not Flaw.INCOMPLETE or base + len(window) >= file_size:
            break
        needed = claimed_length(window, end.size - base)
        have = base + len(window) - end.size
        if end.size + needed > file_size:
            break
        base, window = end.size, memoryview(read(end.size, max(needed, WINDOW_BYTES)))
        if len(window) <= have:
            break  # the file is shorter than it was said to be
    return flaw if end.size < file_size else None


def _scan_window(window: memoryview, base: int, index: SpanIndex, end: End) -> Flaw:
    """Take in all the sound batches of what was read; every window ends with a flaw of some kind.

    A crash can leave a hundred thousand small batches to look at, so this keeps to few steps each.
    """
    at, sequence, offset, ms = end.size - base, end.next_sequence, end.next_offset, end.last_ms
    last_stop = last_events = 0
    while True:
        head = check(window, at, sequence)
        if isinstance(head, Flaw):
            break
        length, events, first_offset, next_offset, enqueued_ms = head
        if first_offset != offset:
            head = Flaw.OUT_OF_ORDER
            break
        if index.begins_block(base + at, length):
            index.add(sequence, offset, enqueued_ms, base + at)
        last_stop = at + HEADER.size + 4 * events
        last_events = events
        at += length
        sequence += events
        offset, ms = next_offset, enqueued_ms
    if last_stop:
        end.size, end.next_sequence, end.next_offset, end.last_ms = base + at, sequence, offset, ms
        end.last_offset = offset - aligned(_last_length(window, last_stop, last_events))
    return head


def _last_length(window: memoryview, ends_stop: int, events: int) -> int:
    """The length of the last event of a batch, from its last two ends."""
    (stop,) = _END.unpack_from(window, ends_stop - 4)
    (start,) = _END.unpack_from(window, ends_stop - 8) if events > 1 else (0,)
    return int(stop) - int(start)
