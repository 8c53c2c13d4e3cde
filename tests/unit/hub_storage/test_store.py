"""One process a directory, the hubs in it, and how long events are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tidegate_hub
from tidegate_hub.storage import Batch, PartitionLog, Retention, Store, StoredHub
from tidegate_hub.storage.errors import MetadataCorrupt, StorageLocked

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Check = Callable[[PartitionLog], None]
Open = Callable[..., Store]


def test_a_second_process_is_told_which_directory_is_in_use_and_by_whom(open_store: Open) -> None:
    store = open_store()
    code = "import sys; from pathlib import Path; from tidegate_hub.storage import Store; "
    second = subprocess.run(
        [sys.executable, "-c", code + "Store(Path(sys.argv[1]))", str(store.directory)],
        cwd=Path(tidegate_hub.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 1
    assert f"{store.directory} is in use by another tidegate-hub (process " in second.stderr
    with pytest.raises(StorageLocked, match="give this one another data directory"):
        Store(store.directory)
    store.close()
    Store(store.directory).close()


@pytest.mark.parametrize("where", ["directory", "memory"])
def test_hubs_are_remembered_in_their_order(where: str, tmp_path: Path) -> None:
    directory = tmp_path / "data" if where == "directory" else None
    store = Store(directory, fsync="always")
    assert store.load_hubs() == []
    store.save_hub("telemetry", 16, ("$Default",), 1000)
    small = store.save_hub("small", 4, ("analytics", "$Default"), 2000, Retention(3600_000, 10**9))
    telemetry = store.save_hub("telemetry", 20, ("$Default", "new"), 1000)
    assert small == StoredHub(
        "small", 4, ("analytics", "$Default"), 2000, Retention(3600_000, 10**9)
    )
    assert store.load_hubs() == [telemetry, small]
    store.close()
    if directory is not None:
        store = Store(directory)
        assert store.load_hubs() == [telemetry, small]
        store.close()


HUB = {
    "name": "a",
    "partitions": 1,
    "groups": [],
    "created_ms": 0,
    "retention_ms": None,
    "retention_bytes": None,
}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "Expecting property name"),
        ("[]", '"format" must be 1'),
        ('{"format": 2}', '"format" must be 1'),
        ('{"format": 1}', '"hubs" must be of type list'),
        ('{"format": 1, "hubs": [3]}', 'each of "hubs" must be an object'),
        (json.dumps({"format": 1, "hubs": [{**HUB, "groups": [1]}]}), "must be a list of names"),
        (json.dumps({"format": 1, "hubs": [{**HUB, "partitions": "1"}]}), '"partitions" must be'),
        (json.dumps({"format": 1, "hubs": [{**HUB, "retention_ms": True}]}), '"retention_ms" must'),
        ("\udc80", "codec can't decode"),
    ],
)
def test_a_hubs_file_that_cannot_be_understood_names_the_file_and_the_key(
    open_store: Open, content: str, words: str
) -> None:
    store = open_store()
    assert store.directory is not None
    path = store.directory / "hubs.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(MetadataCorrupt) as caught:
        store.load_hubs()
    assert f"cannot understand {path}: " in str(caught.value)
    assert words in str(caught.value)


def test_retention_by_time_keeps_what_is_young_enough(
    open_store: Open, fill: Fill, check_events: Check
) -> None:
    store = open_store(segment_bytes=3000)
    store.save_hub("telemetry", 1, (), 0, Retention(max_age_ms=5000))
    log = store.open_log("telemetry", "0")
    fill(log, [10] * 20)  # at 1000, 2000, .. 20000
    assert store.apply_retention(6000) == []
    assert log.first_sequence == 0
    store.apply_retention(18_500)
    assert (log.first_sequence, log.first_enqueued_ms) == (130, 14_000)
    check_events(log)
    store.apply_retention(10**6)
    assert log.is_empty
    assert log.next_sequence == 200


def test_retention_by_bytes_keeps_the_newest_that_fit(
    open_store: Open, fill: Fill, check_events: Check
) -> None:
    store = open_store(segment_bytes=3000)
    store.save_hub("telemetry", 1, (), 0, Retention(max_bytes=5000))
    log = store.open_log("telemetry", "0")
    fill(log, [10] * 20)
    store.apply_retention(0)
    assert 4700 < log.size_bytes <= 5000
    check_events(log)
    first = log.first_sequence
    log = open_store(segment_bytes=3000).open_log("telemetry", "0")
    assert log.first_sequence == first
    check_events(log)


def test_hubs_without_retention_keep_everything(open_store: Open, fill: Fill) -> None:
    store = open_store()
    store.save_hub("telemetry", 1, (), 0)
    for hub in ("telemetry", "unsaved"):
        fill(store.open_log(hub, "0"), [10] * 5)
    store.apply_retention(10**12)
    assert store.open_log("telemetry", "0").first_sequence == 0
    assert store.open_log("unsaved", "0").first_sequence == 0


def test_a_damaged_partition_does_not_keep_others_from_being_trimmed(
    open_store: Open, fill: Fill
) -> None:
    store = open_store(memory_budget_bytes=1)
    store.save_hub("telemetry", 2, (), 0, Retention(max_age_ms=5000))
    logs = [store.open_log("telemetry", partition) for partition in "01"]
    for log in logs:
        fill(log, [10] * 20)
        log._latest = None
    store.close()
    store = open_store(memory_budget_bytes=1)
    logs = [store.open_log("telemetry", partition) for partition in "01"]
    path = next(Path(str(store.directory), "hubs", "telemetry", "0").glob("*.seg"))
    path.write_bytes(path.read_bytes().replace(b"event 15;", b"EVENT 15;"))
    store.load_hubs()
    (problem,) = store.apply_retention(18_500)
    assert problem.startswith(f"telemetry/0: retention: {path} is damaged at byte ")
    assert [log.first_sequence for log in logs] == [0, 130]
