"""A driver, its executors and their Python workers are killed at random; no event is lost or twice.

Rules: what is killed, and when, follows from the seed; the log of a failure names it.
"""

from __future__ import annotations

import random

import pytest

from support.driven_group import NAME, NewDriven, truth
from support.struck_driver import start, strike

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PARTITIONS = 4
EVENTS = 200  # of each partition, before each kill
# Longer, and with more: make bench-spark-exactness.
KINDS = ("worker", "planner", "driver", "executor")


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
