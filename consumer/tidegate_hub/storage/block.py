"""Blocks: the unit in which batches are held in memory and read from disk.

A block is a span of a segment, about 64 KiB of whole batches. Rules: a large batch is a block of
its own and is kept as the object it was appended or decoded as; small batches stay in their
encoded bytes, one after the other, with two small arrays to find them, so that ten million single
events cost no object each.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from struct import Struct

from tidegate_hub.storage.batch import (
    ENQUEUED_AT,
    FIRST_OFFSET_AT,
    Batch,
    Flaw,
    check,
    decode,
    encode,
)
from tidegate_hub.storage.memory import OBJECT_BYTES, Held, Owner

SPAN_BYTES = 64 * 1024
_NUMBER = Struct("<Q")


class Block(Held):
    """What every block can answer."""

    __slots__ = ()

    def batch_at(self, sequence: int) -> Batch:
        """The batch that holds `sequence`, which must be within the block."""
        raise NotImplementedError

    def batch_at_offset(self, offset: int) -> Batch:
        """The last batch that begins at or before `offset`; the first one if none does."""
        raise NotImplementedError

    def batch_after_time(self, ms: int, inclusive: bool) -> Batch | None:
        """The first batch of a time above (or at) `ms`."""
        raise NotImplementedError

    def encoded(self) -> Iterable[bytes | bytearray]:
        """The bytes of the block as a segment file has them."""
        raise NotImplementedError


class LargeBlock(Block):
    """One large batch, as an object."""

    __slots__ = ("batch",)

    def __init__(self, owner: Owner, number: int, batch: Batch) -> None:
        super().__init__(owner, number, len(batch.payload) + 4 * batch.count + OBJECT_BYTES)
        self.batch = batch

    def batch_at(self, sequence: int) -> Batch:  # noqa: ARG002 - there is only one
        return self.batch

    def batch_at_offset(self, offset: int) -> Batch:  # noqa: ARG002 - there is only one
        return self.batch

    def batch_after_time(self, ms: int, inclusive: bool) -> Batch | None:
        here = self.batch.enqueued_ms
        return self.batch if here > ms or (inclusive and here == ms) else None

    def encoded(self) -> Iterable[bytes | bytearray]:
        return encode(self.batch)


class PackedBlock(Block):
    """Small batches in their encoded bytes."""

    __slots__ = ("data", "sequences", "starts")

    def __init__(self, owner: Owner, number: int) -> None:
        super().__init__(owner, number, OBJECT_BYTES)
        self.data: bytes | bytearray = bytearray()
        self.starts = array("I")
        self.sequences = array("Q")

    def add(self, sequence: int, encoded: tuple[bytes, bytes, bytes]) -> None:
        """Add a batch to the open block at the end of a segment."""
        assert isinstance(self.data, bytearray)  # only `freeze` makes it bytes
        self.starts.append(len(self.data))
        self.sequences.append(sequence)
        for part in encoded:
            self.data += part

    @property
    def full_cost(self) -> int:
        """What the block costs once it is closed and the memory budget counts it."""
        return OBJECT_BYTES + len(self.data) + 12 * len(self.starts)

    def freeze(self) -> None:
        """No batch is added any more: give back what the bytes had to spare."""
        self.data = bytes(self.data)
        self.cost = self.full_cost

    def batch_at(self, sequence: int) -> Batch:
        return decode(self.data, self.starts[bisect_right(self.sequences, sequence) - 1])

    def batch_at_offset(self, offset: int) -> Batch:
        found = bisect_right(self.starts, offset, key=lambda at: self._number(at + FIRST_OFFSET_AT))
        return decode(self.data, self.starts[max(found - 1, 0)])

    def batch_after_time(self, ms: int, inclusive: bool) -> Batch | None:
        search = bisect_left if inclusive else bisect_right
        found = search(self.starts, ms, key=lambda at: self._number(at + ENQUEUED_AT))
        return decode(self.data, self.starts[found]) if found < len(self.starts) else None

    def encoded(self) -> Iterable[bytes | bytearray]:
        return (self.data,)

    def _number(self, at: int) -> int:
        return int(_NUMBER.unpack_from(self.data, at)[0])


def parse_block(owner: Owner, number: int, data: bytes, sequence: int) -> Block | tuple[Flaw, int]:
    """The block of these bytes, which must be sound to the last one; else the flaw and its place.

    `sequence` is the first one of the block, from the index.
    """
    view = memoryview(data)
    block = PackedBlock(owner, number)
    at = 0
    while at < len(data):
        head = check(view, at, sequence)
        if isinstance(head, Flaw):
            return head, at
        length, events, *_ = head
        if length == len(data):
            return LargeBlock(owner, number, decode(data, 0))
        block.starts.append(at)
        block.sequences.append(sequence)
        at += length
        sequence += events
    block.data = data
    block.freeze()
    return block
