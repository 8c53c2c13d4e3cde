"""The sockets of a server: an asyncio protocol around `http`, and its time limits.

Rules:

- The head of a request must arrive within a time, and its body within another, also if they come
  byte by byte; a connection without a request may stay open for longer; an answer that is not taken
  ends the connection.
- Unfinished requests take so many bytes together and no more: then the oldest of them is refused.
- While answers wait to be written, nothing more is read or carried out.
- A connection that ends is first closed for writing only, so that a client that is still sending
  gets to read why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from tidegate_http.http import HttpConnection
from tidegate_http.stopping import stop_listening


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a connection may take, in seconds, and how many there may be."""

    head_s: float = 10.0
    request_s: float = 10.0
    idle_s: float = 60.0
    write_s: float = 10.0
    linger_s: float = 2.0
    connections: int = 100
    # Bytes of unfinished requests, of all connections together.
    held_bytes: int = 64 * 1024 * 1024


class HttpServer:
    """A listener and its connections. Made by `start`."""

    def __init__(self, new_connection: Callable[[], HttpConnection], limits: Limits) -> None:
        self.limits = limits
        self.port = 0
        self.addresses: tuple[str, ...] = ()
        self.connections: set[HttpWire] = set()
        # Those with unfinished requests, the oldest request first, and what each of them takes.
        self._held: dict[HttpWire, int] = {}
        self._held_bytes = 0
        self._is_making_room = False
        self.new_connection = new_connection
        self._listener: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listens. Raises OSError."""
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(lambda: HttpWire(self), host, port)
        self.addresses = tuple(str(each.getsockname()[0]) for each in listener.sockets)
        self._listener = listener
        self.port = int(listener.sockets[0].getsockname()[1])

    def hold(self, wire: HttpWire, size: int) -> None:
        """Notes what the unfinished requests of a connection take; 0 where there is none."""
        self._held_bytes += size - self._held.get(wire, 0)
        if size:
            self._held[wire] = size
        else:
            self._held.pop(wire, None)
        if self._is_making_room:
            # A connection that is crowded out calls this itself, and there may be thousands.
            return
        self._is_making_room = True
        try:
            while self._held_bytes > self.limits.held_bytes:
                next(iter(self._held)).crowd_out()
        finally:
            self._is_making_room = False

    async def stop(self) -> None:
        """Listens no more and ends all connections."""
        if self._listener is not None:
            await stop_listening(self._listener)
        for connection in list(self.connections):
            connection.end()


class HttpWire(asyncio.Protocol):
    """One connection of a browser or a program."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._http = server.new_connection()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._phase: tuple[object, ...] = ()
        self._is_held = False
        self._is_ending = False
        self._is_late = False
        self._answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._server.connections) >= self._server.limits.connections:
            self._transport.abort()
            return
        self._server.connections.add(self)
        self._keep_time()

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        self._http.receive(data)
        self._go_on()

    def crowd_out(self) -> None:
        """Gives up an unfinished request: others need its room."""
        self._transport.write(self._http.crowded_out())
        self._go_on()

    def eof_received(self) -> bool:
        if not self._is_ending:
            self._http.receive(b"")
            self._go_on()
        return False

    def pause_writing(self) -> None:
        self._is_held = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_held = False
        if not self._is_late:
            self._transport.resume_reading()
        self._go_on()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._server.hold(self, 0)
        if self._timer is not None:
            self._timer.cancel()

    def end(self) -> None:
        """Closes after what is written."""
        self._is_ending = True
        self._transport.close()

    def _go_on(self) -> None:
        """Writes the answers that are due, as long as they are taken."""
        while not self._is_held and not self._is_ending and not self._is_late:
            output = self._http.next_output()
            trouble = self._http.take_trouble()
            if trouble is not None:
                self._is_late = True
                self._transport.pause_reading()
                self._loop.call_later(trouble.late_s, self._write_late, output, trouble.cut_after)
            elif output:
                self._transport.write(output)
            if self._http.is_closed and not self._is_late:
                self._close_writing()
            elif not output:
                break
        self._keep_time()
        self._keep_count()

    def _keep_count(self) -> None:
        """Tells what unfinished requests take."""
        if self._http.requests_answered != self._answered:
            # What is left is of a new request, which is younger than those of others.
            self._answered = self._http.requests_answered
            self._server.hold(self, 0)
        self._server.hold(self, self._http.held)

    def _write_late(self, output: bytes, cut_after: int | None) -> None:
        """Writes an answer with trouble: its time has come."""
        if self._transport.is_closing():
            return
        self._transport.write(output[:cut_after])
        if cut_after is not None:
            self._transport.abort()
            return
        self._is_late = False
        if self._http.is_closed:
            self._close_writing()
        elif not self._is_held:
            self._transport.resume_reading()
        self._go_on()

    def _close_writing(self) -> None:
        self._is_ending = True
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def _keep_time(self) -> None:
        """Starts the clock anew when the connection has come to something else."""
        limits, http = self._server.limits, self._http
        if self._is_late:
            self._phase = ("late",)
            if self._timer is not None:
                self._timer.cancel()
            return
        if self._is_held:
            phase, seconds = ("write", http.requests_answered), limits.write_s
        elif self._is_ending:
            phase, seconds = ("linger", 0), limits.linger_s
        elif http.is_in_head:
            phase, seconds = ("head", http.requests_answered), limits.head_s
        elif http.is_in_body:
            phase, seconds = ("request", http.requests_answered), limits.request_s
        else:
            phase, seconds = ("idle", http.requests_answered), limits.idle_s
        if phase == self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._on_time)

    def _on_time(self) -> None:
        match self._phase[0]:
            case "head" | "request":
                self._transport.write(self._http.timed_out())
                self._go_on()
            case "idle":
                self.end()
            case _:
                self._transport.abort()
