"""A hub in memory: real broker and clients, no sockets, and a clock that the test moves.

Rules: nothing happens by itself. Bytes are handled when they are written, callbacks run when the
test reads, and what is due later runs when the test moves the clock.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

from support.amqp_peer import Peer
from tidegate_amqp import ConnectionSettings
from tidegate_hub.broker import Broker
from tidegate_hub.client import Client
from tidegate_hub.config import HubSpec
from tidegate_hub.connection_string import DEFAULT_KEY, DEFAULT_KEY_NAME
from tidegate_hub.fault_json import from_json
from tidegate_hub.faults import Fault
from tidegate_hub.hubs import Hub
from tidegate_hub.sas import KeyRule, generate
from tidegate_hub.storage.store import Store
from tidegate_hub.strike import strike

START_S = 1_750_000_000.0
NAMESPACE = "localhost"


class MemoryWire:
    """The hub's end of a line in memory."""

    peer_name = "127.0.0.1"

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.written = bytearray()
        self.is_closed = False
        self.was_cut = False
        self.is_reading = True

    def write(self, data: bytes) -> None:
        assert not self.is_closed, "the hub writes to a connection that it has closed"
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.was_cut = True

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._bench.soon.append(callback)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self._bench.later(delay_s, callback)


class MemoryLine:
    """The peer's end of it."""

    def __init__(self, bench: Bench, client: Client, wire: MemoryWire) -> None:
        self._bench = bench
        self.client = client
        self.wire = wire

    def write(self, data: bytes) -> None:
        if not self.wire.is_closed:
            self.client.received(data)

    def read(self, seconds: float) -> bytes | None:
        self._bench.settle()
        data = bytes(self.wire.written)
        self.wire.written.clear()
        return data or (b"" if self.wire.is_closed else None)

    def cut(self) -> None:
        self.wire.is_closed = True
        self.client.lost()
        if self.client in self._bench.clients:
            self._bench.clients.remove(self.client)


class Bench:
    """A hub server without a loop."""

    def __init__(self, *, is_checked: bool = False, store: Store | None = None) -> None:
        # The clock on the wall, which may be set, and the one that only goes on.
        self.now = START_S
        self.uptime = 0.0
        self.reported: list[str] = []
        self.soon: deque[Callable[[], None]] = deque()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.clients: list[Client] = []
        self.broker = Broker(
            store or Store(None),
            NAMESPACE,
            clock_ms=lambda: int(self.now * 1000),
            rules=(KeyRule(DEFAULT_KEY_NAME, DEFAULT_KEY),),
            is_checked=is_checked,
            report=self.reported.append,
        )

    def add_hub(self, name: str = "telemetry", partitions: int = 2, *groups: str) -> Hub:
        return self.broker.add_hub(HubSpec(name, partitions, groups))

    def connect(self, settings: ConnectionSettings | None = None) -> Peer:
        """A peer whose connection has yet to be opened."""
        wire = MemoryWire(self)
        client = Client(self.broker, wire, "c0ffee", lambda: self.now, lambda: self.uptime)
        self.clients.append(client)
        return Peer(MemoryLine(self, client, wire), settings)

    def open(self, settings: ConnectionSettings | None = None) -> Peer:
        return self.connect(settings).open()

    def inject(self, kind: str, **fields: Any) -> Fault:
        """Scripts a fault, as `RunningHub.inject` does."""
        places = ("hub", "partition", "group", "times", "for_seconds")
        described = {name: fields.pop(name) for name in places if name in fields}
        fault = from_json({"kind": kind, **described, "parameters": fields}, self.now)
        added = self.broker.faults.add(fault)
        if added.is_immediate:
            strike(self.broker, self.clients, added)
        return added

    # --- time

    def later(self, delay_s: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._later, (self.uptime + delay_s, next(self._numbers), callback))

    def settle(self) -> None:
        """Runs what is due now."""
        while self.soon or (self._later and self._later[0][0] <= self.uptime):
            callback = self.soon.popleft() if self.soon else heapq.heappop(self._later)[2]
            callback()

    def pass_time(self, seconds: float, step_s: float = 1.0) -> None:
        """Moves both clocks on; every second all clients get their tick."""
        end = self.uptime + seconds
        while self.uptime < end:
            step = min(step_s, end - self.uptime)
            self.uptime += step
            self.now += step
            self.settle()
            for client in list(self.clients):
                # Also one that is lost: its transport may wait for a peer that does not read.
                client.tick()
            self.settle()


def wire_of(peer: Peer) -> MemoryWire:
    """The hub's end of the line of a peer in memory."""
    assert isinstance(peer.line, MemoryLine)
    return peer.line.wire


def token_for(path: str, expires_at: float, key: str = DEFAULT_KEY) -> str:
    """A shared access signature for a hub or what is below it."""
    return generate(f"sb://{NAMESPACE}/{path}", DEFAULT_KEY_NAME, key, int(expires_at))
