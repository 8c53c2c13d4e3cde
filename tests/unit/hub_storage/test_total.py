"""What is kept of all hubs together: the oldest goes in time, and nothing new is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate_hub.storage import Batch, PartitionLog, Store
from tidegate_hub.storage.errors import TooSmall

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Check = Callable[[PartitionLog], None]

MIB = 1 << 20
# Segments are no smaller than a MiB: each partition has one that is written and one that is full.
TOTAL = 12 * MIB
BODY = b"x" * 900
EVENTS = 500


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    directory = tmp_path / "data" if request.param == "directory" else None
    return Store(directory, fsync="never", memory_budget_bytes=2 * MIB, total_bytes=TOTAL)


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.seg"))


def append(log: PartitionLog, ms: int) -> Batch:
    return log.append([b"%d" % n + BODY for n in range(EVENTS)], ms)


def test_it_takes_events_without_end_and_never_more_disk_than_that(
    store: Store, tmp_path: Path
) -> None:
    logs = [store.open_log("telemetry", str(number)) for number in range(4)]
    for ms in range(80):
        for log in logs:
            append(log, ms)
        assert disk_bytes(tmp_path) <= TOTAL
        assert sum(log.stored_bytes for log in logs) <= TOTAL
    for log in logs:
        assert log.next_sequence == 80 * EVENTS
        assert log.first_sequence > 0
        assert log.next_sequence - log.first_sequence >= MIB // 1000
    store.close()


def test_what_is_left_is_the_newest_and_reads_back_as_it_was_written(
    store: Store, fill: Fill, check_events: Check
) -> None:
    log = store.open_log("telemetry", "0")
    fill(log, [1000] * 200)
    assert log.first_sequence > 0
    assert log.stored_bytes > TOTAL - 3 * MIB, "no more goes than has to"
    check_events(log)
    store.close()


def test_partitions_lose_what_is_oldest_whichever_of_them_is_written(store: Store) -> None:
    old, new = store.open_log("telemetry", "0"), store.open_log("telemetry", "1")
    for ms in range(8):
        append(old, ms)
    for ms in range(100, 160):
        append(new, ms)
    assert old.first_sequence > 0, "its full segments ended first"
    assert old.next_sequence - old.first_sequence > 0, "and the one that is written stays"
    store.close()


def test_more_partitions_than_have_room_are_refused_with_how_much_each_needs(
    store: Store,
) -> None:
    for number in range(6):
        store.open_log("telemetry", str(number))
    with pytest.raises(TooSmall, match=r"12 is too little: each partition needs 2 MB of it\. "):
        store.open_log("telemetry", "6")
    store.close()


def test_without_a_bound_nothing_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    store = Store(None, memory_budget_bytes=2 * MIB)
    log = store.open_log("telemetry", "0")
    for ms in range(40):
        append(log, ms)
    assert log.first_sequence == 0
    store.close()
