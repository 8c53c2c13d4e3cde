"""The source in a real session, without a driver of ours: all events, once, in order."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import psutil
import pytest

from support.spark_streams import NewStream, SparkStream, sent
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow

_OFFICE = "tidegate.spark.own_office"


def is_whole(stream: SparkStream, events: int) -> None:
    """Every event came once, and in order."""
    assert set(stream.counts.values()) == {1}
    assert len(stream.counts) == events
    for sequences in stream.in_order().values():
        assert sequences == list(range(len(sequences)))


def offices(stream: SparkStream) -> list[psutil.Process]:
    """Those of the stream; what was started before may still be ending."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if {_OFFICE, str(stream.group.file)} <= set(process.info["cmdline"] or ())
    ]


def no_office(stream: SparkStream) -> None:
    wait_until(lambda: not offices(stream), 90, "the office to end", detail=lambda: offices(stream))


def test_what_is_there_is_read_once_in_limits_and_the_stream_ends(new_stream: NewStream) -> None:
    stream = new_stream(partitions=3)
    events = sent(stream, 0, 200)
    stream.run_to_the_end(maxEvents=150)
    is_whole(stream, events)
    assert [len(batch) for batch in stream.batches] == [150, 150, 150, 150]
    # All is handed over before the query says that it has ended.
    stream.wait_until_handled(events, 1)
    assert not any(row.lease.is_held for row in stream.group.listing().ownerships.values())
    # The next run, with Spark's checkpoint or a new one, goes on where the ledger stands.
    events += sent(stream, 200, 210)
    stream.run_to_the_end()
    events += sent(stream, 210, 220)
    stream.run_to_the_end("another life")
    is_whole(stream, events)


def test_a_stream_that_ends_reads_nothing_that_comes_after_it_began(
    new_stream: NewStream,
) -> None:
    stream = new_stream(partitions=2)
    events = sent(stream, 0, 50)
    take = stream._take

    def send_more(frame: Any, number: int) -> None:
        take(frame, number)
        sent(stream, 1_000, 1_010)

    stream._take = send_more  # type: ignore[method-assign]
    stream.run_to_the_end(maxEvents=20)
    assert len(stream.counts) == events


def test_an_empty_hub_is_no_matter(new_stream: NewStream) -> None:
    stream = new_stream()
    stream.run_to_the_end()
    assert stream.rows == []
    query = stream.start(life="on")
    events = sent(stream, 0, 10)
    stream.wait_for(events)
    assert query.lastProgress is not None
    is_whole(stream, events)


def test_a_query_goes_on_where_it_was_stopped_and_new_partitions_come_in(
    new_stream: NewStream, hub_server: RunningHub
) -> None:
    stream = new_stream(partitions=2)
    events = sent(stream, 0, 300)
    stream.start(maxEvents=100, members=2)
    stream.wait_for(events)
    stream.wait_until_handled(events)
    stream.stop()
    no_office(stream)
    hub_server.grow_hub(stream.group.hub_name, 4)
    stream.group.partitions = 4
    events += sent(stream, 300, 400)
    stream.start(members=2)
    stream.wait_for(events)
    assert set(stream.in_order()) == {"0", "1", "2", "3"}
    hub_server.grow_hub(stream.group.hub_name, 5)
    stream.group.partitions = 5
    events += sent(stream, 400, 450)
    stream.wait_for(events)
    is_whole(stream, events)


def test_after_a_kill_of_the_planner_the_ledger_says_where_to_go_on(
    new_stream: NewStream,
) -> None:
    stream = new_stream(partitions=2)
    events = sent(stream, 0, 400)
    query = stream.start(maxEvents=100)
    stream.wait_for(200)
    (office,) = offices(stream)
    parent = office.parent()
    assert parent is not None
    os.kill(parent.pid, signal.SIGKILL)
    stream.error(query)
    no_office(stream)
    stream.start(maxEvents=100)
    stream.wait_for(events)
    # The batch that was under way comes again, whole; nothing else does.
    again = [row for batch in stream.batches for row in batch if stream.counts[row[0], row[2]] > 1]
    assert len(again) <= 2 * 100
    assert all(set(sequences) == set(range(400)) for sequences in stream.in_order().values())


def test_a_batch_that_fails_is_read_again(new_stream: NewStream) -> None:
    stream = new_stream(partitions=2)
    events = sent(stream, 0, 100)
    stream.fails = True
    assert "the pipeline fails" in stream.error(stream.start())
    stream.fails = False
    no_office(stream)
    stream.start()
    stream.wait_for(events)
    is_whole(stream, events)


def test_a_batch_may_be_read_by_several_actions(new_stream: NewStream) -> None:
    stream = new_stream(partitions=2)
    events = sent(stream, 0, 100)
    take = stream._take
    counts: list[int] = []

    def count_first(frame: Any, number: int) -> None:
        counts.append(frame.count())
        take(frame, number)

    stream._take = count_first  # type: ignore[method-assign]
    stream.run_to_the_end(maxEvents=60)
    assert counts == [len(batch) for batch in stream.batches]
    is_whole(stream, events)


def test_progress_says_how_far_the_partitions_have_come_and_the_lag(
    new_stream: NewStream,
) -> None:
    stream = new_stream(partitions=2)
    events = sent(stream, 0, 30)
    query = stream.start(maxEvents=20)
    nothing_left = {name: {"last": 29, "lag": 0} for name in ("0", "1")}

    def told() -> list[tuple[Any, Any]]:
        """The batch of each trigger, and what was there when it was planned."""
        sources = [progress["sources"][0] for progress in query.recentProgress]
        return [
            (json.loads(source["endOffset"]), json.loads(source["latestOffset"]))
            for source in sources
            if source["endOffset"] and source["latestOffset"]
        ]

    wait_until(
        lambda: told() and told()[-1][1] == nothing_left, 60, "the end to be told", detail=told
    )
    assert len(stream.counts) == events
    lags = {(t["after"], e[p]["lag"]) for b, e in told() for p, t in b.get("turns", {}).items()}
    # Each batch as it was planned, and the last one again, when nothing was left.
    assert (-1, 30) in lags
    assert all(lag in (0, 29 - after) for after, lag in lags), lags
