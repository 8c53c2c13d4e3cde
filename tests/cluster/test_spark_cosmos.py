"""A group on Spark that reads the change feed of a Cosmos container, through a split.

Wants the image of Spark on the cluster: `make cluster SPARK=1`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.cluster_container import RANGES, Read, container_group
from support.cluster_release import Release
from support.cluster_spark import SMALL

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]

RATE = 20.0


@pytest.fixture
def read(release: Release, storage: str) -> Iterator[Read]:
    spark = SMALL | {"schema": "n long", "triggerSeconds": 1}
    code = "container_pipeline.py:pipeline"
    scaling = {"min": 1, "max": 1, "objective": {"within": "60s"}}
    with container_group(
        release, storage, code, name="items-on-spark", engine="spark", spark=spark, scaling=scaling
    ) as read:
        yield read


def test_spark_reads_a_container_through_a_split_once_each_item_and_tells_the_lag(
    read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    group = read.group
    read.send(RATE)
    group.until("a batch", lambda: (group.status().get("spark") or {}).get("lastBatch"), 120)
    read.split()
    group.until("the parts of the range to be read", lambda: len(group.owners()) == RANGES + 1, 90)
    assert group.events("PartitionSplit")
    read.send(0)
    read.until_all_seen(90)
    group.until("no lag to be told", lambda: group.status().get("lag") == 0, 60)
    seen = read.seen()
    with capsys.disabled():
        print(f"\n{len(seen)} items, {seen.total() - len(seen)} given twice, through a split")
    assert sorted(seen) == list(range(read.written()))
    assert seen.total() == len(seen)
    assert not read.disorder()
    assert group.status()["spark"]["phase"] == "running"
