"""The live view of `tidegate run`: takes the terminal, shows the board, gives the terminal back.

Rules:
- What the log says and what handlers print appears beneath the table, never across it; when the
  view ends, the last of it is printed where people can scroll back to it.
- Only for a terminal that is read by people: `is_wanted` says when.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import TextIO

from tidegate.bounded import bounded
from tidegate.ops.board import Board
from tidegate.ops.live import screen
from tidegate.ops.secrets import Secrets
from tidegate.ops.terminal import Size, Terminal

EVERY_S = 0.5
_KEPT_LINES = 500
_PRINTED_AT_THE_END = 30


def is_wanted(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a person looks at a terminal that can do this."""
    return stream.isatty() and environment.get("TERM", "dumb") != "dumb"


class Pane(io.TextIOBase):
    """A stream that keeps its last lines, without secrets."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._secrets = secrets
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *whole, begun = (self._begun + text).split("\n")
        # A handler may print without ever ending a line.
        self._begun = bounded(begun)
        self.lines.extend(self._secrets.hide(line) for line in whole[-_KEPT_LINES:])
        return len(text)


@contextlib.asynccontextmanager
async def live_view(
    board: Board,
    pane: Pane,
    group: str,
    environment: Mapping[str, str],
    *,
    stream: TextIO | None = None,
    size: Callable[[], Size] | None = None,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
) -> AsyncIterator[Callable[[], None]]:
    """Shows the board for as long as the block runs; gives what ends the view at once, on any
    thread, with the last lines of the log."""
    stream = stream or sys.stdout
    terminal = Terminal(stream, has_colours="NO_COLOR" not in environment)
    # Asked of the terminal itself: COLUMNS and LINES, where they are exported, are of another one,
    # or of this one before its size was changed.
    size_of = size or partial(os.get_terminal_size, stream.fileno())

    def show() -> None:
        columns, rows = at = size_of()
        lines = screen(
            board,
            list(pane.lines),
            group=group,
            columns=columns,
            rows=rows,
            now=clock(),
            wall=wall(),
        )
        terminal.show(lines, at)

    def leave() -> None:
        if terminal.close():
            last = [pane.lines.pop() for _ in range(min(len(pane.lines), _PRINTED_AT_THE_END))]
            pane.lines.clear()
            for line in reversed(last):
                print(line, file=stream, flush=True)

    async def keep_showing() -> None:
        while True:
            show()
            await asyncio.sleep(EVERY_S)

    terminal.open()
    showing = asyncio.create_task(keep_showing(), name="tidegate-view")
    try:
        with contextlib.redirect_stdout(pane), contextlib.redirect_stderr(pane):
            yield leave
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        leave()
