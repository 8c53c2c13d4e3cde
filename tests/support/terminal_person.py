"""Somebody who looks at a terminal on which a program runs, and reads what is on its screen.

Rules: the terminal is a real one, with a size; its screen is what an xterm would show. All that the
program wrote is kept. The program never outlives the block.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence

import pyte

from support.wait import wait_until


class Person:
    """Somebody who looks at a terminal on which the program runs."""

    def __init__(
        self, command: Sequence[str], columns: int, rows: int, environment: Mapping[str, str]
    ) -> None:
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.terminal = ours
        self.written = ""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._lock = threading.Lock()
        self.process = subprocess.Popen(
            command,
            stdin=its,
            stdout=its,
            stderr=its,
            env={**os.environ, "TERM": "xterm-256color", **environment},
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

        wait_until(is_there, 120, f"{words} on the screen", lambda: "\n".join(rows))
        return rows

    def ended(self, seconds: float = 60.0) -> int:
        """Its exit code, when all that it wrote has been read."""
        code = self.process.wait(seconds)
        self._reader.join(30)
        return code


@contextlib.contextmanager
def a_person(
    command: Sequence[str], columns: int, rows: int, **environment: str
) -> Iterator[Person]:
    person = Person(command, columns, rows, environment)
    try:
        yield person
    finally:
        if person.process.poll() is None:
            person.process.kill()
            person.process.wait(10)
        os.close(person.terminal)
