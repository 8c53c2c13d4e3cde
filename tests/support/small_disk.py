"""A disk of a few kilobytes that one process sees, and that a test can fill: wants no root.

    disk = SmallDisk(folder)
    group.start("a", "--scratch", str(disk.place / "leases"), within=disk.within())
    with disk.full(group.pid("a")): ...

Rules: it is mounted in a namespace of the process alone, and goes with it.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_KILOBYTES = 64
_MOUNT = f'mount -t tmpfs -o size={_KILOBYTES}k small-disk "$0" && '
_IS_ROOT = os.geteuid() == 0
_ALONE = ["unshare", "--mount"] if _IS_ROOT else ["unshare", "--map-root-user", "--mount"]
_INSIDE = ["--mount"] if _IS_ROOT else ["--user", "--preserve-credentials", "--mount"]


class SmallDisk:
    """See the module. Skips the test where processes get no file systems of their own."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "small-disk"
        self.place.mkdir()
        tried = subprocess.run(
            [*_ALONE, "sh", "-c", f"{_MOUNT}true", self.place],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if tried.returncode:
            pytest.skip(f"this machine lets no process mount a disk of its own: {tried.stderr}")

    def within(
        self, *, log: bool = False, is_full: bool = False, is_read_only: bool = False
    ) -> tuple[str, ...]:
        """The beginning of a command whose process has the disk; with `log` its output is there."""
        fill = 'cat /dev/zero > "$0/filler" 2> /dev/null; ' if is_full else ""
        if is_read_only:
            fill += 'mount -o remount,ro "$0"; '
        output = ' >> "$0/log" 2>&1' if log else ""
        # Whatever the process keeps for a while is on this disk, too.
        there = 'export TMPDIR="$0"; '
        words = f'{_MOUNT}{{ {there}{fill}exec "$@"{output}; }}'
        return (*_ALONE, "sh", "-c", words, str(self.place))

    def seen_by(self, pid: int) -> Path:
        """The disk as this process sees it."""
        return Path(f"/proc/{pid}/root{self.place}")

    @contextmanager
    def full(self, pid: int) -> Iterator[None]:
        """For as long as the block lasts."""
        self.fill(pid)
        try:
            yield
        finally:
            self.make_room(pid)

    def fill(self, pid: int) -> None:
        """To the last byte: also the room that the log still has in its last block."""
        for name in ("filler", "log"):
            with (self.seen_by(pid) / name).open("ab", buffering=0) as file:
                try:
                    while True:
                        file.write(b"\n")
                except OSError as problem:
                    if problem.errno != errno.ENOSPC:
                        raise

    def grow(self, pid: int, megabytes: int) -> None:
        """The disk of this process is a larger one from now on."""
        remount = ("mount", "-o", f"remount,size={megabytes}m", str(self.place))
        subprocess.run(
            ["nsenter", f"--target={pid}", *_INSIDE, "--", *remount], check=True
        )  # fmt: skip

    def make_room(self, pid: int) -> None:
        (self.seen_by(pid) / "filler").unlink()
