"""What a log promises, whether it is in memory, spilled to temporary files, or in a directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidegate_hub.storage import Batch, PartitionLog, Store
from tidegate_hub.storage.errors import StorageClosed

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Read = Callable[[PartitionLog], list[tuple[int, int, int, bytes]]]
Check = Callable[[PartitionLog], None]

KINDS = ["memory", "memory, spilled at once", "directory", "directory, nothing cached"]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    kind: str = request.param
    directory = tmp_path / "data" if kind.startswith("directory") else None
    budget = 1 if kind in (KINDS[1], KINDS[3]) else 1 << 20
    made = Store(directory, fsync="never", memory_budget_bytes=budget, segment_bytes=20_000)
    yield made
    made.close()


@pytest.fixture
def log(store: Store) -> PartitionLog:
    return store.open_log("telemetry", "3")


def test_a_new_log_is_empty_and_says_so_as_event_hubs_does(log: PartitionLog) -> None:
    assert log.is_empty
    assert (log.first_sequence, log.next_sequence, log.next_offset) == (0, 0, 0)
    assert (log.last_offset, log.last_enqueued_ms, log.first_enqueued_ms) == (-1, 0, 0)
    assert log.size_bytes == 0
    assert log.batch_at(0) is None
    assert log.sequence_after_offset(-1, inclusive=False) == 0
    assert log.sequence_at_time(0, inclusive=True) == 0


def test_what_is_appended_is_read_back_in_order(
    log: PartitionLog, fill: Fill, check_events: Check
) -> None:
    fill(log, [1, 40, 3, 900, 1, 1, 1, 120])
    assert (log.first_sequence, log.next_sequence) == (0, 1067)
    check_events(log)


def test_append_returns_the_batch_that_is_read_back(log: PartitionLog, fill: Fill) -> None:
    batches = fill(log, [5, 700, 1, 30, 1])
    for batch in batches:
        for sequence in (batch.first_sequence, batch.last_sequence):
            assert log.batch_at(sequence) == batch
    assert log.batch_at(log.next_sequence) is None


def test_an_offset_is_the_one_before_plus_its_length_rounded_up_to_eight(
    log: PartitionLog, fill: Fill, read_all: Read
) -> None:
    fill(log, [1, 60, 300, 2])
    expected = 0
    for _, offset, _, message in read_all(log):
        assert offset == expected
        expected += (len(message) + 7) // 8 * 8
    assert log.next_offset == expected == log.size_bytes
    assert log.last_offset == expected - (len(message) + 7) // 8 * 8


def test_every_event_is_found_by_its_offset(log: PartitionLog, fill: Fill, read_all: Read) -> None:
    fill(log, [1, 60, 1, 300, 2])
    for sequence, offset, _, _ in read_all(log):
        assert log.sequence_after_offset(offset, inclusive=True) == sequence
        assert log.sequence_after_offset(offset, inclusive=False) == sequence + 1
        assert log.sequence_after_offset(offset - 1, inclusive=True) == sequence
        assert log.sequence_after_offset(offset - 1, inclusive=False) == sequence
    assert log.sequence_after_offset(log.next_offset + 99, inclusive=True) == log.next_sequence


def test_every_batch_is_found_by_its_time(log: PartitionLog, fill: Fill) -> None:
    for batch in fill(log, [1, 60, 1, 300, 2]):
        ms = batch.enqueued_ms
        assert log.sequence_at_time(ms, inclusive=True) == batch.first_sequence
        assert log.sequence_at_time(ms - 1, inclusive=False) == batch.first_sequence
        assert log.sequence_at_time(ms, inclusive=False) == batch.next_sequence
    assert log.sequence_at_time(-5, inclusive=False) == 0


def test_batches_of_one_time_are_found_from_the_first_of_them(log: PartitionLog) -> None:
    for ms in (10, 20, 20, 20, 30):
        log.append([b"x" * 9000], ms)
    assert log.sequence_at_time(20, inclusive=True) == 1
    assert log.sequence_at_time(20, inclusive=False) == 4


def test_a_clock_that_goes_back_does_not_take_the_times_of_a_log_back(log: PartitionLog) -> None:
    log.append([b"later"], 5000)
    assert log.append([b"earlier"], 4000).enqueued_ms == 5000
    assert log.last_enqueued_ms == 5000


def test_trimmed_events_are_gone_at_once_and_the_rest_stays(
    log: PartitionLog, fill: Fill, check_events: Check, read_all: Read
) -> None:
    fill(log, [1, 60, 1, 300, 2])
    kept = read_all(log)[200:]
    log.trim_to(200)
    assert (log.first_sequence, log.first_offset, log.first_enqueued_ms) == kept[0][:3]
    assert read_all(log) == kept
    assert log.size_bytes == log.next_offset - kept[0][1]
    batch = log.batch_at(0)
    assert batch is not None
    assert batch.first_sequence == 200
    assert log.sequence_after_offset(-1, inclusive=False) == 200
    assert log.sequence_at_time(0, inclusive=True) == 200
    check_events(log)


def test_trimming_everything_leaves_an_empty_log_that_goes_on_counting(
    log: PartitionLog, fill: Fill, check_events: Check
) -> None:
    fill(log, [1, 60, 300])
    before = (log.next_sequence, log.next_offset, log.last_offset, log.last_enqueued_ms)
    log.trim_to(10**9)
    assert log.is_empty
    assert log.first_sequence == 361
    assert (log.next_sequence, log.next_offset, log.last_offset, log.last_enqueued_ms) == before
    assert (log.size_bytes, log.first_enqueued_ms, log.batch_at(0)) == (0, 0, None)
    assert log.sequence_at_time(0, inclusive=True) == 361
    fill(log, [4])
    assert (log.first_sequence, log.next_sequence) == (361, 365)
    assert log.first_enqueued_ms == log.last_enqueued_ms
    check_events(log)


def test_trimming_back_changes_nothing(log: PartitionLog, fill: Fill) -> None:
    fill(log, [10])
    log.trim_to(6)
    log.trim_to(2)
    assert log.first_sequence == 6


def test_trimming_gives_back_the_room_of_whole_segments(log: PartitionLog, fill: Fill) -> None:
    fill(log, [100] * 20)
    stored = log.stored_bytes
    log.trim_to(1500)
    assert log.stored_bytes < stored / 2
    log.trim_to(log.next_sequence)
    assert log.stored_bytes < 100


def test_logs_of_one_store_do_not_mix(store: Store, fill: Fill, check_events: Check) -> None:
    logs = [store.open_log(hub, partition) for hub in ("a", "A b/..", "..") for partition in "01"]
    for count, log in enumerate(logs, start=1):
        fill(log, [count] * 30)
    for count, log in enumerate(logs, start=1):
        assert log.next_sequence == count * 30
        check_events(log)


def test_a_log_is_opened_once(store: Store) -> None:
    assert store.open_log("telemetry", "3") is store.open_log("telemetry", "3")


@pytest.mark.parametrize("messages", [[], [b""], [b"x", b""]])
def test_a_batch_without_events_is_refused(log: PartitionLog, messages: list[bytes]) -> None:
    with pytest.raises(ValueError, match="at least one message"):
        log.append(messages, 1)
    assert log.is_empty


def test_a_closed_store_says_that_it_is_closed(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StorageClosed, match="open a new one"):
        store.open_log("telemetry", "4")
    with pytest.raises(StorageClosed):
        store.apply_retention(1)
