"""A segment: a stretch of one partition's batches, in one append-only file or, for now, in memory.

Rules: a segment without a file holds all of its blocks, pinned in the memory budget, until it is
spilled; from then on, as with a data directory, every append goes to the file first and blocks
are only a cache of it. Only the last segment of a log is appended to. The index of a sealed
segment is part of the cache too, once a sidecar file has it.
"""

from __future__ import annotations

from pathlib import Path

from tidegate_hub.storage.batch import Batch, encode
from tidegate_hub.storage.block import SPAN_BYTES, Block, LargeBlock, PackedBlock, parse_block
from tidegate_hub.storage.errors import ReadFailed, SegmentCorrupt, StorageError
from tidegate_hub.storage.files import create, read_small, remove, replace
from tidegate_hub.storage.index import End, SpanIndex, decode_sidecar, encode_sidecar
from tidegate_hub.storage.memory import OBJECT_BYTES, Held
from tidegate_hub.storage.scan import HEADER_BYTES, encode_segment_header, scan
from tidegate_hub.storage.shared import Shared

_INDEX = -1  # the number under which the memory budget knows an index


class Segment:
    """Its first sequence and offset, where it ends, and the way to its batches."""

    def __init__(
        self, shared: Shared, path: Path | None, beginning: End, end: End, index: SpanIndex | None
    ) -> None:
        self.first_sequence = beginning.next_sequence
        self.first_offset = beginning.next_offset
        self.end = end
        self.path = path
        self._beginning = beginning
        self._file = "" if path is None else str(path)
        self._shared = shared
        self._index = index
        self._held_index: Held | None = None
        self._blocks: dict[int, Block] = {}
        self._tail: PackedBlock | None = None

    @classmethod
    def following(cls, shared: Shared, home: Path | None, end: End) -> Segment:
        """A new, empty segment that goes on from `end`."""
        beginning = end.with_size(HEADER_BYTES)
        path = None
        if home is not None:
            path = home / f"{end.next_sequence:020d}-{end.next_offset:020d}.seg"
            header = encode_segment_header(beginning)
            create(path, header, durable=shared.durable, directory=shared.directory)
        return cls(shared, path, beginning, end.with_size(HEADER_BYTES), SpanIndex())

    @classmethod
    def first(cls, shared: Shared) -> Segment:
        """The first segment of a log that is only in memory."""
        return cls.following(shared, None, End(0, 0, 0, -1, 0))

    @property
    def is_empty(self) -> bool:
        return self.end.next_sequence == self.first_sequence

    @property
    def last_ms(self) -> int:
        return self.end.last_ms

    # --- writing ---

    def append(self, batch: Batch) -> None:
        """Add a batch, to the file first. Where that fails the segment is as before."""
        encoded = encode(batch)
        length = sum(map(len, encoded))
        if self.path is None:
            tail_cost = self._tail.full_cost if self._tail is not None else 0
            # This may spill any segment, also this one.
            self._shared.memory.make_room(length + OBJECT_BYTES + tail_cost)
        if self.path is not None:
            self._shared.files.append(self._file, self.end.size, encoded)
            if self._shared.durable:
                self._shared.dirty.mark(self._file)
        self._remember(batch, encoded, length)

    def _remember(self, batch: Batch, encoded: tuple[bytes, bytes, bytes], length: int) -> None:
        index, end = self.index(), self.end
        if self._tail is None or index.begins_block(end.size, length):
            self._close_tail()
            number = len(index)
            index.add(batch.first_sequence, batch.first_offset, batch.enqueued_ms, end.size)
            if length >= SPAN_BYTES:
                self._keep(LargeBlock(self, number, batch))
            else:
                self._tail = PackedBlock(self, number)
                self._blocks[number] = self._tail
        if self._tail is not None:
            self._tail.add(batch.first_sequence, encoded)
        end.size += length
        end.next_sequence = batch.next_sequence
        end.next_offset = batch.next_offset
        end.last_offset = batch.last_offset
        end.last_ms = batch.enqueued_ms

    def _close_tail(self) -> None:
        if self._tail is not None:
            self._tail.freeze()
            self._keep(self._tail)
            self._tail = None

    def _keep(self, block: Block) -> None:
        self._blocks[block.number] = block
        if self.path is None:
            self._shared.memory.pin(block)
        else:
            self._shared.memory.hold(block)

    def spill(self) -> None:
        """Write a segment that is only in memory to a temporary file."""
        path = self._shared.new_spill_path()
        header = encode_segment_header(self._beginning)
        directory = str(path.parent)
        create(path, header, durable=False, directory=directory)
        blocks = [self._blocks[number] for number in sorted(self._blocks)]
        parts = [part for block in blocks for part in block.encoded()]
        try:
            self._shared.files.append(str(path), HEADER_BYTES, parts)
        except StorageError:
            self._shared.files.forget(str(path))
            remove(path, directory)
            raise
        self.path, self._file = path, str(path)
        for block in blocks:
            if block is not self._tail:
                self._shared.memory.unpin(block)

    def finish(self) -> None:
        """Before the segment is sealed: its file holds the batches, nothing else, and is flushed.

        Where that fails the segment is as before and can still be appended to.
        """
        if self.path is not None:
            self._shared.files.mend(self._file)
        if self._shared.durable:
            self._shared.dirty.sync_one(self._file)

    def seal(self, has_sidecar: bool = False) -> None:
        """Nothing is appended any more. The caller has finished the file, or found it sealed."""
        self._close_tail()
        if has_sidecar or self.write_sidecar():
            self._hold_index()
        if self.path is not None:
            self._shared.files.forget(self._file)

    def write_sidecar(self) -> bool:
        """Keep the index in a file, so that the next start need not read the segment.

        Not needed for safety: where it cannot be written, the next start reads the segment.
        """
        if self.path is None or not self._shared.persistent:
            return False
        content = encode_sidecar(self.first_sequence, self.index(), self.end)
        try:
            replace(self.sidecar_path, content, durable=False, directory=self._shared.directory)
        except StorageError:
            return False
        return True

    @property
    def sidecar_path(self) -> Path:
        assert self.path is not None
        return self.path.with_suffix(".idx")

    def discard(self) -> None:
        """Forget everything and remove the files."""
        for block in self._blocks.values():
            self._shared.memory.forget(block)
        self._blocks.clear()
        self._tail = None
        if self._held_index is not None:
            self._shared.memory.forget(self._held_index)
        if self.path is not None:
            self._shared.files.forget(self._file)
            remove(self.path, self._shared.directory)
            if self._shared.persistent:
                remove(self.sidecar_path, self._shared.directory)

    # --- reading ---

    def batch_at(self, sequence: int) -> Batch:
        """The batch that holds `sequence`, which must be in this segment."""
        return self._block(self.index().block_of(sequence)).batch_at(sequence)

    def batch_at_offset(self, offset: int) -> Batch:
        """The last batch that begins at or before `offset`; the first one if none does."""
        return self._block(self.index().block_of_offset(offset)).batch_at_offset(offset)

    def batch_after_time(self, ms: int, inclusive: bool) -> Batch:
        """The first batch of a time above (or at) `ms`, of which there must be one."""
        number = self.index().block_before_time(ms, inclusive)
        found = self._block(number).batch_after_time(ms, inclusive)
        if found is None:
            found = self._block(number + 1).batch_after_time(ms, inclusive)
        assert found is not None
        return found

    def first_ms(self) -> int:
        """The time of the first event; the segment must not be empty."""
        return self.index().times[0]

    def index(self) -> SpanIndex:
        """The index, from its sidecar where it was let go; from the segment where that is bad."""
        if self._index is not None:
            if self._held_index is not None:
                self._shared.memory.touch(self._held_index)
            return self._index
        data = read_small(self.sidecar_path)
        decoded = decode_sidecar(data, self.first_sequence) if data is not None else None
        if decoded is not None and decoded[1] == self.end:
            self._index = decoded[0]
        else:
            self._index = self._rebuilt_index()
        index = self._index  # holding it may drop it at once
        self._hold_index()
        return index

    def _rebuilt_index(self) -> SpanIndex:
        """The index from the segment itself. Blocks may be numbered otherwise then."""
        for block in self._blocks.values():
            self._shared.memory.forget(block)
        self._blocks.clear()
        index, reached = SpanIndex(), self._beginning.with_size(HEADER_BYTES)
        flaw = scan(self._read, self.end.size, index, reached)
        if flaw is not None and not len(index):
            resume = self.end.next_sequence
            raise SegmentCorrupt(self._file, reached.size, resume, flaw.value)
        return index

    def _hold_index(self) -> None:
        assert self._index is not None
        self._held_index = Held(self, _INDEX, self._index.cost)
        self._shared.memory.hold(self._held_index)

    def drop(self, number: int) -> None:
        """The memory budget takes back a block, or the index."""
        if number == _INDEX:
            self._index = self._held_index = None
        else:
            del self._blocks[number]

    def _block(self, number: int) -> Block:
        block = self._blocks.get(number)
        if block is not None:
            self._shared.memory.touch(block)
            return block
        index = self.index()
        start, stop = index.positions[number], index.end_of(number, self.end.size)
        after = number + 1
        resume = index.sequences[after] if after < len(index) else self.end.next_sequence
        try:
            data = self._read(start, stop - start)
        except ReadFailed as error:
            raise SegmentCorrupt(self._file, start, resume, str(error)) from error
        if len(data) < stop - start:
            reason = "the file ends too early"
            raise SegmentCorrupt(self._file, start + len(data), resume, reason)
        parsed = parse_block(self, number, data, index.sequences[number])
        if isinstance(parsed, tuple):
            flaw, at = parsed
            raise SegmentCorrupt(self._file, start + at, resume, flaw.value)
        self._keep(parsed)
        return parsed

    def _read(self, position: int, length: int) -> bytes:
        return self._shared.files.read(self._file, position, length)
