"""The file operations of the storage, with the errors that people see.

Rules: a bounded number of files is open at a time; an append that fails is cut off again before
the error is raised, and where even that fails, before the next append or before the file is
sealed; a small file is replaced whole, never written in place; every `OSError` becomes a
`StorageError`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from tidegate_hub.storage.errors import (
    ReadFailed,
    StorageClosed,
    StorageLocked,
    reason_of,
    write_error,
)

LOCK_NAME = "lock"
_BUFFERS_PER_CALL = 512  # the operating system takes at most 1,024
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_CLOEXEC


class OpenFiles:
    """Open files by path, least recently used closed first. For one thread."""

    def __init__(self, limit: int, directory: str) -> None:
        self.limit = limit
        self.directory = directory
        self._open: OrderedDict[str, tuple[int, bool]] = OrderedDict()
        self._torn: dict[str, int] = {}  # file -> the size it must be cut to before an append
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    def read(self, path: str, position: int, length: int) -> bytes:
        """Up to `length` bytes from `position`; fewer only where the file ends."""
        try:
            fd = self._fd(path, writable=False)
            data = os.pread(fd, length, position)
            while len(data) < length:
                more = os.pread(fd, length - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise ReadFailed(path, reason_of(error)) from error
        return data

    def append(self, path: str, position: int, buffers: Iterable[bytes | bytearray]) -> int:
        """Write all the buffers at the end of a file that is `position` bytes long, or nothing.

        Returns the new size.
        """
        pending = list(buffers)
        try:
            fd = self._fd(path, writable=True)
            self._cut_torn(path, fd)
            self._torn[path] = position  # also right if this is interrupted between two calls
            size = position
            for at in range(0, len(pending), _BUFFERS_PER_CALL):
                size += _write_all(fd, pending[at : at + _BUFFERS_PER_CALL])
            del self._torn[path]
        except OSError as error:
            self._cut_back(path, position)
            raise write_error(error, path, self.directory) from error
        return size

    def _cut_torn(self, path: str, fd: int) -> None:
        if path in self._torn:
            os.ftruncate(fd, self._torn[path])
            del self._torn[path]

    def mend(self, path: str) -> None:
        """Before a file is sealed: cut off what a failed append left, or raise."""
        if path not in self._torn:
            return
        try:
            self._cut_torn(path, self._fd(path, writable=True))
        except OSError as error:
            raise write_error(error, path, self.directory) from error

    def _cut_back(self, path: str, position: int) -> None:
        """Cut off what a failed append left. Where that fails too, the next append cuts first."""
        self._torn[path] = position
        with contextlib.suppress(OSError):  # `_torn` remembers it
            os.ftruncate(self._fd(path, writable=True), position)
            del self._torn[path]

    def forget(self, path: str) -> None:
        """Close a file, because it is sealed (and mended before) or about to be removed."""
        entry = self._open.pop(path, None)
        self._torn.pop(path, None)
        if entry is not None:
            os.close(entry[0])

    def close(self) -> None:
        self._closed = True
        for path in list(self._open):
            self.forget(path)

    def _fd(self, path: str, writable: bool) -> int:
        if self._closed:
            raise StorageClosed
        entry = self._open.get(path)
        if entry is not None and (entry[1] or not writable):
            self._open.move_to_end(path)
            return entry[0]
        if entry is not None:
            os.close(self._open.pop(path)[0])
        while len(self._open) >= self.limit:
            os.close(self._open.popitem(last=False)[1][0])
        fd = os.open(path, _APPEND if writable else _READ)
        self._open[path] = (fd, writable)
        return fd


def _write_all(fd: int, buffers: list[bytes | bytearray]) -> int:
    """Write every byte. A short write is gone on with: the next one tells why it was short."""
    total = sum(map(len, buffers))
    written = os.writev(fd, buffers)
    if written < total:
        rest = memoryview(b"".join(buffers))[written:]
        while rest:
            rest = rest[os.write(fd, rest) :]
    return total


def create(path: Path, content: bytes, *, durable: bool, directory: str) -> None:
    """Make a new file with this content; nothing is left of it where that fails."""
    try:
        _write_new(path, content, durable)
        if durable:
            sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            path.unlink(missing_ok=True)
        raise write_error(error, str(path), directory) from error


def replace(path: Path, content: bytes, *, durable: bool, directory: str) -> None:
    """Give a file new content at once: whoever looks sees the old or the new, never a part."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        _write_new(temporary, content, durable)
        temporary.replace(path)
        if durable:
            sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            temporary.unlink(missing_ok=True)
        raise write_error(error, str(path), directory) from error


def _write_new(path: Path, content: bytes, durable: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        _write_all(fd, [content])
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(path: Path, *, durable: bool) -> None:
    """Make a directory and those above it; the entries are flushed like the files within."""
    if path.is_dir():
        return
    make_directory(path.parent, durable=durable)
    try:
        path.mkdir(exist_ok=True)
        if durable:
            sync_directory(path.parent)
    except OSError as error:
        raise write_error(error, str(path), str(path.parent)) from error


def remove(path: Path, directory: str) -> None:
    """Remove a file that may be gone already."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(error, str(path), directory) from error


def remove_directory(path: Path) -> None:
    """Remove a directory and the files in it."""
    try:
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    except OSError as error:
        raise write_error(error, str(path), str(path)) from error


def read_small(path: Path) -> bytes | None:
    """The content of a small file, or None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReadFailed(str(path), reason_of(error)) from error


def size_of(path: Path) -> int:
    """The size of a file."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise ReadFailed(str(path), reason_of(error)) from error


def sync_directory(path: Path) -> None:
    """Bring the entries of a directory to the disk: files made, renamed and removed."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class DirectoryLock:
    """Keeps a second process out of a data directory for as long as this one lives."""

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK_NAME
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise write_error(error, str(path), str(directory)) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._fd, 64, 0).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise StorageLocked(str(directory), holder or "process unknown") from error
        with contextlib.suppress(OSError):  # a full disk must not keep the hub from starting
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"process {os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        os.close(self._fd)
