"""A driver, its executors and their Python workers are killed at random; no event is lost or twice.

Rules: what is killed, and when, follows from the seed; the log of a failure names it.
"""

from __future__ import annotations

import contextlib
import random
import time

import psutil
import pytest

from support.driven_group import NAME, DrivenGroup, NewDriven, are_gone, truth
from support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PARTITIONS = 4
EVENTS = 200  # of each partition, before each kill
KINDS = ("worker", "executor", "planner", "driver", "worker", "driver", "planner", "executor")


def kill_one(driven: DrivenGroup, processes: list[psutil.Process], dice: random.Random) -> None:
    # It may have ended by itself meanwhile: then nothing is proved and nothing is broken.
    with contextlib.suppress(psutil.NoSuchProcess):
        dice.choice(processes).kill()


def strike(driven: DrivenGroup, kind: str, dice: random.Random) -> None:
    """Kills one process of this kind, somewhere within a batch or between two."""
    if kind == "driver":
        there = driven.tree()
        driven.group.kill(NAME)
        # Nothing of it outlives it.
        are_gone(there)
        start(driven)
        return
    find = {
        "executor": driven.executors,
        "planner": driven.planners,
        "worker": driven.python_workers,
    }
    found = wait_until(find[kind], 300, f"a {kind} to be there", lambda: driven.said[-3000:])
    time.sleep(dice.random())
    kill_one(driven, found, dice)


def start(driven: DrivenGroup) -> None:
    driven.start("--executors", "2", "--scratch", str(driven.group.folder / "leases"))


def test_totals_are_exact_whatever_is_killed(new_driven: NewDriven) -> None:
    dice = random.Random(7)
    driven = new_driven(partitions=PARTITIONS)
    start(driven)
    sent = 0
    for kind in KINDS:
        for partition in range(PARTITIONS):
            driven.group.send(str(partition), sent, sent + EVENTS)
        sent += EVENTS
        strike(driven, kind, dice)
    driven.until_totals(sent * PARTITIONS, 300)
    # What a killed batch had read comes again, if it comes at all, before what is sent now.
    for partition in range(PARTITIONS):
        driven.group.send(str(partition), sent, sent + EVENTS)
    sent += EVENTS
    driven.until_totals(sent * PARTITIONS, 300)
    assert driven.totals() == truth(PARTITIONS, 0, sent), driven.said[-3000:]
    # The query that had lost its planner was begun anew, in the same process.
    assert "the query failed and is begun anew" in driven.said
    driven.group.stop(NAME)
    assert driven.totals() == truth(PARTITIONS, 0, sent)
