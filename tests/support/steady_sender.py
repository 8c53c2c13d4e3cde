"""Sends one small event to every partition at a steady rate, over one connection, on a thread.

The official SDK would take most of a core for this; here a send is one frame of tidegate_amqp.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import cast

from tidegate_amqp import Connection, ConnectionSettings, SenderLink, Source, Target
from tidegate_amqp.events import CreditChanged, Event, SessionBegun

_EVENT = b"\x00\x53\x75\xa0\x04tick"


class _Client(asyncio.Protocol):
    def __init__(self, hub: str, partitions: int) -> None:
        self._hub = hub
        self._partitions = partitions
        self.links: dict[int, SenderLink] = {}
        self.ready = asyncio.get_running_loop().create_future()
        settings = ConnectionSettings("steady", hostname="localhost")
        self._connection = Connection(settings, initiator=True)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self._connection.receive(data):
            self._on_event(event)
        if self._connection.peer is not None and not self._connection.sessions:
            self._connection.begin()
        self.flush()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SessionBegun):
            for number in range(self._partitions):
                address = f"{self._hub}/Partitions/{number}"
                event.session.attach_sender(f"steady-{number}", Source("steady"), Target(address))
        elif isinstance(event, CreditChanged):
            self.links[event.link.handle] = event.link
            if len(self.links) == self._partitions and not self.ready.done():
                self.ready.set_result(None)

    def send_everywhere(self) -> None:
        for link in self.links.values():
            if link.sendable > 0:
                link.send(_EVENT, tag=b"\x01")
        self.flush()

    def flush(self) -> None:
        output = self._connection.take_output()
        if output:
            self._transport.write(b"".join(output))


async def _send(
    port: int,
    hub: str,
    partitions: int,
    every_s: float,
    started: Future[None],
    stop: threading.Event,
) -> None:
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_connection(
        lambda: _Client(hub, partitions), "127.0.0.1", port
    )
    await client.ready
    started.set_result(None)
    next_at = loop.time()
    while not stop.is_set():
        client.send_everywhere()
        next_at += every_s
        await asyncio.sleep(max(next_at - loop.time(), 0.001))
    transport.close()


@contextlib.contextmanager
def steady_events(port: int, hub: str, partitions: int, *, every_s: float = 0.05) -> Iterator[None]:
    """An event for each partition every `every_s`, until the block ends."""
    started: Future[None] = Future()
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_send(port, hub, partitions, every_s, started, stop)),
        name="steady-sender",
        daemon=True,
    )
    thread.start()
    try:
        started.result(30)
        yield
    finally:
        stop.set()
        thread.join(10)
