"""The fault proxy of `tidegate conformance`, to a port of this machine and on a thread of its own.

    with fault_proxy(target_port) as proxy:
        proxy.add(Delay(0.2))
        proxy.cut()

Rules: what it can do is said in tidegate_operator.conformance.proxy. Requests are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future

from tidegate_operator.conformance.faults import (
    Answer,
    Delay,
    Fault,
    Hold,
    LoseReply,
    Refuse,
    Request,
    Swallow,
    method,
    query,
)
from tidegate_operator.conformance.proxy import FaultProxy as Proxy

__all__ = [
    "Answer", "Delay", "Fault", "FaultProxy", "Hold", "LoseReply", "Refuse", "Request", "Swallow",
    "fault_proxy", "method", "query",
]  # fmt: skip


class FaultProxy(Proxy):
    """One that keeps the requests which it saw."""

    requests: list[Request]

    def __init__(self, target_port: int, *, is_http: bool) -> None:
        super().__init__("127.0.0.1", target_port, is_http=is_http)
        self.requests = []

    async def serve(self, started: Future[int], stop: threading.Event) -> None:
        await self.start("127.0.0.1", 0)
        started.set_result(self.port)
        await asyncio.to_thread(stop.wait)
        await self.stop()


@contextlib.contextmanager
def fault_proxy(target_port: int, *, is_http: bool = True) -> Iterator[FaultProxy]:
    """A proxy to a port of this machine until the block ends."""
    proxy = FaultProxy(target_port, is_http=is_http)
    started: Future[int] = Future()
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(proxy.serve(started, stop)), name="fault-proxy", daemon=True
    )
    thread.start()
    try:
        started.result(10)
        yield proxy
    finally:
        stop.set()
        thread.join(10)
