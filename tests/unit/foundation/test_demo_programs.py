"""The demo's programs end with all that they started, and what it fetches is never waited for."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

import demo_spark
from demo_groups import Groups
from demo_programs import Program, surroundings
from support.wait import wait_until

STARTS_ANOTHER = """
import subprocess, sys
other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(f"started {other.pid}", flush=True)
other.wait()
"""


class NoGroups(Groups):
    """Which groups were deleted."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.deleted: list[str] = []

    def delete(self, name: str) -> None:
        self.deleted.append(name)


def fetching(monkeypatch: pytest.MonkeyPatch, java: str, prepare: str) -> None:
    monkeypatch.setattr(demo_spark, "JAVA", ("-c", java))
    monkeypatch.setattr(demo_spark, "PREPARE", ("-c", prepare))


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_what_a_program_started_and_left_ends_with_it() -> None:
    command = (sys.executable, "-c", STARTS_ANOTHER)
    program = Program("a fetch", command, lambda _: None, surroundings())
    pid = int(program.until_said("started", 30).split()[1])
    assert program.end()
    wait_until(lambda: is_gone(pid), 10, "what it started to end")


def test_activity_goes_over_once_all_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetching(monkeypatch, "print('java')", "print('spark')")
    groups, file = NoGroups(), tmp_path / "activity.yaml"
    going = demo_spark.GoingOver(file, groups)
    going.run()
    going.end()
    assert groups.deleted == ["activity"]
    assert "engine: spark" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("broken", ["java", "prepare"])
def test_where_the_fetch_fails_python_goes_on_and_says_why(
    broken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    works, fails = "print('done')", "raise SystemExit('no room on the disk')"
    found = {"java": works, "prepare": works} | {broken: fails}
    fetching(monkeypatch, **found)
    groups, file = NoGroups(), tmp_path / "activity.yaml"
    going = demo_spark.GoingOver(file, groups)
    going.run()
    going.end()
    assert groups.deleted == []
    text = file.read_text(encoding="utf-8")
    assert "engine: spark" not in text
    assert "PySpark could not be had" in text
    assert "no room on the disk" in capsys.readouterr().out


def test_a_fetch_that_the_demos_end_cuts_leaves_nothing_behind_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetching(monkeypatch, "print('java')", STARTS_ANOTHER)
    said: list[str] = []
    monkeypatch.setattr(demo_spark, "show", said.append)
    groups, file = NoGroups(), tmp_path / "activity.yaml"
    going = demo_spark.GoingOver(file, groups)
    going.start()
    line = "spark: started "
    wait_until(lambda: [each for each in said if each.startswith(line)], 30, "its own program")
    pid = int(next(each for each in said if each.startswith(line)).removeprefix(line))
    going.end()
    going.join(30)
    assert not going.is_alive()
    wait_until(lambda: is_gone(pid), 10, "what it started to end")
    assert groups.deleted == []
    assert not file.exists()
