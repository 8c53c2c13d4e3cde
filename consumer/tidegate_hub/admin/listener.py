"""The sockets of the admin API: an asyncio protocol around `http`, and its time limits.

Rules:

- A request must arrive whole within a time, also if it comes byte by byte; a connection without a
  request may stay open for longer; an answer that is not taken ends the connection.
- While answers wait to be written, nothing more is read or carried out.
- A connection that ends is first closed for writing only, so that a client that is still sending
  gets to read why.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import cast

from tidegate_hub.admin import guard
from tidegate_hub.admin.http import HttpConnection
from tidegate_hub.admin.messages import Problem, Request, Response
from tidegate_hub.admin.routes import HubControl, respond
from tidegate_hub.admin.table import ROUTES

_MAX_CONNECTIONS = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a connection may take, in seconds."""

    request_s: float = 10.0
    idle_s: float = 60.0
    write_s: float = 10.0
    linger_s: float = 2.0


class Admin:
    """The admin API of one hub server. Made by `start`."""

    def __init__(self, hub: HubControl, host: str, limits: Limits) -> None:
        self.limits = limits
        self.port = 0
        self.connections: set[AdminWire] = set()
        self._hub = hub
        self._host = host
        self._only_loopback = True
        self._listener: asyncio.Server | None = None

    @classmethod
    async def start(
        cls, hub: HubControl, host: str, port: int, limits: Limits | None = None
    ) -> Admin:
        """Listens. Raises OSError."""
        admin = cls(hub, host, limits or Limits())
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(lambda: AdminWire(admin), host, port)
        addresses = [str(each.getsockname()[0]) for each in listener.sockets]
        admin._only_loopback = all(map(guard.is_loopback, addresses))
        admin._listener = listener
        admin.port = int(listener.sockets[0].getsockname()[1])
        return admin

    def stop(self) -> None:
        """Listens no more and ends all connections."""
        if self._listener is not None:
            self._listener.close()
        for connection in list(self.connections):
            connection.end()

    def new_connection(self) -> HttpConnection:
        return HttpConnection(self._respond, time.time, self._hub.broker.report)

    def _respond(self, request: Request) -> Response:
        try:
            guard.check(request, only_loopback=self._only_loopback, own_name=self._host)
        except Problem as problem:
            return problem.as_response()
        return respond(ROUTES, self._hub, request, time.time())


class AdminWire(asyncio.Protocol):
    """One connection of a browser or a program."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._http = admin.new_connection()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._phase: tuple[object, ...] = ()
        self._is_held = False
        self._is_ending = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._admin.connections) >= _MAX_CONNECTIONS:
            self._transport.abort()
            return
        self._admin.connections.add(self)
        self._keep_time()

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        self._http.receive(data)
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
        self._transport.resume_reading()
        self._go_on()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._admin.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def end(self) -> None:
        """Closes after what is written."""
        self._is_ending = True
        self._transport.close()

    def _go_on(self) -> None:
        """Writes the answers that are due, as long as they are taken."""
        while not self._is_held and not self._is_ending:
            output = self._http.next_output()
            if output:
                self._transport.write(output)
            if self._http.is_closed:
                self._is_ending = True
                if self._transport.can_write_eof() and not self._transport.is_closing():
                    self._transport.write_eof()
            elif not output:
                break
        self._keep_time()

    def _keep_time(self) -> None:
        """Starts the clock anew when the connection has come to something else."""
        limits, http = self._admin.limits, self._http
        if self._is_held:
            phase, seconds = ("write", http.requests_answered), limits.write_s
        elif self._is_ending:
            phase, seconds = ("linger", 0), limits.linger_s
        elif http.is_in_request:
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
            case "request":
                self._transport.write(self._http.timed_out())
                self._go_on()
            case "idle":
                self.end()
            case _:
                self._transport.abort()
