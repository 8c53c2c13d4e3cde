"""Where a process keeps its lease ids, so that its next life in the same place finds them (rule 9).

Rules:
- The file is replaced whole and is locked while the process lives, so that two processes never take
  up the same leases.
- It only shortens the time after a restart. A disk that is full, or fails, is said (`trouble`), the
  member goes on without the file, and it is written as soon as that works again. An unreadable file
  is a file with nothing in it, and is said. What it says may be old: a lease of an id that is no
  longer so is simply not ours.
- What is wrong with the path itself is the user's to mend, and an error.
- The lock and the draft have the whole name of the file before their own endings: files whose names
  differ have locks that differ.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

from tidegate.model import PartitionId

Leases = tuple[tuple[PartitionId, str], ...]

# What passes, and says nothing about the path.
_OF_THE_DISK = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))


_LOCK, _DRAFT = ".lock", ".new"
_KINDS = {_LOCK: "lock", _DRAFT: "draft"}


class ScratchTakenError(Exception):
    """Another process uses this scratch file."""


class Scratch:
    """The leases of this process, on disk."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, ScratchTakenError."""
        # The file itself: by a link there are two names, and it has one lock.
        path = Path(os.path.realpath(path))
        if path.suffix in (_LOCK, _DRAFT):
            raise ScratchTakenError(
                f"{path}: a name that ends in {path.suffix} is that of another scratch file's "
                f"{_KINDS[path.suffix]}. Name it otherwise."
            )
        self._path, self._lock_path = path, _beside(path, _LOCK)
        self._lock: int | None = None
        # Why nothing is kept for the next life, or nothing was found of the last, in words.
        self.trouble = ""
        try:
            self._take()
        except OSError as error:
            if error.errno not in _OF_THE_DISK:
                raise
            self.trouble = self._unwritten(error)

    def read(self) -> Leases:
        """The leases that the last life of this process had; none where there was no such life."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, RecursionError) as error:
            self.trouble = self._unread(str(error))
            return ()
        if not isinstance(found, dict):
            self.trouble = self._unread("it holds something else")
            return ()
        return tuple((str(partition), str(lease)) for partition, lease in found.items())

    def write(self, leases: Leases) -> None:
        """Keeps these and no others; where that does not work, `trouble` says why."""
        draft = _beside(self._path, _DRAFT)
        try:
            if self._lock is None:
                self._take()
            draft.write_text(json.dumps(dict(leases)), encoding="utf-8")
            draft.replace(self._path)
        except (OSError, ScratchTakenError) as error:
            self.trouble = self._unwritten(error)
        else:
            self.trouble = ""

    def remove(self) -> None:
        """Leaves nothing behind, where no lease is kept: for a name that will not come again."""
        try:
            if self._lock is None or self.read():
                return
            for path in (self._path, _beside(self._path, _DRAFT), self._lock_path):
                path.unlink(missing_ok=True)
        except OSError as error:
            self.trouble = f"the scratch file {self._path} cannot be removed ({error})"

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise ScratchTakenError(
                f"{self._path} belongs to a process that still runs. Give each process a file of "
                "its own."
            ) from error
        self._lock = lock

    def _unwritten(self, error: Exception) -> str:
        why = getattr(error, "strerror", None) or str(error)
        return (
            f"the scratch file {self._path} cannot be written ({why}). Reading goes on; after a "
            "restart here this member's partitions wait until its leases have run out. Make room "
            "on its disk: it is written as soon as that works."
        )

    def _unread(self, why: str) -> str:
        return (
            f"the scratch file {self._path} cannot be read ({why}), and counts as empty: what this "
            "member had before its restart waits until the leases have run out."
        )


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
