"""How `activity` goes over to PySpark: fetched in the background, while Python stands in.

Rules: standard library only. Whatever goes wrong here is said, and Python goes on. The group is
ended and made again with the other engine, as it would be in a cluster: its ledger stays, and Spark
goes on where Python stood.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from demo_groups import Groups
from demo_programs import EXAMPLE, ROOT, DemoError, Program, show, surroundings

GROUP = "activity"
STANDING_IN = "Python stands in: PySpark is being fetched"
_NAME = f"metadata:\n  name: {GROUP}\n"
_JAVA = """
import os
from tidegate.settings import SettingsError
from tidegate.spark.java import ensure_java
try:
    print(f"Java is in {ensure_java(os.environ)}")
except SettingsError as problem:
    raise SystemExit(str(problem))
"""
JAVA = ("-c", _JAVA)
PREPARE = ("scripts/prepare.py", "spark")


def group_text(file: str, note: str = "") -> str:
    """A group file of the example, which can stand in any folder."""
    text = (EXAMPLE / "up" / file).read_text(encoding="utf-8").replace("../", f"{EXAMPLE}/")
    if note:
        noted = f'{_NAME}  annotations: {{tidegate.dev/note: "{note}"}}\n'
        text = text.replace(_NAME, noted)
    return text


class GoingOver(threading.Thread):
    """See the module."""

    def __init__(self, file: Path, groups: Groups) -> None:
        super().__init__(daemon=True)
        self._file = file
        self._groups = groups
        self._programs: list[Program] = []
        self._is_ended = False
        # Between the end and a program that would begin after it.
        self._turn = threading.Lock()

    def run(self) -> None:
        try:
            java = self._begin("Java", *JAVA)
            self._finish(self._begin("PySpark", *PREPARE))
            self._finish(java)
            if not self._is_ended:
                show("spark: it is there; activity goes over to it, and goes on where it stood")
                self._groups.delete(GROUP)
                self._write("activity-spark.yaml")
        except (DemoError, OSError) as problem:
            if not self._is_ended:
                show(f"spark: Python goes on, for this went wrong: {problem}")
                self._write("activity.yaml", "Python stands in: PySpark could not be had")

    def end(self) -> None:
        """Nothing is fetched any more."""
        with self._turn:
            self._is_ended = True
        for program in self._programs:
            program.end()

    def _begin(self, what: str, *arguments: str) -> Program:
        def hear(line: str) -> None:
            show(f"spark: {line}")

        with self._turn:
            if self._is_ended:
                raise DemoError(f"{what} is not fetched any more")
            program = Program(what, (sys.executable, *arguments), hear, surroundings(), ROOT)
            self._programs.append(program)
        return program

    def _finish(self, program: Program) -> None:
        """Raises DemoError where it went wrong."""
        if program.process.wait():
            raise DemoError(f"{program.name} cannot be fetched: {program.last}")

    def _write(self, file: str, note: str = "") -> None:
        self._file.write_text(group_text(file, note), encoding="utf-8")
