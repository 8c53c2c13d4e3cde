"""The live view on a real terminal: what a person sees, and what is left when it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pyte
import pytest

import support.view_program
from support.view_program import SECRET
from support.wait import wait_until

_PROGRAM = Path(support.view_program.__file__)

pytestmark = pytest.mark.slow


class Person:
    """Somebody who looks at a terminal on which the program runs."""

    def __init__(self, columns: int, rows: int, **environment: str) -> None:
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.terminal = ours
        self.written = ""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._lock = threading.Lock()
        path = os.pathsep.join([str(_PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            stdin=its,
            stdout=its,
            stderr=its,
            env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": path, **environment},
        )
        os.close(its)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # how a terminal says that its other end is closed
            while data := os.read(self.terminal, 65_536):
                with self._lock:
                    text = data.decode()
                    self.written += text
                    self._stream.feed(text)

    @property
    def sees(self) -> list[str]:
        with self._lock:
            rows: list[str] = self._screen.display
            return [row.rstrip() for row in rows]

    def resize(self, columns: int, rows: int) -> None:
        with self._lock:
            self._screen.resize(rows, columns)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_to_see(self, *words: str) -> list[str]:
        """Waits until all of these are on the screen together; gives the screen as it was then."""
        rows: list[str] = []

        def is_there() -> bool:
            rows[:] = self.sees
            return all(any(each in row for row in rows) for each in words)

        wait_until(is_there, 60, f"{words} on the screen", lambda: "\n".join(rows))
        return rows

    def end(self) -> int:
        """Lets the program end as it does by itself."""
        os.write(self.terminal, b"\n")
        code = self.process.wait(60)
        self._reader.join(30)
        return code


@contextlib.contextmanager
def a_person(columns: int, rows: int, **environment: str) -> Iterator[Person]:
    person = Person(columns, rows, **environment)
    try:
        yield person
    finally:
        if person.process.poll() is None:
            person.process.kill()
            person.process.wait(10)
        os.close(person.terminal)


def test_a_person_sees_the_group_and_what_handlers_say_and_no_secret() -> None:
    with a_person(100, 24) as person:
        # Rows of one picture come one after the other: all are waited for.
        rows = person.wait_to_see(
            "1,234", "4 of 4 partitions owned", "3  ", "a handler prints ***", "a handler warns of"
        )
        assert rows[0].startswith("home-activity · pod-1 · 2 members · 4 of 4 partitions owned")
        (ours,) = (row for row in rows if row.startswith("0 "))
        assert ours.split()[:2] == ["0", "pod-1"]
        (theirs,) = (row for row in rows if row.startswith("3 "))
        assert theirs.split()[:2] == ["3", "pod-2"]
        assert "a handler prints ***" in rows
        assert person.end() == 0
        assert SECRET not in person.written


def test_the_last_lines_stay_where_they_can_be_scrolled_to() -> None:
    with a_person(80, 24) as person:
        person.wait_to_see("a handler warns of")
        assert person.end() == 0
        after = person.written.rpartition("\x1b[?1049l")[2]
        assert "a handler prints ***" in after
        assert after.rstrip().endswith("it has ended")


def test_a_narrow_terminal_is_not_broken() -> None:
    with a_person(30, 12) as person:
        rows = person.wait_to_see("home-activity · pod-1", "pod-1 ")
        assert rows[0] == "home-activity · pod-1"
        assert ["partition", "owner", "lag"] in [row.split() for row in rows]
        assert person.end() == 0


def test_a_terminal_of_another_size_is_drawn_anew() -> None:
    with a_person(100, 24) as person:
        person.wait_to_see("1,234")
        person.resize(40, 12)
        person.wait_to_see("home-activity · pod-1 · 2 members")
        assert person.end() == 0


def test_a_terminal_that_can_do_nothing_gets_plain_lines() -> None:
    with a_person(100, 24, TERM="dumb") as person:
        person.wait_to_see("a handler warns of ***")
        assert person.end() == 0
        assert "\x1b" not in person.written
