"""The folder of temporary files to which a store without a data directory writes what is too much.

Rules: a store tries at its start to make it, and reports an error then; it is on a disk (/var/tmp,
as /tmp may be memory) unless TMPDIR names another folder; it is locked while its process lives, so
that a store that starts can tell what a killed one left, and removes that. A folder gets its final
name only once it is locked, and only such names are removed.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tidegate_hub.storage.errors import NoSpill, StorageError, write_error
from tidegate_hub.storage.files import LOCK_NAME, DirectoryLock, remove_directory

_PREFIX = "tidegate-hub-"
_ON_DISK = "/var/tmp"


class SpillFolder:
    """Made when the first file is wanted, removed with all its files at the end."""

    def __init__(self) -> None:
        self.base = Path(os.environ.get("TMPDIR") or _ON_DISK)
        self._folder: Path | None = None
        self._lock: DirectoryLock | None = None
        self._files = 0

    def new_path(self) -> Path:
        """A fresh name in the folder. Raises StorageError if the folder cannot be made."""
        if self._folder is None:
            self._make()
        assert self._folder is not None
        self._files += 1
        return self._folder / f"{self._files:08d}.seg"

    def _make(self) -> None:
        name = f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}"
        unlocked, folder = self.base / f".{name}", self.base / name
        try:
            unlocked.mkdir(mode=0o700)
        except OSError as error:
            where = f"the directory for temporary files, {self.base}"
            raise write_error(error, where, str(self.base)) from error
        try:
            lock = DirectoryLock(unlocked)
            unlocked.rename(folder)
        except (OSError, StorageError) as error:
            with contextlib.suppress(StorageError):  # the first error is the one to tell
                remove_directory(unlocked)
            if isinstance(error, StorageError):
                raise
            raise write_error(error, str(unlocked), str(self.base)) from error
        self._folder, self._lock = folder, lock

    def why_not(self, budget_bytes: int) -> NoSpill | None:
        """The reason why the folder cannot be made; None if it can."""
        try:
            self._make()
            self.remove()
        except StorageError as error:
            return NoSpill(budget_bytes, str(error))
        return None

    def remove(self) -> None:
        """At the end: everything goes."""
        if self._folder is None or self._lock is None:
            return
        folder, lock = self._folder, self._lock
        self._folder = self._lock = None
        try:
            remove_directory(folder)
        finally:
            lock.release()

    def remove_left_overs(self) -> None:
        """Remove the folders of processes that were killed; a folder that is in use is left."""
        try:
            entries = list(os.scandir(self.base))
        except OSError:
            return  # the first spill says so, if it comes to that
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                # What cannot be removed belongs to somebody else, or goes another time.
                with contextlib.suppress(OSError, StorageError):
                    _remove_left_over(Path(entry.path))


def _remove_left_over(folder: Path) -> None:
    if folder.lstat().st_uid != os.getuid() or not (folder / LOCK_NAME).is_file():
        return
    lock = DirectoryLock(folder)
    try:
        remove_directory(folder)
    finally:
        lock.release()
