"""Events that tell their own sequence number, and ways to read a whole log back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidegate_hub.storage import Batch, PartitionLog, Store


def _event(sequence: int) -> bytes:
    """An event that no other sequence number has, of a length that varies with it."""
    return b"event %d;" % sequence + bytes([sequence % 251]) * (sequence * 37 % 190)


@pytest.fixture
def event() -> Callable[[int], bytes]:
    return _event


@pytest.fixture
def fill() -> Callable[[PartitionLog, list[int]], list[Batch]]:
    """Append batches of these sizes, a second apart, each event telling its sequence number."""

    def append_all(log: PartitionLog, sizes: list[int]) -> list[Batch]:
        batches = []
        for size in sizes:
            first = log.next_sequence
            messages = [_event(sequence) for sequence in range(first, first + size)]
            batches.append(log.append(messages, log.last_enqueued_ms + 1000))
        return batches

    return append_all


@pytest.fixture
def read_all() -> Callable[[PartitionLog], list[tuple[int, int, int, bytes]]]:
    """(sequence, offset, time, message) of every event kept, read as a receiver reads."""

    def read(log: PartitionLog) -> list[tuple[int, int, int, bytes]]:
        events = []
        sequence = log.first_sequence
        while (batch := log.batch_at(sequence)) is not None:
            assert batch.first_sequence <= sequence < batch.next_sequence
            offset = batch.offset_of(sequence - batch.first_sequence)
            for i in range(sequence - batch.first_sequence, batch.count):
                message = batch.event(i)
                events.append((batch.first_sequence + i, offset, batch.enqueued_ms, message))
                offset += (len(message) + 7) // 8 * 8
            assert offset == batch.next_offset
            sequence = batch.next_sequence
        return events

    return read


@pytest.fixture
def check_events(
    read_all: Callable[[PartitionLog], list[tuple[int, int, int, bytes]]],
) -> Callable[[PartitionLog], None]:
    """Every event of the log is the one that its sequence number belongs to, without a gap."""

    def check(log: PartitionLog) -> None:
        events = read_all(log)
        assert [sequence for sequence, *_ in events] == list(
            range(log.first_sequence, log.next_sequence)
        )
        for sequence, _, _, message in events:
            assert message == _event(sequence)

    return check


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Opens stores in one data directory; opening again closes the one before."""
    opened: list[Store] = []

    def open_again(**settings: object) -> Store:
        for store in opened:
            store.close()
        opened.append(Store(tmp_path / "data", **{"fsync": "never", **settings}))  # type: ignore[arg-type]
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def abandon() -> Callable[[Store], None]:
    """End a store as SIGKILL would: nothing is flushed or written, only the lock is let go."""

    def leave(store: Store) -> None:
        assert store._lock is not None
        store._lock.release()
        store._shared.files.close()
        store._closed = True

    return leave
