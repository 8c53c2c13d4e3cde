"""How listeners are closed so that no connection is lost on the way."""

from __future__ import annotations

import asyncio

# Of the loop: from a connection that is taken to one that is made.
_TURNS = 3


async def stop_listening(*listeners: asyncio.Server) -> None:
    """After this every connection that was taken has been made. asyncio loses the socket of one
    that it has taken and not yet made when its server is closed."""
    loop = asyncio.get_running_loop()
    for listening in (each for listener in listeners for each in listener.sockets):
        loop.remove_reader(listening.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    for listener in listeners:
        listener.close()
