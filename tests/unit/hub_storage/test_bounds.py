"""What is bounded: memory, open files, and what a store leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import tidegate_hub
from tidegate_hub.storage import Batch, PartitionLog, Store
from tidegate_hub.storage.errors import WriteFailed

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Check = Callable[[PartitionLog], None]
Open = Callable[..., Store]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of temporary files of the test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize("where", ["directory", "memory"])
def test_bodies_in_memory_stay_within_the_budget(
    where: str, tmp_path: Path, temporary: Path, fill: Fill, check_events: Check
) -> None:
    budget = 1_000_000
    store = Store(
        tmp_path / "data" if where == "directory" else None,
        fsync="never",
        memory_budget_bytes=budget,
        segment_bytes=400_000,
    )
    logs = [store.open_log("telemetry", str(partition)) for partition in range(4)]
    for _ in range(12):
        for log in logs:
            fill(log, [1, 900, 1, 100])
            assert store.memory.used_bytes <= budget
    for log in logs:
        check_events(log)
        assert store.memory.used_bytes <= budget
    assert store.memory.used_bytes > budget / 2
    store.close()


def test_single_events_cost_no_objects_of_their_own(open_store: Open) -> None:
    log = open_store(memory_budget_bytes=100_000).open_log("telemetry", "0")
    tracemalloc.start()
    try:
        for sequence in range(20_000):
            log.append([b"%d" % sequence], sequence)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 500_000
    batch = log.batch_at(12_345)
    assert batch is not None
    assert (batch.event(0), batch.enqueued_ms, batch.count) == (b"12345", 12_345, 1)


@pytest.mark.parametrize("where", ["directory", "memory"])
def test_large_batches_at_the_ends_of_many_partitions_stay_within_the_budget(
    where: str, tmp_path: Path, temporary: Path
) -> None:
    budget, partitions = 4_000_000, 64
    store = Store(
        tmp_path / "data" if where == "directory" else None,
        fsync="never",
        memory_budget_bytes=budget,
    )
    logs = [store.open_log("telemetry", str(partition)) for partition in range(partitions)]
    tracemalloc.start()
    try:
        for log in logs:
            log.append([b"%05d" % log.next_offset * 40_000], 1000)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < budget * 5 / 4, f"{partitions} batches of 200 kB, one a partition"
    for log in logs:
        batch = log.batch_at(0)
        assert batch is not None and len(batch.payload) == 200_000
    store.close()


def test_a_store_in_memory_makes_no_file_until_it_must_and_leaves_none(
    temporary: Path, fill: Fill, check_events: Check
) -> None:
    store = Store(None, memory_budget_bytes=1_000_000)
    log = store.open_log("telemetry", "0")
    fill(log, [1000] * 5)
    assert list(temporary.iterdir()) == []
    fill(log, [1000] * 15)
    (made,) = temporary.iterdir()
    assert len(list(made.glob("*.seg"))) >= 1
    check_events(log)
    log.trim_to(log.next_sequence)
    assert list(made.glob("*.seg")) == []
    fill(log, [1000] * 20)
    check_events(log)
    store.close()
    assert list(temporary.iterdir()) == []


def test_a_store_in_memory_that_has_nowhere_to_spill_refuses_and_goes_on(
    temporary: Path, fill: Fill, check_events: Check
) -> None:
    store = Store(None, memory_budget_bytes=300_000)
    log = store.open_log("telemetry", "0")
    temporary.rmdir()
    with pytest.raises(WriteFailed, match="cannot write the directory for temporary files"):
        fill(log, [1000] * 5)
    check_events(log)
    temporary.mkdir()
    fill(log, [1000] * 5)
    check_events(log)
    store.close()


@pytest.mark.parametrize("where", ["directory", "memory"])
def test_open_files_stay_below_the_limit(
    where: str, tmp_path: Path, temporary: Path, fill: Fill, check_events: Check
) -> None:
    store = Store(
        tmp_path / "data" if where == "directory" else None,
        fsync="never",
        memory_budget_bytes=1,
        segment_bytes=5000,
        max_open_files=5,
    )
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted, not looked at
    before += where == "memory"  # the lock of the temporary folder
    logs = [store.open_log("telemetry", str(partition)) for partition in range(8)]
    for _ in range(4):
        for log in logs:
            fill(log, [40, 1])
            assert len(os.listdir("/proc/self/fd")) <= before + 5  # noqa: PTH208
    for log in logs:
        check_events(log)
        assert len(os.listdir("/proc/self/fd")) <= before + 5  # noqa: PTH208
    store.close()


def test_importing_the_storage_loads_nothing_heavy() -> None:
    heavy = "asyncio tempfile shutil random subprocess logging hashlib typing_extensions"
    code = (
        "import sys; before = set(sys.modules); import tidegate_hub.storage; "
        f"print(*set({heavy!r}.split()) & (set(sys.modules) - before))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(tidegate_hub.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == []
