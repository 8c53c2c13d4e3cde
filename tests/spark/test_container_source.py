"""The source on a container in a real session: every item, also through splits and merges."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from support.container_group import ContainerGroup, a_container_group
from support.container_stream import ContainerStream
from support.wait import wait_until
from tidegate_cosmos.testing import RunningCosmos

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NewStream = Callable[..., ContainerStream]
_OFFICE = "tidegate.spark.own_office"


@pytest.fixture
def new_stream(
    spark: SparkSession, cosmos_server: RunningCosmos, azurite: str, tmp_path: Path
) -> Iterator[NewStream]:
    with ExitStack() as stack:

        def make(**options: Any) -> ContainerStream:
            group = a_container_group(cosmos_server, azurite, tmp_path, **options)
            made = ContainerStream(spark, stack.enter_context(group), tmp_path)
            stack.callback(made.stop)
            return made

        yield make


def offices(stream: ContainerStream) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if {_OFFICE, str(stream.group.file)} <= set(process.info["cmdline"] or ())
    ]


def parted(group: ContainerGroup) -> bool:
    """Whether the partitions are the ranges that the service has."""
    return list(group.tiling().partitions) == group.partitions_of_service()


def test_what_is_there_is_read_once_in_limits_and_the_stream_ends(new_stream: NewStream) -> None:
    stream = new_stream(ranges=2)
    stream.group.write(300)
    stream.run_to_the_end(maxEvents=100)
    assert stream.counts == dict.fromkeys(range(300), 1)
    assert max(map(len, stream.batches)) <= 100
    assert len(stream.batches) >= 3
    # All is handed over before the query says that it has ended.
    assert not any(row.lease.is_held for row in stream.group.listing().ownerships.values())
    # The next one goes on there, also where a range was split while nobody read.
    stream.group.split()
    stream.group.write(100)
    stream.run_to_the_end()
    assert stream.counts == dict.fromkeys(range(400), 1)


def test_a_split_and_a_merge_under_write_lose_nothing_and_double_nothing(
    new_stream: NewStream,
) -> None:
    stream = new_stream(ranges=2)
    group = stream.group
    group.write(100)
    query = stream.start(maxEvents=500, members=2)
    stream.wait_until_all_came()
    with group.writing(per_s=200):
        group.split(0)
        wait_until(lambda: parted(group), 90, "the split range to be two", group.tiling)
        group.merge(1)
        wait_until(lambda: parted(group), 90, "the merged ranges to be one", group.tiling)
    stream.wait_until_all_came()
    assert stream.counts == dict.fromkeys(range(group.written), 1)
    assert len(stream.partitions()) > 3, "the halves were partitions of their own"
    assert query.exception() is None


def test_after_a_kill_of_the_planner_a_batch_comes_again_and_nothing_else(
    new_stream: NewStream,
) -> None:
    stream = new_stream(ranges=2)
    stream.group.write(400)
    query = stream.start(maxEvents=100)
    wait_until(lambda: len(stream.counts) >= 200, 120, "half of it", lambda: len(stream.counts))
    (office,) = offices(stream)
    parent = office.parent()
    assert parent is not None
    os.kill(parent.pid, signal.SIGKILL)
    stream.error(query)
    wait_until(lambda: not offices(stream), 90, "the office to end", lambda: offices(stream))
    stream.start(maxEvents=100)
    stream.wait_until_all_came()
    assert sum(stream.counts.values()) - 400 <= 2 * 100


def test_a_batch_reads_a_range_and_owns_nothing(new_stream: NewStream) -> None:
    stream = new_stream(ranges=2)
    stream.group.write(50)
    first, second = stream.group.partitions_of_service()
    rows = stream.batch()
    assert sorted(row.n for row in rows) == list(range(50))
    assert {(row.operation, row.id == str(row.n)) for row in rows} == {("upsert", True)}
    of_first = sorted((row.sequence, row.n) for row in rows if row.partition == first)
    lsn, (third, fifth) = of_first[2][0], (of_first[2], of_first[4])
    found = stream.batch(
        begin=json.dumps({first: lsn, second: 0}), to=json.dumps({first: fifth[0]})
    )
    assert [(row.sequence, row.n) for row in found] == of_first[2:5]
    assert third[0] == lsn
    assert stream.batch(begin="2100-01-01") == []
    assert len(stream.batch(begin="2020-01-01", to="2100-01-01")) == 50
    assert stream.batch(begin="latest") == []
    assert stream.group.listing().checkpoints == {}
    stream.group.split()
    assert sorted(row.n for row in stream.batch()) == list(range(50))


def test_what_a_batch_of_a_container_cannot_be_is_said(new_stream: NewStream) -> None:
    stream = new_stream()
    with pytest.raises(Exception, match="'consumerGroup' says nothing to a container"):
        stream.batch(consumerGroup="other")
    with pytest.raises(Exception, match="the container has no range '00-01' now"):
        stream.batch(begin=json.dumps({"00-01": 3}))
    all_versions = new_stream(source="mode: allVersionsAndDeletes", start="latest")
    with pytest.raises(Exception, match=r"spark\.read goes back, and a feed of allVersions"):
        all_versions.batch()


def test_progress_says_how_far_the_ranges_have_come_and_the_lag(new_stream: NewStream) -> None:
    stream = new_stream(ranges=1)
    stream.group.write(30)
    query = stream.start(maxEvents=20)
    stream.wait_until_all_came()

    def told() -> list[int]:
        sources = [progress["sources"][0] for progress in query.recentProgress]
        ends = [json.loads(each["latestOffset"]) for each in sources if each["latestOffset"]]
        return [end["-ff"]["lag"] for end in ends if "-ff" in end]

    wait_until(lambda: told() and told()[-1] == 0, 60, "no lag to be told", told)
    assert max(told()) == 30
