"""A program that plays scenarios and prints one JSON line for each: name, ok, error.

Rules: it runs once; each pytest case awaits its own line, so failures show one by one. Where it
ends before a line has come, the case fails with what the program complained of.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.wait import wait_until

LINE_SECONDS = 240.0


class LineRun:
    """The process, and the lines that it has printed so far."""

    def __init__(
        self,
        command: Sequence[str],
        errors: Path,
        *,
        env: Mapping[str, str] | None = None,
        told: str = "",
    ) -> None:
        self._program = Path(command[0]).name
        self._errors = errors
        self._lines: dict[str, dict[str, Any]] = {}
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self.process.stdin is not None
        self.process.stdin.write(told.encode())
        self.process.stdin.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            outcome = json.loads(line)
            self._lines[outcome["name"]] = outcome

    def assert_ok(self, name: str) -> None:
        """Await the line of this scenario; fail with its error where it failed."""
        wait_until(
            lambda: name in self._lines or not self._reader.is_alive(),
            LINE_SECONDS,
            f"{self._program} to print the outcome of {name}",
            detail=lambda: sorted(self._lines),
        )
        if name not in self._lines:
            words = self._errors.read_text(errors="replace")[-4000:]
            status = self.process.wait()
            pytest.fail(f"{self._program} ended with status {status} before {name}: {words}")
        assert self._lines[name]["ok"], self._lines[name]["error"]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
