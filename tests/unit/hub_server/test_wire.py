"""The TCP end of a client, with a transport that takes nothing."""

from __future__ import annotations

from typing import Any

from support.hub_bench import Bench
from tidegate_hub.client import Client
from tidegate_hub.wire import WRITE_LIMIT, TcpWire


class DeafTransport:
    """A transport whose peer never reads."""

    def __init__(self) -> None:
        self.waiting = 0
        self.was_aborted = False

    def write(self, data: bytes) -> None:
        self.waiting += len(data)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def is_closing(self) -> bool:
        return self.was_aborted

    def abort(self) -> None:
        self.was_aborted = True

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def get_extra_info(self, _name: str) -> Any:
        return ("10.0.0.1", 5)


async def test_a_peer_that_sends_and_never_reads_is_cut_off_and_reported(bench: Bench) -> None:
    transport = DeafTransport()

    def admit(wire: TcpWire) -> Client:
        return Client(bench.broker, wire, "c0ffee", lambda: bench.now, lambda: bench.uptime)

    wire = TcpWire(admit, lambda _client: None)
    wire.connection_made(transport)  # type: ignore[arg-type]
    assert wire.client is not None
    piece = b"x" * (1 << 20)
    while transport.waiting + len(piece) <= WRITE_LIMIT:
        wire.write(piece)
    before = (transport.was_aborted, bench.reported[:])
    wire.write(piece)
    assert before == (False, [])
    assert transport.was_aborted
    assert wire.client.is_lost
    (line,) = bench.reported
    assert "from 10.0.0.1 was cut: it sends but does not read" in line
    wire.write(piece)
    assert len(bench.reported) == 1
