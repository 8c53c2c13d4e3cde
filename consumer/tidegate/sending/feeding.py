"""Where the events to send come from: standard input as it comes in, or generated sensors.

Rules: input is read on a thread, which waits while much is unsent; a line is sent as soon as it is
there, and many lines that are there go together. What was read before a bad line is sent before
the line is complained about.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence

from tidegate.sending.outgoing import LineError, Outgoing, from_json, plain
from tidegate.sending.pace import Pace

_READ_BYTES = 1 << 16
_AT_ONCE = 5_000
_LINES_AHEAD = 8  # chunks


class Lines:
    """The lines of an input, as events."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._number = 0
        self._begun = b""

    def take(
        self, data: bytes, *, is_last: bool = False
    ) -> tuple[list[Outgoing], LineError | None]:
        """The events of whole lines, and what is wrong with the one after them."""
        *whole, self._begun = (self._begun + data).split(b"\n")
        if is_last and self._begun:
            whole.append(self._begun)
            self._begun = b""
        events: list[Outgoing] = []
        for line in whole:
            self._number += 1
            text = line.removesuffix(b"\r")
            if not text:
                continue
            try:
                events.append(from_json(text, self._number) if self._is_json else plain(text))
            except LineError as error:
                return events, error
        return events, None


async def from_input(descriptor: int, lines: Lines) -> AsyncIterator[Sequence[Outgoing]]:
    """Events from an open file, until it ends. Raises LineError after what came before it."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(_LINES_AHEAD)

    def read() -> None:
        data = b"?"
        while data:
            room.acquire()
            data = os.read(descriptor, _READ_BYTES)
            try:
                loop.call_soon_threadsafe(chunks.put_nowait, data)
            except RuntimeError:
                return  # the loop has ended, and nobody wants what is typed now

    # A daemon: nobody can call it back from a terminal where nothing is typed.
    threading.Thread(target=read, name="tidegate-input", daemon=True).start()
    data = b"?"
    while data:
        data = await chunks.get()
        room.release()
        events, error = lines.take(data, is_last=not data)
        if events:
            yield events
        if error is not None:
            raise error


async def from_world(
    events: Iterator[Outgoing], rate: float | None, count: int | None, until: float | None
) -> AsyncIterator[Sequence[Outgoing]]:
    """Generated events at a rate, so many, or until a moment of the monotonic clock."""
    clock = time.monotonic
    pace = Pace(rate, clock(), _AT_ONCE)
    left = count
    while (until is None or clock() < until) and left != 0:
        due = pace.due(clock())
        if left is not None:
            due = min(due, left)
            left -= due
        if due:
            yield list(itertools.islice(events, due))
        # Not sooner than the loop has had a turn: others want to run as well.
        await asyncio.sleep(min(pace.pause_s(clock()), 1.0))
