"""Random damage: nothing untyped is raised, and no byte is given out that was not appended."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate_hub.storage import Batch, PartitionLog, Store
from tidegate_hub.storage.errors import MetadataCorrupt, SegmentCorrupt, StorageError
from tidegate_hub.storage.hubs import HUBS_NAME, read_hubs

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Abandon = Callable[[Store], None]
Event = Callable[[int], bytes]

often = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=12)


def open_at(directory: str, segment_bytes: int = 1 << 20) -> Store:
    return Store(
        Path(directory), fsync="never", segment_bytes=segment_bytes, memory_budget_bytes=50_000
    )


def read_sound(log: PartitionLog, event: Event) -> list[int]:
    """The sequences that can be read; each must be its own event. Damage is stepped over."""
    sequence = log.first_sequence
    read: list[int] = []
    while True:
        try:
            batch = log.batch_at(sequence)
        except SegmentCorrupt as error:
            assert error.resume_sequence > sequence
            sequence = error.resume_sequence
            continue
        if batch is None:
            return read
        for i in range(sequence - batch.first_sequence, batch.count):
            assert batch.event(i) == event(batch.first_sequence + i)
            read.append(batch.first_sequence + i)
        sequence = batch.next_sequence


@pytest.mark.slow
@often
@given(sizes=SIZES, data=st.data())
def test_a_last_segment_cut_or_changed_anywhere_recovers_a_prefix(
    *, sizes: list[int], data: st.DataObject, fill: Fill, abandon: Abandon, event: Event
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = open_at(directory)
        fill(store.open_log("h", "0"), sizes)
        abandon(store)
        (path,) = Path(directory).rglob("*.seg")
        content = bytearray(path.read_bytes())
        if data.draw(st.booleans(), label="cut"):
            del content[data.draw(st.integers(0, len(content)), label="size") :]
        else:
            bit = data.draw(st.integers(0, 8 * len(content) - 1), label="bit")
            content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        store = open_at(directory)
        log = store.open_log("h", "0")
        read = read_sound(log, event)
        assert read == list(range(log.next_sequence))
        assert len(read) in {sum(sizes[:n]) for n in range(len(sizes) + 1)}
        fill(log, [3])
        store.close()
        store = open_at(directory)
        log = store.open_log("h", "0")
        assert (log.next_sequence, store.recovered) == (len(read) + 3, [])
        assert read_sound(log, event) == list(range(len(read) + 3))
        store.close()


@pytest.mark.slow
@often
@given(
    sizes=SIZES,
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), max_size=3),
    trimmed=st.floats(0, 1),
    clean=st.booleans(),
    data=st.data(),
)
def test_damage_in_any_file_gives_a_typed_error_or_the_right_bytes(
    *,
    sizes: list[int],
    changes: list[tuple[float, int]],
    trimmed: float,
    clean: bool,
    data: st.DataObject,
    fill: Fill,
    abandon: Abandon,
    event: Event,
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = open_at(directory, segment_bytes=8000)
        log = store.open_log("h", "0")
        fill(log, sizes)
        log.trim_to(int(sum(sizes) * trimmed))
        store.close() if clean else abandon(store)
        paths = sorted(path for path in Path(directory, "hubs").rglob("*") if path.is_file())
        for where, change in changes:
            path = data.draw(st.sampled_from(paths), label="file")
            content = bytearray(path.read_bytes())
            content[min(int(where * len(content)), len(content) - 1)] ^= change
            path.write_bytes(content)
        store = open_at(directory, segment_bytes=8000)
        try:
            log = store.open_log("h", "0")
            read_sound(log, event)
            for search in (log.sequence_at_time, log.sequence_after_offset):
                found = search(sum(sizes) * 40, inclusive=True)
                assert log.first_sequence <= found <= log.next_sequence
            fill(log, [2])
            assert read_sound(log, event)[-2:] == [log.next_sequence - 2, log.next_sequence - 1]
        except StorageError as error:
            assert str(error)
        finally:
            store.close()


def test_a_list_of_hubs_that_nests_without_end_is_told_as_damaged(tmp_path: Path) -> None:
    (tmp_path / HUBS_NAME).write_bytes(b"[" * 100_000)
    with pytest.raises(MetadataCorrupt):
        read_hubs(tmp_path)
