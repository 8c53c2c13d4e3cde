"""Spark's master and workers on this machine: who of them ends, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support.wait import wait_until
from tidegate.spark.standalone import Standalone

# What starts Spark's programs, with programs that do nothing.
SPARK_CLASS = """#!/bin/sh
case "$1" in *Master) echo "Starting Spark master at spark://127.0.0.1:1" ;; esac
exec sleep 600
"""


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    program = tmp_path / "home" / "bin" / "spark-class"
    program.parent.mkdir(parents=True)
    program.write_text(SPARK_CLASS, encoding="utf-8")
    program.chmod(0o755)
    made = Standalone(tmp_path / "home", tmp_path, tmp_path / "work", cores=1, memory_mib=512)
    yield made
    made.stop()


def test_a_master_that_ends_is_told_with_what_to_look_at(standalone: Standalone) -> None:
    assert standalone.start() == "spark://127.0.0.1:1"
    assert standalone.end() is None
    # Other tests may have processes of their own.
    (master,) = [each for each in psutil.Process().children() if "sleep" in each.cmdline()]
    master.kill()
    wait_until(lambda: standalone.end() is not None, 30, "the end of the master to be seen")
    failure = standalone.end()
    assert failure is not None
    assert (failure.reason, failure.blames_events) == ("MasterLost", False)
    assert "ended with code -9" in failure.message
