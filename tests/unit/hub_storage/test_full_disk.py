"""A disk that is full: sends are refused, everything else goes on.

The limit on the size of files (RLIMIT_FSIZE) makes the operating system itself refuse writes, with
short writes and EFBIG, which the storage takes as it takes ENOSPC. It needs no privileges.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tidegate_hub.storage import Batch, PartitionLog, Retention, Store
from tidegate_hub.storage.errors import StorageFull, WriteFailed

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Check = Callable[[PartitionLog], None]
Open = Callable[..., Store]
FilesUpTo = Callable[[int], AbstractContextManager[None]]


@pytest.fixture
def files_up_to() -> FilesUpTo:
    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)

    return limited


def segment_files(store: Store) -> list[Path]:
    assert store.directory is not None
    return sorted(store.directory.rglob("*.seg"))


def test_an_append_that_does_not_fit_is_cut_off_again_and_the_next_one_works(
    open_store: Open, fill: Fill, check_events: Check, files_up_to: FilesUpTo
) -> None:
    store = open_store()
    log = store.open_log("telemetry", "3")
    fill(log, [50])
    (path,) = segment_files(store)
    size = path.stat().st_size
    with files_up_to(size + 1000):
        for _ in range(3):
            with pytest.raises(StorageFull) as caught:
                fill(log, [50])
            assert path.stat().st_size == size
        fill(log, [1])  # this one fits
        check_events(log)
    assert str(caught.value) == (
        f"disk of {store.directory} is full: free space or lower retention; "
        "sends are refused until then"
    )
    fill(log, [50])
    assert log.next_sequence == 101
    check_events(log)
    log = open_store().open_log("telemetry", "3")
    assert log.next_sequence == 101
    check_events(log)


def test_a_full_disk_keeps_reads_and_other_partitions_going(
    open_store: Open, fill: Fill, check_events: Check, files_up_to: FilesUpTo
) -> None:
    store = open_store(memory_budget_bytes=1)
    large, small = store.open_log("telemetry", "3"), store.open_log("telemetry", "4")
    fill(large, [300] * 3)
    with files_up_to(20_000):
        with pytest.raises(StorageFull):
            fill(large, [1])
        check_events(large)
        fill(small, [20])
        check_events(small)


def test_a_segment_that_cannot_be_begun_refuses_the_append_alone(
    open_store: Open, fill: Fill, check_events: Check, files_up_to: FilesUpTo
) -> None:
    store = open_store(segment_bytes=5000)
    log = store.open_log("telemetry", "3")
    fill(log, [49])
    with files_up_to(10):
        with pytest.raises(StorageFull):
            fill(log, [10])
        assert len(segment_files(store)) == 1
        check_events(log)
    fill(log, [10])
    assert len(segment_files(store)) == 2
    check_events(log)


def test_a_sidecar_that_does_not_fit_is_done_without(
    open_store: Open, fill: Fill, check_events: Check, files_up_to: FilesUpTo
) -> None:
    store = open_store(segment_bytes=5000)
    log = store.open_log("telemetry", "3")
    fill(log, [49])
    # The header of the next segment fits, its first batch does not.
    with files_up_to(60), pytest.raises(StorageFull):
        fill(log, [10])
    assert [path.suffix for path in sorted(segment_files(store)[0].parent.iterdir())] == [
        ".seg"
    ] * 2
    fill(log, [10])
    check_events(log)
    store = open_store(segment_bytes=5000)
    log = store.open_log("telemetry", "3")
    assert store.recovered == []
    check_events(log)


def test_retention_makes_room_on_a_full_disk(
    open_store: Open, fill: Fill, check_events: Check, files_up_to: FilesUpTo
) -> None:
    store = open_store(segment_bytes=5000)
    store.save_hub("telemetry", 1, (), 0, Retention(max_bytes=4000))
    log = store.open_log("telemetry", "3")
    fill(log, [40] * 10)
    with files_up_to(0):
        problems = store.apply_retention(10**6)
    assert log.size_bytes <= 4000
    assert len(segment_files(store)) <= 2
    assert problems == [f"telemetry/3: retention: {StorageFull(str(store.directory))}"]
    assert store.apply_retention(10**6) == []
    check_events(log)


def half(fd: int, buffers: list[bytes]) -> int:
    os.write(fd, b"".join(buffers)[:30])
    raise OSError(errno.EIO, "Input/output error")


def refuse(*_: int) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_cut_that_fails_too_is_done_before_the_next_append(
    open_store: Open, fill: Fill, check_events: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_store().open_log("telemetry", "3")
    fill(log, [5])
    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", half)
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(WriteFailed, match="Input/output error"):
            fill(log, [5])
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(WriteFailed, match="Read-only file system"):
            fill(log, [5])
    fill(log, [5])
    check_events(log)
    store = open_store()
    log = store.open_log("telemetry", "3")
    assert (log.next_sequence, store.recovered) == (10, [])


def test_a_cut_that_fails_too_is_done_before_the_segment_is_sealed(
    open_store: Open, fill: Fill, check_events: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(segment_bytes=5000)
    log = store.open_log("telemetry", "3")
    fill(log, [40])
    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", half)
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(WriteFailed, match="Input/output error"):
            fill(log, [1])
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(WriteFailed, match="Read-only file system"):
            fill(log, [40])  # does not fit any more, but what is torn cannot be sealed
        assert len(segment_files(store)) == 1
    fill(log, [40])
    assert len(segment_files(store)) == 2
    store = open_store(segment_bytes=5000)
    log = store.open_log("telemetry", "3")
    assert (log.next_sequence, store.recovered) == (80, [])
    check_events(log)


def test_a_store_in_memory_refuses_when_it_can_spill_no_more(
    fill: Fill, check_events: Check, files_up_to: FilesUpTo
) -> None:
    store = Store(None, memory_budget_bytes=200_000, segment_bytes=100_000)
    log = store.open_log("telemetry", "3")
    with files_up_to(30_000):
        with pytest.raises(StorageFull, match="is full: free space or lower retention"):
            fill(log, [200] * 100)
        refused_at = log.next_sequence
        check_events(log)
        assert store.memory.used_bytes <= 200_000
    fill(log, [200] * 20)
    assert log.next_sequence == refused_at + 4000
    check_events(log)
    store.close()
