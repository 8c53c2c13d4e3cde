"""What a fault on the cluster did to a group, in figures; docs/chaos.md is made from them.

Rules: an entry is written when its test has passed, and taken out when that test begins: what
failed, or was not run to its end, has no figures. Entries of other tests stay, each with its day.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from support.tree import ROOT

FILE = ROOT / "benchmarks" / "results" / "chaos.json"


class ChaosNotes:
    """See the module."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = file

    def forget(self, fault: str) -> None:
        found = self.read()
        if found.pop(fault, None) is not None:
            self._write(found)

    def keep(self, fault: str, **figures: Any) -> None:
        day = time.strftime("%Y-%m-%d", time.gmtime())
        self._write({**self.read(), fault: {"on": day, **figures}})

    def add(self, fault: str, **figures: Any) -> None:
        """More of one that was kept."""
        found = self.read()
        self._write({**found, fault: {**found[fault], **figures}})

    def read(self) -> dict[str, dict[str, Any]]:
        if not self._file.exists():
            return {}
        found: dict[str, dict[str, Any]] = json.loads(self._file.read_text(encoding="utf-8"))
        return found

    def _write(self, found: dict[str, dict[str, Any]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(".new")
        draft.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        draft.replace(self._file)
