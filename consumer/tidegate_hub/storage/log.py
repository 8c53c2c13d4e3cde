"""One partition's events: an append-only run of batches in segments, trimmed from the front.

Rules: an append is on the file before it is anywhere else, and leaves no trace where it fails;
sequence numbers and offsets only grow, also across trimming everything and restarting; times never
go back (an append that is given an earlier time than the one before gets that one's time); under
fsync=always nothing is read before it is flushed, or a power cut could give a sequence number that
a reader has seen to another event; every search is a binary search. One thread uses a log; only
`Store.sync` may run beside it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

from tidegate_hub.storage.batch import HEADER, Batch
from tidegate_hub.storage.block import SPAN_BYTES
from tidegate_hub.storage.errors import SegmentCorrupt, StorageError
from tidegate_hub.storage.scan import HEADER_BYTES
from tidegate_hub.storage.segment import Segment
from tidegate_hub.storage.shared import Shared
from tidegate_hub.storage.start import Start, save_start

_FIRST_SEQUENCE = attrgetter("first_sequence")
_FIRST_OFFSET = attrgetter("first_offset")
_LAST_MS = attrgetter("last_ms")


class PartitionLog:
    """Made by `Store.open_log`; `name` is 'hub/partition', for messages."""

    def __init__(
        self,
        shared: Shared,
        name: str,
        home: Path | None,
        segments: list[Segment],
        start: Start | None,
    ) -> None:
        self.name = name
        self._shared = shared
        self._home = home
        self._segments = segments
        self._active = segments[-1]
        self._latest: Batch | None = None
        if start is None:
            first = segments[0]
            ms = 0 if first.is_empty else first.first_ms()
            start = Start(first.first_sequence, first.first_offset, ms)
        self._start = start
        self._flushed_sequence = self._active.end.next_sequence  # recovery flushes it

    @property
    def first_sequence(self) -> int:
        """The sequence of the oldest event kept; `next_sequence` where none is."""
        return self._start.sequence

    @property
    def first_offset(self) -> int:
        """The offset of the oldest event kept; `next_offset` where none is."""
        return self._start.offset

    @property
    def first_enqueued_ms(self) -> int:
        """The time of the oldest event kept; 0 where none is."""
        return 0 if self.is_empty else self._start.enqueued_ms

    @property
    def next_sequence(self) -> int:
        return self._active.end.next_sequence

    @property
    def readable_sequence(self) -> int:
        """The sequence before which events can be read: `next_sequence`, or what is flushed."""
        if self._shared.flushed_before_read:
            return self._flushed_sequence
        return self._active.end.next_sequence

    @property
    def next_offset(self) -> int:
        return self._active.end.next_offset

    @property
    def last_offset(self) -> int:
        """The offset of the last event ever appended, kept or not; -1 where there was none."""
        return self._active.end.last_offset

    @property
    def last_enqueued_ms(self) -> int:
        """The time of the last event ever appended, kept or not; 0 where there was none."""
        return self._active.end.last_ms

    @property
    def is_empty(self) -> bool:
        return self._start.sequence == self._active.end.next_sequence

    @property
    def size_bytes(self) -> int:
        """The bytes of the events kept, each rounded up to a multiple of 8."""
        return self._active.end.next_offset - self._start.offset

    @property
    def stored_bytes(self) -> int:
        """The size of the segments, headers and trimmed events that are still there included."""
        return sum(segment.end.size for segment in self._segments)

    @property
    def claimed_bytes(self) -> int:
        """The size of the segments, with the one that is appended to as large as it may become."""
        return self.stored_bytes + max(self._shared.segment_bytes - self._active.end.size, 0)

    @property
    def oldest_ended_ms(self) -> int | None:
        """The time of the last event in the oldest sealed segment; None if none is sealed."""
        return self._segments[0].last_ms if len(self._segments) > 1 else None

    def drop_oldest(self) -> None:
        """Let go of the oldest segment, which must be sealed, and of all events in it."""
        self.trim_to(self._segments[1].first_sequence)

    def append(self, messages: list[bytes], enqueued_ms: int) -> Batch:
        """Add events in one batch, already stamped with what `next_sequence` and `next_offset` say.

        Raises `StorageFull`, or another `StorageError`, with the log as it was before. Under
        fsync=always the batch may be acknowledged once a `Store.sync` that began later returned.
        """
        self._shared.dirty.require_sound()
        end = self._active.end
        ms = max(enqueued_ms, end.last_ms)
        batch = Batch.of(messages, end.next_sequence, end.next_offset, ms)
        length = HEADER.size + 4 * len(messages) + len(batch.payload)
        if end.size + length > self._shared.segment_bytes and end.size > HEADER_BYTES:
            self._roll()
            self._shared.rolled()
        was_empty = self.is_empty
        self._active.append(batch)
        if was_empty:
            self._start = Start(batch.first_sequence, batch.first_offset, ms)
        # A large batch is in a block of its own, which the memory budget counts.
        self._latest = batch if length < SPAN_BYTES else None
        if self._shared.flushed_before_read:
            self._shared.dirty.tell(self._set_flushed, batch.next_sequence)
        return batch

    def _set_flushed(self, sequence: int) -> None:
        """From the thread of a sync: everything below `sequence` is on the disk."""
        self._flushed_sequence = sequence

    def _roll(self) -> None:
        """Seal the last segment and begin another. A crash between any two steps loses nothing.

        The old file is flushed before the new one exists, so no power cut leaves a hole.
        """
        old = self._active
        old.finish()
        new = Segment.following(self._shared, self._home, old.end)
        old.seal()
        self._segments.append(new)
        self._active = new

    def batch_at(self, sequence: int) -> Batch | None:
        """The batch that holds `sequence`, or None from `readable_sequence` on.

        A sequence that is trimmed away gives the oldest batch that is kept, without its trimmed
        events. Raises `SegmentCorrupt` where the stored bytes are not what was written.
        """
        sequence = max(sequence, self._start.sequence)
        if sequence >= self.readable_sequence:
            return None
        latest = self._latest
        if latest is None or sequence < latest.first_sequence:
            latest = self._stored_batch_at(sequence)
        return latest.starting_at(self._start.sequence)

    def _stored_batch_at(self, sequence: int) -> Batch:
        at = bisect_right(self._segments, sequence, key=_FIRST_SEQUENCE) - 1
        segment = self._segments[at]
        if sequence >= segment.end.next_sequence:  # only where recovery found a hole
            resume = self._segments[at + 1].first_sequence
            position = segment.end.size
            raise SegmentCorrupt(str(segment.path), position, resume, "events are missing")
        return segment.batch_at(sequence)

    def sequence_after_offset(self, offset: int, inclusive: bool) -> int:
        """The first sequence kept at an offset above (or at) `offset`; else `next_sequence`."""
        if offset >= self.next_offset:
            return self.next_sequence
        if offset < self.first_offset:
            return self.first_sequence
        at = bisect_right(self._segments, offset, key=_FIRST_OFFSET) - 1
        segment = self._segments[at]
        if offset >= segment.end.next_offset:  # only where recovery found a hole
            return self._segments[at + 1].first_sequence
        found = segment.batch_at_offset(offset).sequence_after_offset(offset, inclusive)
        return max(found, self.first_sequence)

    def sequence_at_time(self, ms: int, inclusive: bool) -> int:
        """The first sequence kept with a time above (or at) `ms`; `next_sequence` if none."""
        search = bisect_left if inclusive else bisect_right
        at = search(self._segments, ms, key=_LAST_MS)
        if at == len(self._segments):
            return self.next_sequence
        segment = self._segments[at]
        found = segment.first_sequence
        if not segment.is_empty:
            found = segment.batch_after_time(ms, inclusive).first_sequence
        return max(found, self.first_sequence)

    def trim_to(self, sequence: int) -> None:
        """Let go of all events below `sequence`; segments with nothing else in them are removed.

        They are gone for readers at once, also where the disk refuses its part and this raises.
        """
        sequence = min(sequence, self.next_sequence)
        if sequence <= self.first_sequence:
            return
        self._start = self._start_at(sequence)
        unsaved = _error_of(self._save_start)
        errors = [_error_of(self._roll_if_trimmed), _error_of(self._remove_trimmed)]
        if unsaved is not None:
            self._save_start()  # removing segments may have made the room that it needs
        for error in errors:
            if error is not None:
                raise error

    def _start_at(self, sequence: int) -> Start:
        while sequence < self.next_sequence:
            try:
                batch = self._stored_batch_at(sequence)
            except SegmentCorrupt as error:
                sequence = error.resume_sequence
            else:
                kept = batch.starting_at(sequence)
                return Start(sequence, kept.first_offset, kept.enqueued_ms)
        return Start(self.next_sequence, self.next_offset, 0)

    def _save_start(self) -> None:
        if self._home is not None:
            save_start(self._home, self._start, self._shared.directory)

    def _roll_if_trimmed(self) -> None:
        if self.is_empty and not self._active.is_empty:
            self._roll()

    def _remove_trimmed(self) -> None:
        segments = self._segments
        while len(segments) > 1 and segments[1].first_sequence <= self._start.sequence:
            segments[0].discard()
            del segments[0]
        if self.is_empty:
            self._latest = None

    def close(self) -> None:
        """Keep the index, so that the next start need not read the segment. After a last sync."""
        if not self._active.is_empty:
            self._active.write_sidecar()


def _error_of(step: Callable[[], None]) -> StorageError | None:
    """Take a step of several that must all be tried."""
    try:
        step()
    except StorageError as error:
        return error
    return None
