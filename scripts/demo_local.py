"""Where the demo runs: `tidegate up` on this machine.

Rules: standard library only. What it keeps is in the folder that it is given.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from demo_groups import Groups
from demo_programs import Program, show, surroundings
from demo_settings import DESK, READY_S, Settings, desk_of
from demo_spark import STANDING_IN, GoingOver, group_text


class LocalPlace:
    """See the module."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._state = folder / "state"
        self.groups = Groups(self._state)

    def start(self, programs: list[Program], homes: int) -> tuple[str, str]:
        """The connection strings of storage and hub, once both are there. Raises DemoError."""
        note = STANDING_IN if self._settings.engine == "spark" else ""
        files = {
            "alarms": group_text("alarms.yaml"),
            "activity": group_text("activity.yaml", note),
        }
        for name, text in files.items():
            self._group(name).write_text(text, encoding="utf-8")
        command = (
            sys.executable, "-m", "tidegate_operator.local", "up", "--no-view",
            "--state", str(self._state), "--console", f"127.0.0.1:{self._settings.console_port}",
            *(str(self._group(name)) for name in files),
        )  # fmt: skip
        up = Program("tidegate up", command, show, surroundings(**{DESK: desk_of(homes)}))
        programs.append(up)
        up.until_said("the console is at", READY_S)
        return self._said("storage"), self._said("events")

    def show(self) -> None:
        """How it is looked at."""
        show(f"demo: the console       http://127.0.0.1:{self._settings.console_port}")
        show(f"demo: and in a terminal {shlex.quote(os.path.relpath(self._launcher()))} get")

    def go_over(self) -> GoingOver | None:
        """To Spark, where that is wanted and is not there yet."""
        if self._settings.engine != "spark":
            return None
        return GoingOver(self._group("activity"), self.groups)

    def close(self) -> None:
        """Nothing outlives the programs."""

    def _launcher(self) -> Path:
        """`tidegate` for what runs here. The environment of the demo has no such program."""
        found = self._folder / "tidegate"
        path = surroundings()["PYTHONPATH"]
        program = f"{shlex.quote(sys.executable)} -m tidegate_operator.local"
        found.write_text(
            f"""#!/bin/sh
# `tidegate` for the demo that runs here: {found.name} get, explain NAME, watch NAME, --help
export PYTHONPATH={shlex.quote(path)}
case "${{1:---help}}" in -*) exec {program} "$@" ;; esac
command=$1; shift
exec {program} "$command" --state {shlex.quote(str(self._state))} "$@"
""",
            encoding="utf-8",
        )
        found.chmod(0o755)
        return found

    def _group(self, name: str) -> Path:
        return self._folder / f"{name}.yaml"

    def _said(self, what: str) -> str:
        return (self._state / f"{what}.txt").read_text(encoding="utf-8").strip()
