"""Keeps a file that says how the driver stands, for what runs it as a process of this machine.

Rules: the same words as the annotation of a pod (pod_note.py), and which executors there are. It is
replaced whole, so that a reader sees one or the other; what cannot be written is said once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

from tidegate.spark.standing import Standing

# The variable that names the file.
PLACE = "TIDEGATE_NOTE"
_LOOK_S = 0.25

_log = logging.getLogger("tidegate.spark")


class FileNote:
    """See the module."""

    def __init__(self, file: Path, standing: Standing) -> None:
        self._file = file
        self._standing = standing
        self._written = ""
        self._has_complained = False

    async def keep(self) -> None:
        """For ever."""
        while True:
            try:
                self.look()
            # Whatever it is: nobody would notice a note that stands still.
            except Exception as error:
                self._complain(error)
            await asyncio.sleep(_LOOK_S)

    def look(self) -> None:
        """Writes what is new."""
        numbers = sorted(self._standing.executors, key=int)
        text = json.dumps({**self._standing.as_json(), "numbers": numbers}, ensure_ascii=False)
        if text == self._written:
            return
        draft = self._file.with_name(f"{self._file.name}.new")
        try:
            draft.write_text(text, encoding="utf-8")
            draft.replace(self._file)
        except OSError as problem:
            self._complain(problem)
        else:
            self._written, self._has_complained = text, False

    def _complain(self, problem: Exception) -> None:
        if not self._has_complained:
            _log.warning("%s cannot be written: %s", self._file, problem)
        self._has_complained = True
