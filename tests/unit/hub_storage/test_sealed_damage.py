"""Damage in segments that are sealed: they are kept, the damage is told, the rest is served."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.store_files import SMALL, files, overwrite
from tidegate_hub.storage import Batch, PartitionLog, Store
from tidegate_hub.storage.errors import SegmentCorrupt

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Check = Callable[[PartitionLog], None]
Open = Callable[..., Store]


def test_damage_in_a_sealed_segment_is_a_typed_error_and_the_rest_can_be_read(
    open_store: Open, fill: Fill, check_events: Check
) -> None:
    store = open_store(segment_bytes=SMALL)
    fill(store.open_log("telemetry", "3"), [30] * 20)
    fill(store.open_log("telemetry", "4"), [30])
    store.close()
    damaged, following = files(store, ".seg")[1:3]
    position = damaged.read_bytes().index(b"TGB1")
    overwrite(damaged, position + 90, b"?!?!")
    resume = int(following.name[:20])

    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    bad = int(damaged.name[:20])
    with pytest.raises(SegmentCorrupt) as caught:
        log.batch_at(bad)
    assert (caught.value.path, caught.value.position) == (str(damaged), position)
    assert caught.value.resume_sequence == resume
    assert f"{damaged} is damaged at byte {position}: checksum does not match" in str(caught.value)
    before, after = log.batch_at(bad - 1), log.batch_at(resume)
    assert before is not None and before.next_sequence == bad
    assert after is not None and after.first_sequence == resume
    check_events(store.open_log("telemetry", "4"))
    log.trim_to(bad + 1)
    assert log.first_sequence == resume
    check_events(log)


def test_damage_in_a_sealed_segment_without_a_sidecar_leaves_a_hole_that_is_reported(
    open_store: Open, fill: Fill
) -> None:
    store = open_store(segment_bytes=SMALL)
    fill(store.open_log("telemetry", "3"), [30] * 20)
    store.close()
    damaged, following = files(store, ".seg")[1:3]
    damaged.with_suffix(".idx").unlink()
    position = damaged.read_bytes().rindex(b"TGB1")
    overwrite(damaged, position + 90, b"?!?!")
    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    resume = int(following.name[:20])
    assert store.recovered == [
        f"telemetry/3: {damaged.name} is damaged at byte {position:,}: checksum does not match",
        f"telemetry/3: events {resume - 30} to {resume - 1} are missing between {damaged.name} "
        f"and {following.name}",
    ]
    with pytest.raises(SegmentCorrupt, match="events are missing"):
        log.batch_at(resume - 1)
    assert log.next_sequence == 600
    found = log.batch_at(resume)
    assert found is not None
    assert log.sequence_after_offset(found.first_offset - 1, inclusive=False) == resume


def test_a_sealed_segment_is_kept_even_if_its_first_batch_is_damaged(
    open_store: Open, fill: Fill
) -> None:
    store = open_store(segment_bytes=SMALL)
    fill(store.open_log("telemetry", "3"), [30] * 20)
    store.close()
    damaged = files(store, ".seg")[1]
    damaged.with_suffix(".idx").unlink()
    overwrite(damaged, damaged.read_bytes().index(b"TGB1"), b"?")
    content = damaged.read_bytes()
    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    assert "not a batch" in store.recovered[0]
    with pytest.raises(SegmentCorrupt, match="events are missing"):
        log.batch_at(int(damaged.name[:20]))
    assert damaged.read_bytes() == content


def test_a_segment_file_that_is_gone_is_a_hole(open_store: Open, fill: Fill) -> None:
    store = open_store(segment_bytes=SMALL)
    fill(store.open_log("telemetry", "3"), [30] * 20)
    store.close()
    files(store, ".seg")[1].unlink()
    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    assert "are missing between" in store.recovered[0]
    assert log.next_sequence == 600
    files(store, ".seg")[1].unlink()  # and one more while it is open
    hole = int(files(store, ".seg")[1].name[:20])
    with pytest.raises(SegmentCorrupt, match="No such file"):
        log.batch_at(hole - 1)
    log.trim_to(200)
    assert log.first_sequence == hole
