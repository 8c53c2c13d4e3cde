"""The errors of the storage, each worded for the person who has to act on it.

Rules: every error is a `StorageError`; a message says what happened, to which file or directory,
and what to do; an `OSError` never leaves this package untranslated.
"""

from __future__ import annotations

import errno

FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class StorageError(Exception):
    """Anything the storage could not do."""


class StorageFull(StorageError):
    """There is no room for an append. The log is as before; the next append may work again."""

    def __init__(self, directory: str) -> None:
        super().__init__(
            f"disk of {directory} is full: free space or lower retention; "
            "sends are refused until then"
        )
        self.directory = directory


class WriteFailed(StorageError):
    """A write, a creation or a removal failed for another reason than a full disk."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot write {path}: {reason}; check the disk and its permissions")
        self.path = path


class ReadFailed(StorageError):
    """The operating system could not read a file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read {path}: {reason}; check the disk and its permissions")
        self.path = path


class NoSpill(StorageError):
    """A store without a data directory cannot write temporary files."""

    def __init__(self, budget_bytes: int, why: str) -> None:
        super().__init__(
            f"more than {budget_bytes >> 20} MB of events cannot be stored, and sends are refused "
            "then. Set TMPDIR to a folder on a disk that this process may write, or keep events "
            f"in a folder with --data DIR: {why}"
        )


class TooSmall(StorageError):
    """The limit on all hubs together is too low for their partitions."""

    def __init__(self, limit_bytes: int, each_bytes: int) -> None:
        super().__init__(
            f"--retention-total-mb {limit_bytes >> 20} is too little: each partition needs "
            f"{each_bytes >> 20} MB of it. Raise it, or serve fewer partitions"
        )


class SyncFailed(StorageError):
    """fdatasync failed: what was written since the last one may be lost, so sends stop for good."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"cannot flush {path} to its disk: {reason}; what was just written may be lost. "
            "Sends are refused: check the disk, then restart"
        )
        self.path = path


class SegmentCorrupt(StorageError):
    """A stored batch is not what was written. `resume_sequence` is the next one worth trying."""

    def __init__(self, path: str, position: int, resume_sequence: int, reason: str) -> None:
        super().__init__(
            f"{path} is damaged at byte {position}: {reason}; events before sequence "
            f"{resume_sequence} cannot be read from there. Start readers at sequence "
            f"{resume_sequence}, or restore the file from a backup"
        )
        self.path = path
        self.position = position
        self.resume_sequence = resume_sequence


class MetadataCorrupt(StorageError):
    """hubs.json cannot be understood."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"cannot understand {path}: {reason}. Restore it from a backup, or move it away and "
            "name the hubs again; stored events are not touched by that"
        )
        self.path = path


class StorageLocked(StorageError):
    """Another process has the directory."""

    def __init__(self, directory: str, holder: str) -> None:
        super().__init__(
            f"{directory} is in use by another tidegate-hub ({holder}): stop that one, or give "
            "this one another data directory"
        )
        self.directory = directory


class StorageClosed(StorageError):
    """The store was closed before this call."""

    def __init__(self) -> None:
        super().__init__("the store is closed: open a new one")


def write_error(error: OSError, path: str, directory: str) -> StorageError:
    """The typed error for a failed write: a full disk and a broken one need different help."""
    if error.errno in FULL_ERRNOS:
        return StorageFull(directory)
    return WriteFailed(path, reason_of(error))


def reason_of(error: OSError) -> str:
    """What the operating system said, without the path that the message already names."""
    return error.strerror or type(error).__name__
