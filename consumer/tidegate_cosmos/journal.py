"""Everything on disk: a file of records that is read at the start and grows with every change.

Rules:

- What a request changed is handed to the system before the request is answered, so a server that is
  killed loses nothing that it answered. It is flushed to the disk once a second, and at the end: a
  machine that loses its power can lose that second.
- Each line has a checksum over its record and the checksum of the line before. So a byte that was
  changed and a line that is missing, doubled or moved are found, in whatever place.
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
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.items import encoded
from tidegate_cosmos.store.notes import Outbox, Record
from tidegate_cosmos.store.records import RecordProblem, play, records_of

_NAME = "cosmos.jsonl"
_HISTORY_MAX = 200_000
# What the checksum of the first line goes on from.
_SEED: Final = 0


class JournalError(Exception):
    """The folder cannot be used; the message says why and what to do."""


class Journal:
    """The records of one account in one folder. Made by `opened`."""

    def __init__(self, file: BinaryIO, chain: int, lock: BinaryIO, outbox: Outbox) -> None:
        self._file = file
        # The checksum of the last line.
        self._chain = chain
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
                file, chain = _read(folder / _NAME, account, report)
            except BaseException:
                lock.close()
                raise
            return cls(file, chain, lock, account.keep_notes())
        except OSError as error:
            raise JournalError(
                f"{folder}: {error.strerror or error}. Choose a folder that can be written."
            ) from error

    def keep(self) -> None:
        """Hands what was done since the last time to the system. Raises OSError."""
        if not self._outbox:
            return
        lines, self._chain = _lines(self._outbox, self._chain)
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


def _lines(records: Iterable[Record], chain: int) -> tuple[bytes, int]:
    """Records as they stand in the file behind a line of this checksum, and that of the last."""
    lines: list[bytes] = []
    for record in records:
        text = encoded(record)
        chain = crc32(text, chain)
        lines.append(b"%08x %s\n" % (chain, text))
    return b"".join(lines), chain


def _read(path: Path, account: Account, report: Callable[[str], None]) -> tuple[BinaryIO, int]:
    """Plays the file, and opens it for more; with the checksum of its last line."""
    played, chain = _played(path, account, report)
    if not played or played > _HISTORY_MAX + 4 * _items(account):
        chain = _write_anew(path, account)
    return path.open("ab"), chain


def _played(path: Path, account: Account, report: Callable[[str], None]) -> tuple[int, int]:
    """Plays the file; gives the number of its records, and the checksum of the last."""
    if not path.exists():
        return 0, _SEED
    count, whole, chain = 0, 0, _SEED
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                report(f"{path}: cut off a record that was written in part, at byte {whole}")
                break
            count += 1
            try:
                chain = _play_line(line[:-1], chain, account)
            except (ValueError, RecursionError) as problem:
                raise JournalError(
                    f"{path}: line {count}, which begins at byte {whole}, cannot be read: "
                    f"{problem}. Nothing was changed. Restore the file from a copy, choose another "
                    f"folder to begin anew, or keep what stands before it: truncate -s {whole} "
                    f"{shlex.quote(str(path))}"
                ) from problem
            whole += len(line)
    os.truncate(path, whole)
    for database in account.databases.values():
        for container in database.containers.values():
            container.restored()
    return count, chain


def _play_line(line: bytes, chain: int, account: Account) -> int:
    """Plays a record; gives the line's checksum. Raises ValueError, RecursionError."""
    checksum, _, text = line.partition(b" ")
    chain = crc32(text, chain)
    if checksum != b"%08x" % chain:
        raise RecordProblem(
            "its checksum is another one: it was changed since it was written, or lines before it "
            "are missing"
        )
    record = json.loads(text)
    if not isinstance(record, dict):
        raise RecordProblem("expected an object")
    play(account, record)
    return chain


def _items(account: Account) -> int:
    return sum(
        len(held.items)
        for database in account.databases.values()
        for container in database.containers.values()
        for held in container.ranges
    )


def _write_anew(path: Path, account: Account) -> int:
    """Writes the shortest story of an account; gives the checksum of its last line."""
    draft, chain = path.with_suffix(".draft"), _SEED
    with draft.open("wb") as file:
        for record in records_of(account):
            line, chain = _lines((record,), chain)
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return chain
