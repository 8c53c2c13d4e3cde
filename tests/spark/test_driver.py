"""`tidegate run` with `engine: spark`, from its start to its clean stop."""

from __future__ import annotations

import re
import signal

import psutil
import pytest

from support.driven_group import NAME, DrivenGroup, NewDriven, are_gone, spark_folders, truth
from support.struck_driver import JVM, MASTER, end_by

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
    _know_one_another(driven)
    driven.group.signal(NAME, signal.SIGTERM)
    assert driven.group.ended(NAME) == 0, driven.said[-3000:]
    # Handed over: nobody has to wait for a lease.
    assert driven.shares() == {}
    are_gone(there)
    assert spark_folders(driven.group.folder) == []


def _arguments(process: psutil.Process) -> str:
    """None of one that has ended meanwhile: workers come and go."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def _know_one_another(driven: DrivenGroup) -> None:
    """By a secret that only whoever runs them can read."""
    (folder,) = spark_folders(driven.group.folder)
    (said,) = re.findall(r"secret (\w{64})", (folder / "conf" / "spark-defaults.conf").read_text())
    started = (folder / "standalone" / "master.log").read_text(encoding="utf-8")
    assert "REST server" not in started
    assert "Expected SaslMessage" not in started, "one of them says it in an older way"
    processes = [*driven.tree(), psutil.Process(driven.pid)]
    assert [each for each in processes if said in _arguments(each)] == []
    assert [each.environ().get("_SPARK_AUTH_SECRET") for each in driven.executors()] == [said]
    assert said not in driven.said


def test_a_driver_whose_jvm_is_killed_before_its_query_has_begun_says_why(
    new_driven: NewDriven,
) -> None:
    driven = new_driven(partitions=2)
    driven.start()
    end_by(driven, JVM)
    assert "\ntidegate: DriverKilled: " in driven.said
    assert spark_folders(driven.group.folder) == []


@pytest.mark.parametrize("kind", [JVM, MASTER])
def test_a_driver_that_loses_what_it_cannot_do_without_hands_over_and_says_why(
    new_driven: NewDriven, kind: str
) -> None:
    driven = new_driven(partitions=2)
    driven.group.send("0", 0, 100)
    driven.start()
    driven.until_totals(100)
    end_by(driven, kind)
    # Nobody has to wait for a lease.
    assert driven.shares() == {}
    assert spark_folders(driven.group.folder) == []
