"""A hub server without sockets for tests of its admin API, and clients attached to it in memory.

Rules: everything but the wires is the real thing; a client is the hub's own `Client` with the
project's AMQP at the other end, so that what a fault does to a link really happens.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tidegate_amqp import Connection, ConnectionSettings, Source, Symbol, Target
from tidegate_amqp.events import ConnectionOpened, Event, LinkAttached, SessionBegun
from tidegate_http.messages import Request, Response
from tidegate_hub.admin.listener import answered
from tidegate_hub.client import Client
from tidegate_hub.config import parse_hub
from tidegate_hub.ingest import Arrival
from tidegate_hub.options import Options
from tidegate_hub.server import HubServer

NOW = 1_800_000_000.0
EVENT = bytes.fromhex("005375a00568656c6c6f")  # one data section that says "hello"


def make_hub(*hubs: str, **options: Any) -> HubServer:
    """A hub server that was not started, with hubs as on the command line."""
    server = HubServer(Options(port=0, **options), report=lambda _line: None)
    for hub in hubs:
        server.broker.add_hub(parse_hub(hub))
    return server


def publish(server: HubServer, hub: str, partition: str, events: int) -> None:
    """Stores events."""
    target = server.broker.hubs.get(hub)
    server.broker.publish(target, target.partition(partition), Arrival([EVENT] * events, None))


def call(
    server: HubServer, method: str, path: str, body: object = None, **headers: str
) -> tuple[Response, Any]:
    """Asks the API; gives the response and the JSON in it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        named.setdefault("content-type", "application/json")
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    response = answered(server, Request(method, path, named, data), NOW)
    is_json = response.body and "json" in response.content_type
    return response, json.loads(response.body) if is_json else None


class MemoryWire:
    """The hub's end of a connection whose other end is an object of this process."""

    peer_name = "memory"

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.due: list[Callable[[], None]] = []
        self.is_aborted = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Never: time does not pass here."""


class MemoryClient:
    """A client of the hub in memory, with links to one hub."""

    def __init__(self, server: HubServer) -> None:
        self.wire = MemoryWire()
        self.hub_end = Client(server.broker, self.wire, "test", lambda: NOW, lambda: NOW)
        server.clients.add(self.hub_end)
        self.events: list[Event] = []
        self._own_end = Connection(ConnectionSettings("the-client"), initiator=True)
        self.exchange()
        assert any(isinstance(event, ConnectionOpened) for event in self.events)
        self._session = self._own_end.begin()
        self.exchange()
        assert any(isinstance(event, SessionBegun) for event in self.events)

    def receive_from(self, address: str, epoch: int | None = None) -> None:
        """Attaches a receiver."""
        properties = None if epoch is None else {Symbol("com.microsoft:epoch"): epoch}
        name = f"receiver-{len(self.events)}"
        self._session.attach_receiver(name, Source(address), Target(name), properties=properties)
        self.exchange()
        assert isinstance(self.events[-1], LinkAttached), self.events

    def send_to(self, address: str) -> None:
        """Attaches a sender."""
        self._session.attach_sender(f"sender-{len(self.events)}", Source("me"), Target(address))
        self.exchange()

    def exchange(self) -> None:
        """Carries bytes both ways until both ends are silent."""
        while True:
            for data in self._own_end.take_output():
                self.hub_end.received(data)
            due, self.wire.due = self.wire.due, []
            for callback in due:
                callback()
            written, self.wire.written = self.wire.written, []
            for data in written:
                self.events += self._own_end.receive(data)
            if not (written or due or self._own_end.output):
                return
