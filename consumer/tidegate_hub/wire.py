"""The TCP end of a client: an asyncio protocol that feeds a Client and writes what it says.

Rules: the first bytes decide between AMQP and WebSockets; the transport's own limits decide when a
client is held; a peer that sends and never reads is cut off before its answers fill the memory;
after a close nothing more is read, and a peer that does not take what is left to write is cut off.
Nothing is read from a connection while some of what arrived waits for its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from tidegate_hub.client import Client

if TYPE_CHECKING:
    from tidegate_hub.websocket import WebSocket

WRITE_HIGH_WATER = 1 << 20
# Feeds stop at the high water. What a peer is answered comes on top, up to this.
WRITE_LIMIT = 16 << 20
HTTP_GET = b"GET "
# How long a connection that is closed waits for its peer to take what is written.
_LINGER_S = 5.0


class TcpWire(asyncio.Protocol):
    """One TCP connection, with or without TLS."""

    def __init__(
        self,
        admit: Callable[[TcpWire], Client | None],
        forget: Callable[[Client], None],
    ) -> None:
        self._admit = admit
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._websocket: WebSocket | None = None
        # What came before it was clear whether this is AMQP or HTTP; None once it is.
        self._opening: bytes | None = b""
        self._held_back: list[bytes] | None = None
        self.client: Client | None = None
        self.peer_name = ""

    # --- asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        peer = transport.get_extra_info("peername")
        self.peer_name = str(peer[0]) if isinstance(peer, tuple) else "local"
        self.client = self._admit(self)
        if self.client is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        if self._held_back is not None:
            self._held_back.append(data)
            return
        client = self.client
        if client is None:
            return
        if self._opening is not None:
            data = self._opening + data
            if len(data) < len(HTTP_GET) and HTTP_GET.startswith(data):
                self._opening = data
                return
            self._opening = None
            if data.startswith(HTTP_GET):
                from tidegate_hub.websocket import WebSocket  # noqa: PLC0415 - seldom needed

                self._websocket = WebSocket()
        if self._websocket is not None:
            data, reply = self._websocket.received(data)
            if reply:
                self._put(reply)
            if data:
                client.received(data)
            if self._websocket.is_closed:
                client.ended()
                self.close()
            return
        client.received(data)

    def pause_writing(self) -> None:
        if self.client is not None:
            self.client.hold()

    def resume_writing(self) -> None:
        if self.client is not None:
            self.client.go_on()

    def eof_received(self) -> None:
        """The peer will send nothing more; half a connection is of no use here."""
        if self.client is not None:
            # Under TLS the end can come while frames wait for their turn.
            self.client.ended()
        self.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        if self.client is not None:
            self.client.lost()
            self._forget(self.client)

    # --- the client calls

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        if self._websocket is not None:
            data = self._websocket.wrap(data)
        self._put(data)

    def _put(self, data: bytes) -> None:
        self._transport.write(data)
        waiting = self._transport.get_write_buffer_size()
        if waiting > WRITE_LIMIT and self.client is not None and not self._transport.is_closing():
            self.client.broker.report(
                f"connection {self.client.number} from {self.peer_name} was cut: it sends but does "
                f"not read, and {waiting} bytes wait to be written to it"
            )
            self.client.abort()

    def close(self) -> None:
        if not self._transport.is_closing():
            if self._websocket is not None and (farewell := self._websocket.close()):
                self._transport.write(farewell)
            self._transport.close()
            self._loop.call_later(_LINGER_S, self._transport.abort)

    def abort(self) -> None:
        self._transport.abort()

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._held_back is None and not self._transport.is_closing():
            self._transport.resume_reading()

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self._loop.call_later(delay_s, callback)

    # --- scripted faults call

    def hold_back(self, delay_s: float) -> None:
        """Reads nothing for a while, as a slow network would have it."""
        self._held_back = []
        self._transport.pause_reading()
        self._loop.call_later(delay_s, self._let_through)

    def _let_through(self) -> None:
        held, self._held_back = self._held_back or [], None
        self.resume_reading()
        for data in held:
            self.data_received(data)
