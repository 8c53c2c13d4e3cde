"""When bytes are flushed, and what follows when they cannot be."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from tidegate_hub.storage import Batch, PartitionLog, Store, syncing
from tidegate_hub.storage.errors import SyncFailed

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Open = Callable[..., Store]


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were flushed, in order."""
    names: list[str] = []
    flush = syncing.flush_data

    def note(fd: int) -> None:
        names.append(Path(f"/proc/self/fd/{fd}").readlink().name[:20])
        flush(fd)

    monkeypatch.setattr(syncing, "flush_data", note)
    return names


@pytest.mark.parametrize("fsync", ["always", "interval"])
def test_sync_flushes_each_file_that_was_appended_to_once(
    open_store: Open, fill: Fill, flushed: list[str], fsync: str
) -> None:
    store = open_store(fsync=fsync)
    logs = [store.open_log("telemetry", partition) for partition in "012"]
    needed = [store.sync_needed]
    for log in logs[:2]:
        fill(log, [5, 5])
    needed.append(store.sync_needed)
    store.sync()
    assert len(flushed) == 2
    needed.append(store.sync_needed)
    store.sync()
    assert needed == [False, True, False]
    assert len(flushed) == 2


def test_nothing_is_flushed_under_never(open_store: Open, fill: Fill, flushed: list[str]) -> None:
    store = open_store(fsync="never", segment_bytes=5000)
    fill(store.open_log("telemetry", "0"), [5] * 50)
    assert not store.sync_needed
    store.sync()
    store.close()
    assert flushed == []


def test_a_segment_is_flushed_before_the_next_one_exists(
    open_store: Open, fill: Fill, flushed: list[str]
) -> None:
    store = open_store(fsync="interval", segment_bytes=5000)
    log = store.open_log("telemetry", "0")
    fill(log, [5] * 50)
    store.sync()
    names = sorted(path.name[:20] for path in Path(str(store.directory)).rglob("*.seg"))
    assert len(names) > 3
    assert flushed == names


def test_a_sync_waits_for_one_that_has_taken_its_data_already(
    open_store: Open, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(fsync="always")
    fill(store.open_log("telemetry", "0"), [1])
    flushing, go_on = Event(), Event()

    def slow_flush(_: int) -> None:
        flushing.set()
        assert go_on.wait(30)

    monkeypatch.setattr(syncing, "flush_data", slow_flush)
    first = Thread(target=store.sync)
    second = Thread(target=store.sync)
    first.start()
    assert flushing.wait(30)
    second.start()
    second.join(0.05)
    assert second.is_alive(), "it returned while its data were not flushed yet"
    go_on.set()
    first.join(30)
    second.join(30)
    assert not first.is_alive() and not second.is_alive()


def test_a_roll_waits_for_the_flush_of_its_own_file_alone(
    open_store: Open, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(fsync="interval", segment_bytes=5000)
    rolling, other = (store.open_log("telemetry", partition) for partition in "01")
    fill(other, [1])
    flushing, go_on = Event(), Event()
    flush = syncing.flush_data

    def slow_flush(fd: int) -> None:
        if "/1/" in str(Path(f"/proc/self/fd/{fd}").readlink()):
            flushing.set()
            assert go_on.wait(30)
        flush(fd)

    monkeypatch.setattr(syncing, "flush_data", slow_flush)
    sync = Thread(target=store.sync)
    sync.start()
    assert flushing.wait(30)
    roll = Thread(target=fill, args=(rolling, [40] * 5))
    roll.start()
    roll.join(20)
    has_rolled = not roll.is_alive()
    go_on.set()
    sync.join(30)
    roll.join(30)
    assert has_rolled, "it waited for another partition's flush"


def test_under_always_nothing_is_read_before_it_is_flushed(open_store: Open, fill: Fill) -> None:
    store = open_store(fsync="always")
    log = store.open_log("telemetry", "0")
    fill(log, [5])
    assert (log.next_sequence, log.readable_sequence, log.batch_at(0)) == (5, 0, None)
    store.sync()
    fill(log, [3])
    assert (log.next_sequence, log.readable_sequence, log.batch_at(5)) == (8, 5, None)
    assert log.batch_at(4) is not None
    store.sync()
    assert log.readable_sequence == 8
    assert log.batch_at(7) is not None


def test_what_is_appended_during_a_flush_is_read_only_after_the_next_one(
    open_store: Open, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(fsync="always")
    log = store.open_log("telemetry", "0")
    fill(log, [5])
    flushing, go_on = Event(), Event()

    def slow_flush(_: int) -> None:
        flushing.set()
        assert go_on.wait(30)

    monkeypatch.setattr(syncing, "flush_data", slow_flush)
    sync = Thread(target=store.sync)
    sync.start()
    assert flushing.wait(30)
    fill(log, [3])
    go_on.set()
    sync.join(30)
    assert log.readable_sequence == 5
    store.sync()
    assert log.readable_sequence == 8


@pytest.mark.parametrize("fsync", ["interval", "never"])
def test_without_always_events_are_read_at_once(open_store: Open, fill: Fill, fsync: str) -> None:
    log = open_store(fsync=fsync).open_log("telemetry", "0")
    fill(log, [5])
    assert log.readable_sequence == 5
    assert log.batch_at(4) is not None


@pytest.mark.parametrize("fsync", ["always", "interval"])
def test_what_a_killed_process_did_not_flush_is_flushed_by_the_next(
    open_store: Open, fill: Fill, abandon: Callable[[Store], None], flushed: list[str], fsync: str
) -> None:
    store = open_store(fsync="interval")
    fill(store.open_log("telemetry", "0"), [5])
    abandon(store)
    store = open_store(fsync=fsync)
    log = store.open_log("telemetry", "0")
    if fsync == "interval":
        assert store.sync_needed
        store.sync()
    assert len(flushed) == 1
    assert log.readable_sequence == 5


def test_what_was_closed_in_order_needs_no_flush_at_the_next_start(
    open_store: Open, fill: Fill, flushed: list[str]
) -> None:
    fill(open_store(fsync="always").open_log("telemetry", "0"), [5])
    store = open_store(fsync="always")
    flushed.clear()
    assert store.open_log("telemetry", "0").readable_sequence == 5
    assert flushed == []


def test_a_trimmed_file_does_not_trouble_a_sync(open_store: Open, fill: Fill) -> None:
    store = open_store(fsync="always")
    log = store.open_log("telemetry", "0")
    fill(log, [5])
    log.trim_to(5)
    fill(log, [5])
    store.sync()
    assert log.next_sequence == 10


def test_after_a_failed_flush_nothing_is_acknowledged_or_appended_any_more(
    open_store: Open, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(fsync="always")
    log = store.open_log("telemetry", "0")
    fill(log, [5])

    def broken_disk(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(syncing, "flush_data", broken_disk)
        with pytest.raises(SyncFailed, match=r"Input/output error; what was just written may be"):
            store.sync()
    with pytest.raises(SyncFailed):
        store.sync()
    with pytest.raises(SyncFailed, match="check the disk, then restart"):
        fill(log, [1])
    with pytest.raises(SyncFailed):
        store.close()
    reopened = Store(store.directory, fsync="always")
    assert reopened.open_log("telemetry", "0").next_sequence == 5
    reopened.close()
