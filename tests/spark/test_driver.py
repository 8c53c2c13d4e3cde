"""`tidegate run` with `engine: spark`, from its start to its clean stop."""

from __future__ import annotations

import signal

import pytest

from support.driven_group import NAME, NewDriven, are_gone, spark_folders, truth

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_driver_counts_every_event_once_and_leaves_nothing_behind(
    new_driven: NewDriven,
) -> None:
    driven = new_driven()
    for partition in range(4):
        driven.group.send(str(partition), 0, 500)
    driven.start()
    driven.until_totals(2000)
    assert driven.totals() == truth(4, 0, 500)
    assert driven.shares() == {f"{NAME}-x0": 4}
    metrics = driven.metrics()
    assert f'group="{driven.group.name}",phase="running"' in metrics
    assert f'tidegate_spark_executors{{group="{driven.group.name}"}} 1.0' in metrics
    there = driven.tree()
    driven.group.signal(NAME, signal.SIGTERM)
    assert driven.group.ended(NAME) == 0, driven.said[-3000:]
    # Handed over: nobody has to wait for a lease.
    assert driven.shares() == {}
    are_gone(there)
    assert spark_folders(driven.group.folder) == []
