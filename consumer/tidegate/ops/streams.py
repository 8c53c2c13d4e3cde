"""Server-sent events: what a page hears as it happens, however slowly it takes it.

Rules: of each key only the newest waits, so that what waits for one page is bounded, and a page
that was held up is up to date with its next breath. Nobody waits for a page: one that does not take
what it is given is cut off, and comes back by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Hashable
from typing import Any

from aiohttp import web

BEAT_S = 10.0
TAKE_S = 20.0
_RETRY_MS = 1500
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    # Proxies that collect answers would hold events back.
    "X-Accel-Buffering": "no",
}


def event_text(name: str, data: Any) -> bytes:
    """One event. JSON has no line breaks of its own."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


class Mailbox:
    """What waits for one page."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, bytes] = {}
        self._is_there = asyncio.Event()
        self.is_closed = False

    def put(self, key: Hashable, event: bytes) -> None:
        """An event, in the place of what waits under this key."""
        self._waiting.pop(key, None)
        self._waiting[key] = event
        self._is_there.set()

    def close(self) -> None:
        """There will be no more after what waits."""
        self.is_closed = True
        self._is_there.set()

    async def take(self, within_s: float) -> bytes:
        """All that waits, at the latest after so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._is_there.wait()
        taken = b"".join(self._waiting.values())
        self._waiting.clear()
        if not self.is_closed:
            self._is_there.clear()
        return taken


async def stream(
    request: web.Request, mailbox: Mailbox, beat: Callable[[], bytes], beat_s: float = BEAT_S
) -> web.StreamResponse:
    """Sends what comes into the mailbox until it is closed, or the page is.

    `beat` is asked every so often for what to send besides; b"" ends the stream.
    """
    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(request)
    loop = asyncio.get_running_loop()
    next_beat = loop.time()
    with contextlib.suppress(ConnectionError):
        await response.write(f"retry: {_RETRY_MS}\n\n".encode())
        while True:
            events = await mailbox.take(max(next_beat - loop.time(), 0))
            if loop.time() >= next_beat and not mailbox.is_closed:
                next_beat = loop.time() + beat_s
                beaten = beat()
                events += beaten
                if not beaten:
                    mailbox.close()
                    events += await mailbox.take(0)
            if events and not await _written(request, response, events):
                break
            if mailbox.is_closed:
                break
    return response


async def _written(request: web.Request, response: web.StreamResponse, data: bytes) -> bool:
    """Whether it was taken in time."""
    try:
        async with asyncio.timeout(TAKE_S):
            await response.write(data)
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        return False
    return True
