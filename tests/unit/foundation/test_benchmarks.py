"""The hub's benchmark: the same lines in both modes, and helpers that measure what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import hub as hub_benchmark
import hub_server
from amqp_load import FrameCounter, count_transfers
from harness import Bench, Line
from tidegate_amqp import Connection, ConnectionSettings

TRANSFER = b"\x00\x00\x00\x0e\x02\x00\x00\x00\x00\x53\x14\xc0\x01\x00"
EMPTY = b"\x00\x00\x00\x08\x02\x00\x00\x00"
HEADER = b"AMQP\x00\x01\x00\x00"


def lines_of(tmp_path: Path) -> list[Line]:
    """The lines of a run in which everything that is measured comes out as 1."""

    def as_one(part: hub_benchmark.Part) -> hub_benchmark.Part:
        def measure(_quick: bool) -> Sequence[hub_benchmark.Measured]:
            return [hub_benchmark.Measured(1.0) for _ in part.figures]

        return replace(part, measure=measure)

    bench = Bench("sample", results=tmp_path)
    hub_benchmark.measure_all(bench, [as_one(part) for part in hub_benchmark.PARTS])
    return bench.lines


def test_a_quick_run_lists_every_line_of_a_full_run_with_its_target_or_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUICK", "0")
    full = lines_of(tmp_path)
    monkeypatch.setenv("QUICK", "1")
    quick = lines_of(tmp_path)
    assert [(line.what, line.unit, line.target) for line in quick] == [
        (line.what, line.unit, line.target) for line in full
    ]
    assert all(line.ours == 1.0 and line.reason is None for line in full)
    left_out = [line for line in quick if line.ours is None]
    assert len(left_out) == 7
    assert all(line.reason and "run without QUICK=1" in line.reason for line in left_out)


def test_transfers_are_counted_and_headers_empty_and_partial_frames_are_not() -> None:
    assert count_transfers(TRANSFER * 3) == (3, 3 * len(TRANSFER))
    assert count_transfers(HEADER + EMPTY + TRANSFER + EMPTY) == (1, 38)
    for cut in range(len(TRANSFER)):
        assert count_transfers(TRANSFER + TRANSFER[:cut]) == (1, len(TRANSFER))


async def test_no_frame_is_lost_when_the_counter_begins_to_count() -> None:
    """The first half comes while the connection is still being set up, the rest afterwards."""
    counter = FrameCounter("hub", partitions=1, events=2)
    heard: list[bytes] = []

    class Listening(Connection):
        def receive(self, data: bytes, now: float = 0.0) -> list[object]:  # type: ignore[override]
            heard.append(data)
            return []

    counter.connection = Listening(ConnectionSettings("test"), initiator=False)
    counter.data_received(EMPTY + TRANSFER[:9])
    assert heard == [EMPTY]
    counter._is_counting = True
    counter.data_received(TRANSFER[9:] + TRANSFER[:3])
    assert not counter.done.done()
    counter.data_received(TRANSFER[3:])
    assert counter.done.done()


def test_a_hub_that_does_not_come_up_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_server, "READY_LIMIT_S", 0.0)  # over before the first try
    before = psutil.Process().children()
    with pytest.raises(TimeoutError, match="did not answer"):
        hub_server.Server()
    assert [child for child in psutil.Process().children() if child not in before] == []


def test_a_hub_that_ends_by_itself_is_told_at_once() -> None:
    with pytest.raises(ChildProcessError, match="the hub ended with 2"):
        hub_server.Server("--no-such-option")
