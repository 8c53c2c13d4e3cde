"""The hook before a pod ends: the executor is told, and waited for as long as there is time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.wait import wait_until
from tidegate.spark.decommission import decommission, executor_in
from tidegate.spark.entry import EXECUTOR_CLASS

PROCESSES = Path("/proc")
# Stands in for the executor's JVM: it ends by the signal that Spark has for it, or does not.
EXECUTOR = """
import signal, sys
signal.signal(signal.SIGPWR, lambda *_: {when_told})
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of processes with what one of Spark's pods has: an init, the executor, Python."""
    add(tmp_path, 1, "tini", "--", "java", EXECUTOR_CLASS)
    add(tmp_path, 30, "python", "-m", "pyspark.daemon")
    (tmp_path / "self").mkdir()
    yield tmp_path


def add(folder: Path, process: int, *words: str) -> None:
    (folder / str(process)).mkdir()
    (folder / str(process) / "cmdline").write_bytes(b"".join(f"{w}\0".encode() for w in words))


@pytest.fixture
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that looks like an executor: `sys.exit()` or `None` is what it does when told."""
    java = tmp_path / "programs" / "java"
    java.parent.mkdir()
    java.symlink_to(sys.executable)
    code = EXECUTOR.format(when_told=request.param)
    # The name of the class is a word of its own, as in the JVM's command.
    process = subprocess.Popen(
        [str(java), "-S", "-c", code, "-Xmx1g", EXECUTOR_CLASS], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def only(process: subprocess.Popen[str], folder: Path) -> Path:
    """A folder of processes in which that one is, as the system shows it."""
    seen = folder / "processes"
    seen.mkdir()
    (seen / str(process.pid)).symlink_to(PROCESSES / str(process.pid))
    return seen


def test_the_executor_is_told_from_the_init_that_started_it(folder: Path) -> None:
    assert executor_in(folder) is None
    add(folder, 112, "java", "-Xmx1g", "-cp", "jars", EXECUTOR_CLASS, "--cores", "2")
    assert executor_in(folder) == 112


def test_a_process_that_ended_while_it_was_looked_at_is_passed_over(folder: Path) -> None:
    (folder / "7").mkdir()
    add(folder, 112, "java", EXECUTOR_CLASS)
    assert executor_in(folder) == 112


def test_where_no_executor_runs_the_hook_returns_at_once(folder: Path) -> None:
    said: list[str] = []
    assert decommission(folder, 0.0, said.append)
    assert said == ["No executor runs here, so there is none to take out of work."]


@pytest.mark.parametrize("executor", ["sys.exit()"], indirect=True)
def test_the_hook_returns_when_the_executor_has_ended_its_work(
    executor: subprocess.Popen[str], tmp_path: Path
) -> None:
    said: list[str] = []
    assert decommission(only(executor, tmp_path), 30.0, said.append)
    wait_until(lambda: executor.poll() is not None, 10, "the end of the executor")
    assert executor.returncode == 0
    assert said[0] == "The pod is to end: the executor takes no new tasks."
    assert said[1].startswith("The executor ended its work in ")


@pytest.mark.parametrize("executor", ["None"], indirect=True)
def test_an_executor_that_goes_on_working_is_left_to_the_end_of_the_pod(
    executor: subprocess.Popen[str], tmp_path: Path
) -> None:
    said: list[str] = []
    assert not decommission(only(executor, tmp_path), 0.3, said.append)
    assert executor.poll() is None
    assert said[1] == "The executor had not ended its work after 0 s."
