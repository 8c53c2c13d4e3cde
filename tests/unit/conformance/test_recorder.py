"""What handlers write down is what they were given: ranges without a gap, by stream, and each call
once, however often storage took it."""

from __future__ import annotations

import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
from azure.core.exceptions import ServiceRequestError

from support.conformance_runs import SETTING, verdict
from tidegate_operator.conformance import recorder
from tidegate_operator.conformance.record import Disturbed, Record, take
from tidegate_operator.conformance.recorder import HOMES, lines_of, runs
from tidegate_operator.conformance.verdicts import Outcome
from tidegate_operator.conformance.written import Written


class Numbered(dict[str, int]):
    """As a change of the feed is: an item, and its place."""

    sequence_number = 7


def test_events_of_a_hub_are_ranges_of_sequence_numbers() -> None:
    events = [SimpleNamespace(sequence_number=number) for number in (3, 4, 5, 9, 10)]
    assert list(runs(events, "7")) == [("7", 3, 5), ("7", 9, 10)]


def test_changes_of_a_container_are_ranges_of_each_home() -> None:
    changes = [Numbered(n=number) for number in (1, HOMES + 1, 2, 2 * HOMES + 1, 3 * HOMES + 2)]
    assert list(runs(changes, "range")) == [
        ("home-1", 0, 2), ("home-2", 0, 0), ("home-2", 3, 3),
    ]  # fmt: skip


def test_a_line_has_who_and_in_which_life_partition_epoch_stream_and_range() -> None:
    line = lines_of("pod-1", "3", 4, [("3", 10, 19)])
    at, who, *rest = line.strip().split(" ")
    assert float(at) > 0 and who.startswith("pod-1#")
    number, what = rest.pop(-2), rest.pop()
    assert rest == ["3", "4", "3", "10", "19"]
    assert number.isdecimal() and what == "handled"


class Storage:
    """An append blob. `fails`: of which appends the reply is lost, so that the SDK appends the same
    again ('twice'), or gives up, with the append there ('there') or not ('gone')."""

    def __init__(self, *fails: str) -> None:
        self.said = b""
        self._fails = list(fails)

    async def append_block(self, lines: bytes) -> None:
        how = self._fails.pop(0) if self._fails else ""
        self.said += b"" if how == "gone" else lines
        if how == "twice":
            self.said += lines
        elif how:
            raise ServiceRequestError("no reply")


@pytest.fixture
def pen(monkeypatch: pytest.MonkeyPatch) -> recorder.Pen:
    monkeypatch.setattr(recorder, "_failed", [])
    found = recorder.Pen()
    # Its blob was made.
    found._count = 1
    monkeypatch.setattr(recorder, "_pen", found)
    return found


async def given(pen: recorder.Pen, storage: Storage, *batches: range) -> Record:
    """What is seen where Tidegate gives each batch of a partition until the handler comes back."""
    pen._blob = storage
    context = SimpleNamespace(member="a", partition="0", epoch=1)
    for batch in batches:
        events = [SimpleNamespace(sequence_number=number) for number in batch]
        is_handled = False
        while not is_handled:
            with suppress(ServiceRequestError):
                await recorder.handle(events, context)
                is_handled = True
    record = Record(SETTING, ended=time.time() + 1)
    record.sent = {"0": (0, batches[-1][-1] + 1)}
    record.disturbed = [Disturbed("delete", 0.0, 0.0, 1.0)]
    written = Written()
    # As it comes: with half a line at the end.
    rows = written.take(storage.said[:-5])
    take(record, rows + written.take(storage.said[written.through :]))
    return record


@pytest.mark.parametrize("how", ["twice", "there", "gone"])
async def test_a_call_whose_append_got_no_reply_is_one_call_and_what_comes_again_for_it_is_right(
    how: str, pen: recorder.Pen
) -> None:
    record = await given(pen, Storage("", how), range(5), range(5, 10), range(10, 15))
    assert [(row.first, row.last) for row in record.handled] == [(0, 4), (5, 9), (10, 14)]
    assert [(row.first, row.last) for row in record.failed] == [(5, 9)] * (how != "twice")
    for name in ("P2", "P4", "P5"):
        assert verdict(record, name).outcome is Outcome.HELD


async def test_calls_that_fail_one_after_another_are_all_told_with_the_next_that_does_not(
    pen: recorder.Pen,
) -> None:
    record = await given(pen, Storage("there", "gone", "there"), range(5), range(5, 10))
    assert [(row.first, row.last) for row in record.handled] == [(0, 4), (5, 9)]
    assert len(record.failed) == 3
    assert verdict(record, "P5").said.endswith("; 3 failed, and were not counted")


async def test_what_comes_again_without_a_failure_that_was_told_breaks_order_and_counts_twice(
    pen: recorder.Pen,
) -> None:
    record = await given(pen, Storage(), range(5), range(5, 10), range(5, 10))
    for name in ("P4", "P5"):
        assert verdict(record, name).outcome is Outcome.BROKEN


def test_a_call_that_failed_is_none_also_where_that_is_told_before_it_or_twice() -> None:
    record = Record(SETTING)
    call = [1.0, "a#1", "0", 1, "0", 5, 9]
    take(record, [["failed", *call], ["handled", *call], ["failed", *call]])
    assert record.handled == [] and len(record.failed) == 1
