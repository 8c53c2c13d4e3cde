"""How `activity` goes over to PySpark: fetched in the background, while Python stands in.

Rules: standard library only. Whatever goes wrong here is said, and Python goes on. The group is
ended and made again with the other engine, as it would be in a cluster: its ledger stays, and Spark
goes on where Python stood.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from demo_groups import Groups
from demo_programs import EXAMPLE, ROOT, DemoError, Program, show, surroundings

GROUP = "activity"
STANDING_IN = "Python stands in: PySpark is being fetched"
_NAME = f"metadata:\n  name: {GROUP}\n"
_JAVA = "import os; from tidegate.spark.java import ensure_java; print(ensure_java(os.environ))"


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
        self._program: Program | None = None
        self._is_ended = False

    def run(self) -> None:
        try:
            self._fetch("PySpark", "scripts/prepare.py", "spark")
            self._fetch("Java", "-c", _JAVA)
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
        self._is_ended = True
        if self._program is not None:
            self._program.end()

    def _fetch(self, what: str, *arguments: str) -> None:
        if self._is_ended:
            return
        hear: Callable[[str], None] = lambda line: show(f"spark: {line}")  # noqa: E731
        command = (sys.executable, *arguments)
        self._program = program = Program(what, command, hear, surroundings(), ROOT)
        try:
            status = program.process.wait()
        except subprocess.SubprocessError as problem:
            raise DemoError(str(problem)) from problem
        if status:
            raise DemoError(f"{what} cannot be fetched: {program.last}")

    def _write(self, file: str, note: str = "") -> None:
        self._file.write_text(group_text(file, note), encoding="utf-8")
