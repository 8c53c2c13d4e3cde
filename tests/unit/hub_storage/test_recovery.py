"""What a start makes of a directory that a crash, a bad disk or a person has left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.store_files import SMALL, files, overwrite
from tidegate_hub.storage import Batch, PartitionLog, Store

Fill = Callable[[PartitionLog, list[int]], list[Batch]]
Check = Callable[[PartitionLog], None]
Open = Callable[..., Store]
Abandon = Callable[[Store], None]


def test_an_incomplete_batch_is_cut_and_the_report_says_how_much_of_it_there_was(
    open_store: Open, fill: Fill, check_events: Check, abandon: Abandon
) -> None:
    store = open_store()
    fill(store.open_log("telemetry", "3"), [990, 2, 30])
    abandon(store)
    (segment,) = files(store, ".seg")
    whole = segment.read_bytes()
    start = whole.rindex(b"TGB1")
    segment.write_bytes(whole[: start + 1234])

    store = open_store()
    log = store.open_log("telemetry", "3")
    assert store.recovered == ["telemetry/3: cut 1,234 bytes after sequence 991: incomplete batch"]
    assert log.next_sequence == 992
    fill(log, [8])
    check_events(log)
    log = open_store().open_log("telemetry", "3")
    assert log.next_sequence == 1000
    check_events(log)


@pytest.mark.parametrize(
    ("garbage", "words"),
    [
        (b"\0" * 5000, "cut 5,000 bytes after sequence 9: not a batch"),
        (b"TGB1" + b"\xff" * 60, "cut 64 bytes after sequence 9: incomplete batch"),
        (b"TGB1" + b"\0" * 60, "cut 64 bytes after sequence 9: checksum does not match"),
    ],
)
def test_bytes_that_are_no_batch_are_cut(
    *,
    open_store: Open,
    fill: Fill,
    check_events: Check,
    abandon: Abandon,
    garbage: bytes,
    words: str,
) -> None:
    store = open_store()
    fill(store.open_log("telemetry", "3"), [10])
    abandon(store)
    with files(store, ".seg")[0].open("ab") as file:
        file.write(garbage)
    store = open_store()
    check_events(store.open_log("telemetry", "3"))
    assert store.recovered == [f"telemetry/3: {words}"]


def test_corruption_in_the_middle_of_the_last_segment_cuts_from_there(
    open_store: Open, fill: Fill, check_events: Check, abandon: Abandon
) -> None:
    store = open_store()
    fill(store.open_log("telemetry", "3"), [10, 10, 10])
    abandon(store)
    (segment,) = files(store, ".seg")
    overwrite(segment, segment.read_bytes().index(b"event 15;"), b"E")
    store = open_store()
    log = store.open_log("telemetry", "3")
    assert log.next_sequence == 10
    check_events(log)
    assert store.recovered[0].endswith("after sequence 9: checksum does not match")


def test_a_start_does_not_read_segments_that_have_a_sidecar(
    open_store: Open, fill: Fill, check_events: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(open_store(segment_bytes=SMALL).open_log("telemetry", "3"), [30] * 40)
    store = open_store(segment_bytes=SMALL)
    wanted: list[int] = []
    read = store._shared.files.read

    def noted_read(_: object, path: str, at: int, length: int) -> bytes:
        wanted.append(length)
        return read(path, at, length)

    monkeypatch.setattr(type(store._shared.files), "read", noted_read)
    log = store.open_log("telemetry", "3")
    assert len(wanted) == len(files(store, ".seg")) > 5
    assert set(wanted) == {44}  # the header of each
    check_events(log)


@pytest.mark.parametrize("content", [None, b"", b"rubbish" * 30])
def test_a_missing_or_bad_sidecar_is_made_again(
    open_store: Open, fill: Fill, check_events: Check, content: bytes | None
) -> None:
    store = open_store(segment_bytes=SMALL)
    fill(store.open_log("telemetry", "3"), [30] * 20)
    store.close()
    before = {path.name: path.read_bytes() for path in files(store, ".idx")}
    for path in files(store, ".idx"):
        path.unlink() if content is None else path.write_bytes(content)
    store = open_store(segment_bytes=SMALL)
    check_events(store.open_log("telemetry", "3"))
    assert store.recovered == []
    store.close()
    assert {path.name: path.read_bytes() for path in files(store, ".idx")} == before


def test_a_sidecar_that_goes_bad_while_the_hub_runs_is_done_without(
    open_store: Open, fill: Fill, check_events: Check
) -> None:
    store = open_store(segment_bytes=SMALL, memory_budget_bytes=1)
    log = store.open_log("telemetry", "3")
    fill(log, [30] * 20)
    for path in files(store, ".idx"):
        path.write_bytes(b"rubbish")
    check_events(log)


@pytest.mark.parametrize("kept", [0, 20])
def test_a_new_segment_whose_header_was_not_written_is_begun_again(
    open_store: Open, fill: Fill, check_events: Check, abandon: Abandon, kept: int
) -> None:
    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    fill(log, [30] * 10)
    last = (log.next_offset, log.last_offset, log.last_enqueued_ms)
    abandon(store)
    begun = files(store, ".seg")[0].with_name(f"{300:020d}-{log.next_offset:020d}.seg")
    begun.write_bytes(files(store, ".seg")[0].read_bytes()[:kept])
    log = open_store(segment_bytes=SMALL).open_log("telemetry", "3")
    assert (log.next_offset, log.last_offset, log.last_enqueued_ms) == last
    fill(log, [5])
    log = open_store(segment_bytes=SMALL).open_log("telemetry", "3")
    assert log.next_sequence == 305
    check_events(log)


def test_a_segment_file_left_behind_by_a_failed_roll_does_no_harm(
    open_store: Open, fill: Fill, check_events: Check, abandon: Abandon
) -> None:
    store = open_store()
    log = store.open_log("telemetry", "3")
    fill(log, [10])
    left = files(store, ".seg")[0].with_name(f"{10:020d}-{log.next_offset:020d}.seg")
    left.write_bytes(b"")
    fill(log, [10])
    abandon(store)
    store = open_store()
    log = store.open_log("telemetry", "3")
    assert (log.next_sequence, store.recovered) == (20, [])
    assert not left.exists()
    check_events(log)


def test_a_file_that_lost_its_end_is_reported_and_its_old_sidecar_never_used_again(
    open_store: Open, fill: Fill, check_events: Check, abandon: Abandon
) -> None:
    store = open_store()
    fill(store.open_log("telemetry", "3"), [10, 10])
    store.close()
    (segment,) = files(store, ".seg")
    segment.write_bytes(segment.read_bytes()[: segment.read_bytes().rindex(b"TGB1")])
    store = open_store()
    log = store.open_log("telemetry", "3")
    assert "bytes shorter than it was left" in store.recovered[0]
    fill(log, [40])
    abandon(store)
    store = open_store()
    log = store.open_log("telemetry", "3")
    assert (log.next_sequence, store.recovered) == (50, [])
    check_events(log)


def test_a_start_file_older_than_the_segments_does_not_bring_trimmed_events_back(
    open_store: Open, fill: Fill, check_events: Check
) -> None:
    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    fill(log, [30] * 20)
    log.trim_to(5)
    start = files(store, ".seg")[0].with_name("start")
    older = start.read_bytes()
    log.trim_to(500)
    store.close()
    start.write_bytes(older)
    store = open_store(segment_bytes=SMALL)
    log = store.open_log("telemetry", "3")
    assert log.first_sequence == int(files(store, ".seg")[0].name[:20])
    assert 5 < log.first_sequence <= 500
    check_events(log)
    start.write_bytes(b"rubbish")
    store = open_store(segment_bytes=SMALL)
    check_events(store.open_log("telemetry", "3"))
    assert store.recovered == [
        "telemetry/3: the file start is damaged: trimmed events may be back until the next trim"
    ]


def test_files_of_other_kinds_are_left_alone(open_store: Open, fill: Fill) -> None:
    store = open_store()
    fill(store.open_log("telemetry", "3"), [10])
    store.close()
    home = files(store, ".seg")[0].parent
    (home / "notes.txt").write_text("mine")
    (home / "start.tmp").write_text("half written")
    (home / f"{99:020d}-{99:020d}.idx").write_text("of no segment")
    store = open_store()
    assert store.open_log("telemetry", "3").next_sequence == 10
    assert sorted(path.suffix for path in home.iterdir()) == [".idx", ".seg", ".txt"]
