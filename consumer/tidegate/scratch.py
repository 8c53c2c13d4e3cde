"""Where a process keeps its lease ids, so that its next life in the same place finds them (rule 9).

Rules: the file is replaced whole and is locked while the process lives, so that two processes never
take up the same leases; an unreadable file is a file with nothing in it, and is said.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from tidegate.model import PartitionId

Leases = tuple[tuple[PartitionId, str], ...]


class ScratchTakenError(Exception):
    """Another process uses this scratch file."""


class Scratch:
    """The leases of this process, on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise ScratchTakenError(
                f"{path} belongs to a process that still runs. Give each process a file of its own."
            ) from error

    def read(self) -> Leases:
        """The leases that the last life of this process had; none where there was no such life."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return ()
        if not isinstance(found, dict):
            return ()
        return tuple((str(partition), str(lease)) for partition, lease in found.items())

    def write(self, leases: Leases) -> None:
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(dict(leases)), encoding="utf-8")
        draft.replace(self._path)

    def close(self) -> None:
        os.close(self._lock)
