"""A client that connects as a server ends."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable


async def is_closed_too(port: int, turns: int, end: Callable[[], Awaitable[None]]) -> bool:
    """Whether who has connected so many turns of the loop before a server's end hears of it."""
    with socket.create_connection(("127.0.0.1", port), 10) as late:
        for _ in range(turns):
            await asyncio.sleep(0)
        await end()
        # An end, or a refusal where it was never taken.
        with contextlib.suppress(ConnectionResetError):
            return await asyncio.to_thread(late.recv, 1) == b""
    return True
