"""Everything on disk: a file of records that is read at the start and grows with every change.

Rules:

- What a request changed is handed to the system before the request is answered, so a server that is
  killed loses nothing that it answered. It is flushed to the disk once a second, and at the end: a
  machine that loses its power can lose that second.
- A record that was written in part is the last one; it is cut off at the start, and said. One that
  is wrong in any other place stops the start: nothing is guessed.
- One process at a time has a folder.
- A file that is mostly history is written anew at the start, beside the old one, which it replaces.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.items import encoded
from tidegate_cosmos.store.notes import Outbox, Record
from tidegate_cosmos.store.records import RecordProblem, play, records_of

_NAME = "cosmos.jsonl"
_HISTORY_MAX = 200_000


class JournalError(Exception):
    """The folder cannot be used; the message says why and what to do."""


class Journal:
    """The records of one account in one folder. Made by `opened`."""

    def __init__(self, file: BinaryIO, lock: BinaryIO, outbox: Outbox) -> None:
        self._file = file
        self._lock = lock
        self._outbox = outbox
        self._is_flushed = True

    @classmethod
    def opened(cls, folder: Path, account: Account, report: Callable[[str], None]) -> Journal:
        """Reads what the folder has into an empty account. Raises JournalError."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _locked(folder)
            try:
                file = _read(folder / _NAME, account, report)
            except BaseException:
                lock.close()
                raise
            return cls(file, lock, account.keep_notes())
        except OSError as error:
            raise JournalError(
                f"{folder}: {error.strerror or error}. Choose a folder that can be written."
            ) from error

    def keep(self) -> None:
        """Hands what was done since the last time to the system. Raises OSError."""
        if not self._outbox:
            return
        lines = b"".join(encoded(record) + b"\n" for record in self._outbox)
        self._outbox.clear()
        self._file.write(lines)
        self._file.flush()
        self._is_flushed = False

    def flush(self) -> None:
        """Has the system write to the disk what it was handed. Raises OSError."""
        if not self._is_flushed:
            os.fsync(self._file.fileno())
            self._is_flushed = True

    def close(self) -> None:
        """Ends it; what cannot be written any more was said when it was tried."""
        with contextlib.suppress(OSError):
            self.flush()
            self._file.close()
        self._lock.close()


def _locked(folder: Path) -> BinaryIO:
    lock = (folder / "lock").open("wb")
    try:
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise JournalError(
            f"{folder}: another server uses this folder. Stop it, or choose another folder."
        ) from None
    return lock


def _read(path: Path, account: Account, report: Callable[[str], None]) -> BinaryIO:
    """Plays the file, and opens it for more."""
    played = _played(path, account, report)
    if not played or played > _HISTORY_MAX + 4 * _items(account):
        _write_anew(path, account)
    return path.open("ab")


def _played(path: Path, account: Account, report: Callable[[str], None]) -> int:
    """Plays the file; gives the number of its records."""
    if not path.exists():
        return 0
    count, whole = 0, 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                report(f"{path}: cut off a record that was written in part, at byte {whole}")
                break
            count += 1
            whole += len(line)
            _play_line(path, count, line, account)
    os.truncate(path, whole)
    for database in account.databases.values():
        for container in database.containers.values():
            container.restored()
    return count


def _play_line(path: Path, number: int, line: bytes, account: Account) -> None:
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise RecordProblem("expected an object")
        play(account, record)
    except (ValueError, RecursionError) as problem:
        raise JournalError(
            f"{path}: line {number} cannot be read: {problem}. Restore the file, or choose another "
            "folder to begin anew."
        ) from problem


def _items(account: Account) -> int:
    return sum(
        len(held.items)
        for database in account.databases.values()
        for container in database.containers.values()
        for held in container.ranges
    )


def _write_anew(path: Path, account: Account) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        _write_all(file, records_of(account))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _write_all(file: BinaryIO, records: Iterable[Record]) -> None:
    for record in records:
        file.write(encoded(record) + b"\n")
