"""A group that reads the change feed of a Cosmos container has as many pods as its lag needs, and
goes on through a split.

Every item is numbered: none is lost, none comes out of order within its home, and what was planned
repeats nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.cluster_container import RANGES, Read, container_group
from support.cluster_release import Release
from support.cluster_sized import OBJECTIVE_S, SHRINK_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

# One consumer handles twenty items a second.
CALM, BUSY = 4.0, 40.0
NOTICED_S = 5.0


@pytest.fixture
def read(release: Release, storage: str) -> Iterator[Read]:
    with container_group(release, storage) as read:
        yield read


def test_a_container_is_read_by_as_many_pods_as_its_lag_needs_through_a_split(
    read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    read.send(CALM)
    read.until_known()
    cause = read.send(BUSY)
    count, asked_at = read.until_asked(lambda count: count > 1, 30)
    assert asked_at - cause <= NOTICED_S
    read.split()
    read.group.until(
        "the parts of the range to be read",
        lambda: len(read.group.owners()) == RANGES + 1,
        60,
    )
    assert read.group.events("PartitionSplit")
    wanted = read.until_rested(150)
    read.group.until(
        "what waits to be handled", lambda: int(read.group.status()["lag"]) < BUSY, 2 * OBJECTIVE_S
    )
    assert wanted == 4, read.scaling()
    fallen = read.send(CALM)
    _, fewest_at = read.until_asked(lambda count: count == 1, 4 * SHRINK_S)
    read.group.until_settled(1, 90)
    read.send(0)
    read.until_all_seen(60)
    seen = read.seen()
    with capsys.disabled():
        print(
            f"\n1 -> {count}, {asked_at - cause:.1f} s after the cause; a split; {wanted} -> 1, "
            f"{fewest_at - fallen:.1f} s after the load fell; {len(seen)} items, "
            f"{seen.total() - len(seen)} given twice"
        )
    assert sorted(seen) == list(range(read.written()))
    assert seen.total() == len(seen)
    assert not read.disorder()
