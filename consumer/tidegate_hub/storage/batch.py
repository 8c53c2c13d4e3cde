"""A run of events that were appended together, and the bytes that stand for it on disk.

Rules: all numbers on disk are little-endian; one CRC-32 covers everything of a batch after the
CRC itself, so no part of a header is believed before the whole batch was checked.

    magic 4s | crc u32 | count u32 | payload length u32
    first sequence u64 | first offset u64 | next offset u64 | enqueued ms u64
    end of each event within the payload, u32 each
    payload

The offset of an event is derived, never stored: the offset of the one before plus that one's
length, rounded up to a multiple of 8.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from struct import Struct
from zlib import crc32

MAGIC = b"TGB1"
HEADER = Struct("<4sIIIQQQQ")
CHECKED_FROM = 8  # magic and crc are not under the crc
FIRST_OFFSET_AT = 24
ENQUEUED_AT = 40
MAX_PAYLOAD_BYTES = 1 << 30
_CHECKED = Struct("<IIQQQQ")
_PREFIX = Struct("<4sI")
_LENGTHS = Struct("<II")


@dataclass(frozen=True, slots=True)
class Batch:
    """Event i is `payload[ends[i-1]:ends[i]]` and has sequence number `first_sequence + i`."""

    first_sequence: int
    first_offset: int
    enqueued_ms: int
    ends: Sequence[int]
    payload: bytes
    next_offset: int

    @classmethod
    def of(
        cls, messages: list[bytes], first_sequence: int, first_offset: int, enqueued_ms: int
    ) -> Batch:
        """The batch of these messages, none of which may be empty."""
        lengths = list(map(len, messages))
        payload = b"".join(messages)
        if not lengths or not all(messages):
            raise ValueError("a batch needs at least one message, and no message may be empty")
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise ValueError(f"a batch may hold {MAX_PAYLOAD_BYTES} bytes, not {len(payload)}")
        padding = sum([-length & 7 for length in lengths])
        return cls(
            first_sequence,
            first_offset,
            enqueued_ms,
            array("I", accumulate(lengths)),
            payload,
            first_offset + len(payload) + padding,
        )

    @property
    def count(self) -> int:
        return len(self.ends)

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + len(self.ends) - 1

    @property
    def next_sequence(self) -> int:
        return self.first_sequence + len(self.ends)

    @property
    def last_offset(self) -> int:
        start = self.ends[-2] if len(self.ends) > 1 else 0
        return self.next_offset - aligned(self.ends[-1] - start)

    def offset_of(self, i: int) -> int:
        """The offset of event `i`; costs a step for each event before it."""
        offset, start = self.first_offset, 0
        for end in self.ends[:i]:
            offset += aligned(end - start)
            start = end
        return offset

    def event(self, i: int) -> bytes:
        """The encoded message of event `i`."""
        return self.payload[self.ends[i - 1] if i else 0 : self.ends[i]]

    def starting_at(self, sequence: int) -> Batch:
        """The part of this batch from `sequence` on: what is left after trimming into it."""
        skipped = sequence - self.first_sequence
        if skipped <= 0:
            return self
        cut = self.ends[skipped - 1]
        ends = array("I", [end - cut for end in self.ends[skipped:]])
        return Batch(
            sequence,
            self.offset_of(skipped),
            self.enqueued_ms,
            ends,
            self.payload[cut:],
            self.next_offset,
        )

    def sequence_after_offset(self, offset: int, inclusive: bool) -> int:
        """The first sequence with an offset above (or at) `offset`; `next_sequence` if none."""
        here, start = self.first_offset, 0
        for i, end in enumerate(self.ends):
            if here > offset or (inclusive and here == offset):
                return self.first_sequence + i
            here += aligned(end - start)
            start = end
        return self.next_sequence


def aligned(length: int) -> int:
    """A length rounded up to a multiple of 8: what an event adds to the offset."""
    return (length + 7) & ~7


def encode(batch: Batch) -> tuple[bytes, bytes, bytes]:
    """Header, ends and payload, to be written one after the other. The payload is not copied."""
    ends = little_endian_bytes(batch.ends)
    checked = _CHECKED.pack(
        len(batch.ends),
        len(batch.payload),
        batch.first_sequence,
        batch.first_offset,
        batch.next_offset,
        batch.enqueued_ms,
    )
    crc = crc32(batch.payload, crc32(ends, crc32(checked)))
    return _PREFIX.pack(MAGIC, crc) + checked, ends, batch.payload


def little_endian_bytes(ends: Sequence[int]) -> bytes:
    """Ends as they are stored, whatever sequence they are held in."""
    values = ends if isinstance(ends, array) else array("I", ends)
    if sys.byteorder == "big":
        values = array("I", values)
        values.byteswap()
    return values.tobytes()


class Flaw(Enum):
    """Why bytes are not a batch, in the words of the recovery report."""

    INCOMPLETE = "incomplete batch"
    NOT_A_BATCH = "not a batch"
    CHECKSUM = "checksum does not match"
    OUT_OF_ORDER = "batch out of order"


# A checked batch: the bytes that it takes, its events, first offset, next offset and enqueued ms.
# A plain tuple, because recovery makes one for each batch.
Head = tuple[int, int, int, int, int]


def check(data: memoryview, at: int, sequence: int) -> Head | Flaw:
    """The batch at `at`, believed only if it is complete, sound and begins with `sequence`."""
    if len(data) - at < HEADER.size:
        return Flaw.INCOMPLETE
    magic, crc, count, size, first, offset, next_offset, ms = HEADER.unpack_from(data, at)
    if magic != MAGIC:
        return Flaw.NOT_A_BATCH
    length = HEADER.size + 4 * count + size
    if at + length > len(data):
        return Flaw.INCOMPLETE
    if crc32(data[at + CHECKED_FROM : at + length]) != crc:
        return Flaw.CHECKSUM
    if first != sequence or not count:
        return Flaw.OUT_OF_ORDER
    return length, count, offset, next_offset, ms


def claimed_length(data: memoryview, at: int) -> int:
    """The bytes that the unchecked header at `at` claims: good only for reading on."""
    if len(data) - at < HEADER.size:
        return HEADER.size
    count, size = _LENGTHS.unpack_from(data, at + CHECKED_FROM)
    return HEADER.size + 4 * int(count) + int(size)


def decode(data: bytes | bytearray, at: int) -> Batch:
    """The batch at `at` of bytes that were checked before."""
    _, _, count, size, first, offset, next_offset, ms = HEADER.unpack_from(data, at)
    ends_at = at + HEADER.size
    payload_at = ends_at + 4 * count
    ends = array("I")
    ends.frombytes(data[ends_at:payload_at])
    if sys.byteorder == "big":
        ends.byteswap()
    payload = bytes(memoryview(data)[payload_at : payload_at + size])
    return Batch(first, offset, ms, ends, payload, next_offset)
