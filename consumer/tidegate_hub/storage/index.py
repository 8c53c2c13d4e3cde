"""The sparse index of a segment, and the sidecar file that keeps it.

Rules: one entry for each block (about 64 KiB of whole batches, or one large batch); a sidecar says
how many bytes of the segment it covers, and a start reads only what comes after them. A sidecar is
never needed: where it is missing or bad, the segment is read instead.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from struct import Struct
from zlib import crc32

from tidegate_hub.storage.block import SPAN_BYTES

SIDECAR_MAGIC = b"TGINDEX1"
_SIDECAR = Struct("<8sI")
_END = Struct("<QQQqQQI")
_COLUMNS = 4


@dataclass(slots=True)
class End:
    """Where a segment ends: all that the next append needs to know."""

    size: int
    next_sequence: int
    next_offset: int
    last_offset: int  # -1 where the partition never had an event
    last_ms: int

    def with_size(self, size: int) -> End:
        """The same place in the log, as a new value, at `size` bytes of a file."""
        return End(size, self.next_sequence, self.next_offset, self.last_offset, self.last_ms)


class SpanIndex:
    """First sequence, first offset, first time and file position of each block."""

    __slots__ = ("offsets", "positions", "sequences", "times")

    def __init__(self) -> None:
        self.sequences = array("Q")
        self.offsets = array("Q")
        self.times = array("Q")
        self.positions = array("Q")

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def cost(self) -> int:
        return 32 * len(self.sequences) + 400

    def begins_block(self, position: int, length: int) -> bool:
        """Whether a batch of `length` bytes at `position` is the first of a new block."""
        return (
            not self.positions
            or length >= SPAN_BYTES
            or position - self.positions[-1] >= SPAN_BYTES
        )

    def add(self, sequence: int, offset: int, ms: int, position: int) -> None:
        """A new block begins here."""
        self.sequences.append(sequence)
        self.offsets.append(offset)
        self.times.append(ms)
        self.positions.append(position)

    def block_of(self, sequence: int) -> int:
        """The number of the block that holds `sequence`."""
        return bisect_right(self.sequences, sequence) - 1

    def block_of_offset(self, offset: int) -> int:
        """The number of the last block that begins at or before `offset`; the first if none."""
        return max(bisect_right(self.offsets, offset) - 1, 0)

    def block_before_time(self, ms: int, inclusive: bool) -> int:
        """The block in which, or right after which, the first batch above (or at) `ms` is."""
        search = bisect_left if inclusive else bisect_right
        return max(search(self.times, ms) - 1, 0)

    def end_of(self, number: int, size: int) -> int:
        """The position after block `number` in a segment of `size` bytes."""
        following = number + 1
        return self.positions[following] if following < len(self.positions) else size

    def _columns(self) -> tuple[array[int], array[int], array[int], array[int]]:
        return self.sequences, self.offsets, self.times, self.positions


def encode_sidecar(first_sequence: int, index: SpanIndex, end: End) -> bytes:
    """The bytes of a sidecar file."""
    checked = _END.pack(
        first_sequence,
        end.size,
        end.next_sequence,
        end.last_offset,
        end.next_offset,
        end.last_ms,
        len(index),
    ) + b"".join(_swapped(column).tobytes() for column in index._columns())
    return _SIDECAR.pack(SIDECAR_MAGIC, crc32(checked)) + checked


def decode_sidecar(data: bytes, first_sequence: int) -> tuple[SpanIndex, End] | None:
    """What a sidecar says, or None where it is not one, is damaged, or is of another segment."""
    if len(data) < _SIDECAR.size + _END.size:
        return None
    magic, crc = _SIDECAR.unpack_from(data)
    checked = data[_SIDECAR.size :]
    if magic != SIDECAR_MAGIC or crc32(checked) != crc:
        return None
    first, size, next_sequence, last_offset, next_offset, last_ms, count = _END.unpack_from(checked)
    if first != first_sequence or len(checked) != _END.size + 8 * _COLUMNS * count:
        return None
    index = SpanIndex()
    at = _END.size
    for column in index._columns():
        column.frombytes(checked[at : at + 8 * count])
        if sys.byteorder == "big":
            column.byteswap()
        at += 8 * count
    return index, End(size, next_sequence, next_offset, last_offset, last_ms)


def _swapped(column: array[int]) -> array[int]:
    if sys.byteorder == "little":
        return column
    swapped = array("Q", column)
    swapped.byteswap()
    return swapped
