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
from support.driven_group import NAME
from support.struck_driver import KINDS, PLANNER
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PARTITIONS = 4
EVENTS, LAST = 3_000, 3_100  # of each partition
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
    with activity.sending(0, EVENTS, SECONDS):
        for kind in (*KINDS, POD):
            activity.strike(kind, dice)
            if kind == PLANNER:
                # By the same process: otherwise the next kill may come before that is noticed.
                activity.driven.until_said("the query failed and is begun anew")
    activity.wait_until_handled(EVENTS, 300)
    # However slowly the driver came back: the last ones are for nobody else.
    activity.group.stop(POD)
    with activity.sending(EVENTS, LAST, 1.0):
        activity.wait_until_handled(LAST, 300)
    activity.group.stop(NAME)
    found = activity.compared(LAST)
    assert found.wrong == 0, activity.driven.said[-3000:]
    assert found.rows > 0
    assert found.tables > 0, "the driver has written slices"
