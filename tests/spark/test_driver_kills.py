"""A driver, its executors, their workers and a Python member are killed; every row is exact.

Rules: what is killed, and when, follows from the seed; the log of a failure names it. Longer, and
at random: make bench-spark-exactness.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.activity_groups import POD, ActivityGroup, activity_group
from support.struck_driver import KINDS
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PARTITIONS = 4
EVENTS = 3_000  # of each partition
SECONDS = 30.0


@pytest.fixture
def activity(
    hub_server: RunningHub, azurite: str, java_home: Path, tmp_path: Path
) -> Iterator[ActivityGroup]:
    with activity_group(hub_server, azurite, tmp_path, PARTITIONS) as made:
        yield made


def test_every_row_is_exact_whatever_is_killed(activity: ActivityGroup) -> None:
    dice = random.Random(7)
    activity.start()
    with activity.sending(EVENTS, SECONDS):
        for kind in (*KINDS, POD):
            activity.strike(kind, dice)
    activity.wait_until_handled(EVENTS, 300)
    activity.stop()
    found = activity.compared(EVENTS)
    assert found.wrong == 0, activity.driven.said[-3000:]
    assert found.rows > 0
    # Spark has written slices as well, not the Python member alone.
    assert found.tables > 0
    # The query that had lost its planner was begun anew, in the same process.
    assert "the query failed and is begun anew" in activity.driven.said
