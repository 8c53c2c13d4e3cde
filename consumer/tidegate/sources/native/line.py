"""The socket of one connection: bytes to and from the AMQP machine, plain, TLS or WebSocket.

Rules: no decisions. What the machine says goes to the owner at once and in order; what it wants
written goes out after each read, or soon after it was asked for. The owner is told once that the
line is lost.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol, cast

from tidegate.ports import SourceError
from tidegate.sources.native.endpoint import Endpoint, Transport
from tidegate.sources.native.websocket import WebSocket
from tidegate_amqp import Connection
from tidegate_amqp.events import Event

_TICK_S = 1.0
# How long a goodbye may take.
_LINGER_S = 1.0


class Owner(Protocol):
    """Who is told."""

    def on_event(self, event: Event) -> None: ...

    def on_lost(self, reason: str) -> None: ...


class Line(asyncio.Protocol):
    """See the module."""

    def __init__(self, machine: Connection, owner: Owner, websocket: WebSocket | None) -> None:
        self.machine = machine
        self._owner = owner
        self._websocket = websocket
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._is_flush_due = False
        self._is_lost = False
        self._ended: asyncio.Future[None] = self._loop.create_future()

    # --- asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ticking = self._loop.call_later(_TICK_S, self._tick)
        if self._websocket is not None:
            self._transport.write(self._websocket.opening())
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self._websocket is not None:
            try:
                data, reply = self._websocket.received(data)
            except SourceError as error:
                self.abort(str(error))
                return
            if reply:
                self._write(reply)
        if data:
            for event in self.machine.receive(data, self._loop.time()):
                self._owner.on_event(event)
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(str(exc) if exc is not None else "the service closed the connection")
        self._ended.set_result(None)

    # --- the owner calls

    def flush(self) -> None:
        """Writes what is due."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._websocket is not None and not self._websocket.is_open:
            return
        output = self.machine.take_output(self._loop.time())
        if output:
            data = b"".join(output)
            self._write(data if self._websocket is None else self._websocket.wrap(data))
        if self.machine.is_closed:
            self._transport.close()

    def flush_soon(self) -> None:
        """Writes what is due once the caller is done."""
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush_due)

    def close(self) -> None:
        """Says goodbye and closes."""
        if self.machine.peer is not None and not self.machine.is_closed:
            self.machine.close()
        self.flush()
        if self._transport is not None:
            self._transport.close()

    async def closed(self) -> None:
        """Waits until the socket is closed; a peer that does not let go is left."""
        await asyncio.wait([self._ended], timeout=_LINGER_S)
        if not self._ended.done() and self._transport is not None:
            self._transport.abort()
            await self._ended

    def abort(self, reason: str) -> None:
        """Ends it now, whatever is left to write."""
        self._lose(reason)
        if self._transport is not None:
            self._transport.abort()

    def _flush_due(self) -> None:
        self._is_flush_due = False
        self.flush()

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    def _tick(self) -> None:
        for event in self.machine.tick(self._loop.time()):
            self._owner.on_event(event)
        self.flush()
        self._ticking = self._loop.call_later(_TICK_S, self._tick)

    def _lose(self, reason: str) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        if not self._is_lost:
            self._is_lost = True
            self.machine.is_closed = True
            self._owner.on_lost(reason)


async def connect(
    endpoint: Endpoint, machine: Connection, owner: Owner, context: ssl.SSLContext | None
) -> Line:
    """A line to an endpoint. Raises OSError."""
    loop = asyncio.get_running_loop()
    is_web = endpoint.transport is Transport.WEBSOCKET
    _, line = await loop.create_connection(
        lambda: Line(machine, owner, WebSocket(endpoint.name) if is_web else None),
        endpoint.host,
        endpoint.port,
        ssl=context,
    )
    return line
