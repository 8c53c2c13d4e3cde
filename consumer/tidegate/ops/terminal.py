"""Draws lines on a terminal, without flicker, and gives it back as it was.

Rules:
- Only rows that changed are written, each over its whole width, in one write that terminals show
  at once where they can. Nothing is ever cleared and drawn again, save after a change of size.
- It writes on a thread of its own: a terminal that was stopped (Ctrl-S) or a slow line holds up
  nothing but the picture. Of several pictures that wait, only the newest is drawn.
- Plain ANSI: the alternate screen, absolute positions, eight colours or none.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TextIO

from tidegate.ops.live import ShownLine, Style, text_width
from tidegate_http.output import OutputEnded

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"
_AT_ONCE, _SHOWN = "\x1b[?2026h", "\x1b[?2026l"
_LEAVE_S = 1.0

Size = tuple[int, int]  # columns and rows


class Picture:
    """What a terminal shows now; `change` is what to write so that it shows something else."""

    def __init__(self, *, has_colours: bool) -> None:
        self._has_colours = has_colours
        self._shown: list[ShownLine] = []
        self._size: Size = (0, 0)

    def change(self, lines: Sequence[ShownLine], size: Size) -> str:
        columns, rows = size
        out = []
        if size != self._size:
            out.append("\x1b[0m\x1b[2J")
            self._shown, self._size = [], size
        wanted = list(lines[:rows]) + [ShownLine("")] * (len(self._shown) - len(lines))
        for row, line in enumerate(wanted):
            if row >= len(self._shown) or self._shown[row] != line:
                out.append(f"\x1b[{row + 1};1H{self._row(line, columns)}")
        self._shown = list(lines[:rows])
        return f"{_AT_ONCE}{''.join(out)}{_SHOWN}" if out else ""

    def _row(self, line: ShownLine, columns: int) -> str:
        padded = line.text + " " * (columns - text_width(line.text))
        if not self._has_colours or line.style is Style.PLAIN:
            return padded
        return f"\x1b[{line.style.value}m{padded}\x1b[0m"


class Terminal:
    """The alternate screen of a terminal, from `open` to `close`."""

    def __init__(self, stream: TextIO, *, has_colours: bool) -> None:
        self._stream = stream
        self._picture = Picture(has_colours=has_colours)
        self._changed = threading.Condition()
        self._next: tuple[Sequence[ShownLine], Size] | None = None
        self._is_open = True
        self._has_gone = False
        self._thread = threading.Thread(target=self._draw, name="tidegate-screen", daemon=True)

    def open(self) -> None:
        self._thread.start()

    def show(self, lines: Sequence[ShownLine], size: Size) -> None:
        """Draws these lines soon."""
        with self._changed:
            self._next = (lines, size)
            self._changed.notify()

    def close(self) -> bool:
        """Gives the screen back; False where the terminal takes nothing, so that it could not."""
        with self._changed:
            self._is_open = False
            self._changed.notify()
        self._thread.join(_LEAVE_S)
        return not self._thread.is_alive() and not self._has_gone

    def _draw(self) -> None:
        try:
            self._write(_ENTER)
            while (change := self._wait()) is not None:
                self._write(change)
            self._write(_LEAVE)
        except (OSError, OutputEnded):
            # The terminal has gone away; the member has not.
            self._has_gone = True

    def _wait(self) -> str | None:
        with self._changed:
            while self._next is None and self._is_open:
                self._changed.wait()
            if self._next is None:
                return None
            wanted, self._next = self._next, None
        return self._picture.change(*wanted)

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(text)
            self._stream.flush()
