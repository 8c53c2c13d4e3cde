"""Which files hold bytes that may not have reached the disk, and flushing them.

Rules: `sync` may run on another thread than everything else; it returns only when all that was
written before it was called is on the disk, also what a sync that was already under way took on;
a log that asked for it is told how far it is on the disk then; a flush that failed is never tried
again, because the kernel would then call lost data flushed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock

from tidegate_hub.storage.errors import SyncFailed, reason_of

flush_data = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync


class DirtyFiles:
    """Paths rather than descriptors: a file may be closed, opened again or removed meanwhile."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._reached: dict[Callable[[int], None], int] = {}
        self._lock = Lock()
        self._turn = Lock()
        self._failed: SyncFailed | None = None

    @property
    def needed(self) -> bool:
        return bool(self._paths)

    def mark(self, path: str) -> None:
        """Bytes were written to this file."""
        with self._lock:
            self._paths.add(path)

    def tell(self, flushed_to: Callable[[int], None], sequence: int) -> None:
        """After the next flush, tell a log that what it has marked is on disk up to `sequence`."""
        with self._lock:
            self._reached[flushed_to] = sequence

    def require_sound(self) -> None:
        """Raise if a flush has failed: nothing more may be written on top of a hole."""
        if self._failed is not None:
            raise self._failed

    def sync(self) -> None:
        """Flush everything that was marked before this call."""
        with self._turn:
            self.require_sound()
            with self._lock:
                taken, self._paths = self._paths, set()
                reached, self._reached = self._reached, {}
            for path in taken:
                self._flush(path)
            for flushed_to, sequence in reached.items():
                flushed_to(sequence)

    def sync_one(self, path: str) -> None:
        """Flush one file now, for the order of things on disk; waits for no other file.

        It stays marked until then, as a sync beside this must not return before the flush has.
        """
        self.require_sound()
        self._flush(path)
        with self._lock:
            self._paths.discard(path)

    def _flush(self, path: str) -> None:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # trimmed away meanwhile
        except OSError as error:
            raise self._fail(path, error) from error
        try:
            flush_data(fd)
        except OSError as error:
            raise self._fail(path, error) from error
        finally:
            os.close(fd)

    def _fail(self, path: str, error: OSError) -> SyncFailed:
        self._failed = SyncFailed(path, reason_of(error))
        return self._failed
