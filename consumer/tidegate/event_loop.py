"""An event loop that looks names up on daemon threads.

asyncio does that on threads which the end of the process waits for: a name server that does not
answer would hold up a graceful shutdown for as long as it takes the resolver to give up.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Loop(asyncio.SelectorEventLoop):
    """See the module."""

    async def getaddrinfo(self, host: Any, port: Any, **kinds: int) -> list[Any]:
        found: asyncio.Future[list[Any]] = self.create_future()

        def look_up() -> None:
            try:
                answer, error = socket.getaddrinfo(host, port, **kinds), None
            except Exception as raised:
                answer, error = [], raised
            # A closed loop needs no answer.
            with contextlib.suppress(RuntimeError):
                self.call_soon_threadsafe(_settle, found, answer, error)

        threading.Thread(target=look_up, name="name-lookup", daemon=True).start()
        return await found


def _settle(found: asyncio.Future[list[Any]], answer: list[Any], error: Exception | None) -> None:
    if found.done():
        return
    if error is None:
        found.set_result(answer)
    else:
        found.set_exception(error)


def run(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on such a loop."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)
