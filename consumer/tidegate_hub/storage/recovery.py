"""Opening a partition's directory after any kind of end, and saying in words what was cut.

Rules: only the last segment is ever cut, at its first incomplete or unsound batch, because only
there can a crash have left one; a sealed segment with unsound bytes is kept, and reading those
bytes raises. A sidecar is believed for the bytes that it covers; what follows is read. A sidecar
that does not fit its segment is removed before anything is appended.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tidegate_hub.storage.batch import Flaw
from tidegate_hub.storage.errors import ReadFailed, StorageError, reason_of, write_error
from tidegate_hub.storage.files import (
    make_directory,
    read_small,
    remove,
    size_of,
    sync_directory,
)
from tidegate_hub.storage.index import End, SpanIndex, decode_sidecar
from tidegate_hub.storage.scan import (
    HEADER_BYTES,
    decode_segment_header,
    encode_segment_header,
    scan,
)
from tidegate_hub.storage.segment import Segment
from tidegate_hub.storage.shared import Shared
from tidegate_hub.storage.start import START_NAME, Start, load_start

_NOTHING = End(0, 0, 0, -1, 0)


@dataclass(slots=True)
class Recovery:
    """What was found in one partition's directory."""

    shared: Shared
    home: Path
    name: str
    segments: list[Segment] = field(default_factory=list)
    start: Start | None = None
    report: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        self.report.append(f"{self.name}: {words}")


def recover(shared: Shared, home: Path, name: str) -> Recovery:
    """Open what is there; make the first segment where there is nothing."""
    made = Recovery(shared, home, name)
    make_directory(home, durable=shared.durable)
    files = _tidy(made)
    made.start, unsound = load_start(home)
    if unsound:
        made.say(
            f"the file {START_NAME} is damaged: trimmed events may be back until the next trim"
        )
    for path in files:
        _open_segment(made, path, is_last=path == files[-1])
    _join_with_start(made)
    return made


def _tidy(made: Recovery) -> list[Path]:
    """Remove what a crash left half done; return the segment files in their order."""
    directory = made.shared.directory
    try:
        files = sorted(made.home.iterdir())
    except OSError as error:
        raise ReadFailed(str(made.home), reason_of(error)) from error
    segments = [path for path in files if path.suffix == ".seg" and _numbers(path) is not None]
    stems = {path.stem for path in segments}
    for path in files:
        orphan = path.suffix == ".idx" and path.stem not in stems
        if orphan or path.suffix == ".tmp":
            remove(path, directory)
    return segments


def _numbers(path: Path) -> tuple[int, int] | None:
    sequence, _, offset = path.stem.partition("-")
    return (int(sequence), int(offset)) if sequence.isdigit() and offset.isdigit() else None


def _open_segment(made: Recovery, path: Path, is_last: bool) -> None:
    shared = made.shared
    previous = made.segments[-1].end if made.segments else _NOTHING
    beginning = _beginning(made, path, previous, is_last)
    file_size = size_of(path)
    index, end = _from_sidecar(made, path, beginning, file_size)
    covered = end.size
    flaw = scan(lambda at, length: shared.files.read(str(path), at, length), file_size, index, end)
    holds_nothing = flaw is None and end.next_sequence == beginning.next_sequence
    if holds_nothing and (not is_last or beginning.next_sequence < previous.next_sequence):
        _remove_segment(shared, path)  # made by a roll that did not come to its end
        return
    segment = Segment(shared, path, beginning, end, index)
    if made.segments:
        _report_hole(made, made.segments[-1], segment)
    made.segments.append(segment)
    if is_last and flaw is not None:
        _cut(made, path, file_size, end, flaw)
    if is_last and shared.durable and end.size > covered:
        # Whoever wrote it may not have come to flushing it.
        flush = shared.dirty.sync_one if shared.flushed_before_read else shared.dirty.mark
        flush(str(path))
    if not is_last:
        if flaw is not None:
            made.say(f"{path.name} is damaged at byte {end.size:,}: {flaw.value}")
            shared.files.forget(str(path))
        else:
            segment.seal(has_sidecar=covered == end.size)


def _beginning(made: Recovery, path: Path, previous: End, is_last: bool) -> End:
    """The segment's header; where that is damaged, what the name and the one before it tell."""
    data = made.shared.files.read(str(path), 0, HEADER_BYTES)
    decoded = decode_segment_header(data)
    sequence, offset = _numbers(path) or (0, 0)
    if decoded is not None and (decoded.next_sequence, decoded.next_offset) == (sequence, offset):
        return decoded
    beginning = End(HEADER_BYTES, sequence, offset, previous.last_offset, previous.last_ms)
    if is_last:
        _write_header(made, path, beginning)
    if data:
        made.say(f"{path.name} has a damaged header, made again from its name")
    return beginning


def _write_header(made: Recovery, path: Path, beginning: End) -> None:
    try:
        with path.open("r+b") as file:
            file.write(encode_segment_header(beginning))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise write_error(error, str(path), made.shared.directory) from error


def _from_sidecar(
    made: Recovery, path: Path, beginning: End, file_size: int
) -> tuple[SpanIndex, End]:
    """What need not be read again: the index and end that the sidecar keeps, or nothing."""
    sidecar = path.with_suffix(".idx")
    data = read_small(sidecar)
    if data is not None:
        decoded = decode_sidecar(data, beginning.next_sequence)
        if decoded is not None and decoded[1].size <= file_size:
            return decoded
        if decoded is not None:
            missing = decoded[1].size - file_size
            made.say(f"{path.name} is {missing:,} bytes shorter than it was left")
        remove(sidecar, made.shared.directory)
        if made.shared.durable:
            sync_directory(made.home)
    return SpanIndex(), beginning.with_size(HEADER_BYTES)


def _report_hole(made: Recovery, before: Segment, after: Segment) -> None:
    if before.end.next_sequence < after.first_sequence:
        made.say(
            f"events {before.end.next_sequence} to {after.first_sequence - 1} are missing "
            f"between {before.path and before.path.name} and {after.path and after.path.name}"
        )


def _cut(made: Recovery, path: Path, file_size: int, end: End, flaw: Flaw) -> None:
    try:
        os.truncate(path, end.size)
    except OSError as error:
        raise write_error(error, str(path), made.shared.directory) from error
    if made.shared.durable:
        made.shared.dirty.sync_one(str(path))
    where = f"after sequence {end.next_sequence - 1}" if end.next_sequence else "at the beginning"
    made.say(f"cut {file_size - end.size:,} bytes {where}: {flaw.value}")


def _remove_segment(shared: Shared, path: Path) -> None:
    shared.files.forget(str(path))
    remove(path, shared.directory)
    remove(path.with_suffix(".idx"), shared.directory)


def _join_with_start(made: Recovery) -> None:
    """Bring the segments and the logical start together, and go on from the later of the two."""
    segments, start = made.segments, made.start
    if start is not None and segments and start.sequence < segments[0].first_sequence:
        start = made.start = None  # the removal of segments got further than the file
    reached = segments[-1].end if segments else _NOTHING
    if start is not None and start.sequence > reached.next_sequence:
        reached = End(0, start.sequence, start.offset, reached.last_offset, reached.last_ms)
        segments.append(Segment.following(made.shared, made.home, reached))
    if not segments:
        segments.append(Segment.following(made.shared, made.home, reached))
    while start and len(segments) > 1 and segments[1].first_sequence <= start.sequence:
        try:
            segments[0].discard()
        except StorageError as error:
            made.say(f"could not remove a trimmed segment: {error}")
        del segments[0]
