"""One client that floods the hub, measured from outside: memory, and what others wait for."""

from __future__ import annotations

import contextlib
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.amqp_peer import CLOSE, Peer, SocketLine
from support.hub_messages import data
from support.hub_process import HubProcess, hub_process
from support.wait import wait_until
from tidegate_amqp import Accepted, SenderLink
from tidegate_amqp.encode import FALSE, NULL, TRUE, encode_binary, encode_list, encode_uint
from tidegate_amqp.frames import frame
from tidegate_amqp.performatives import Flow, encode_performative

INPUT = "telemetry/Partitions/0"
# Before frames were handled in turns this was above 250 ms.
ALLOWED_MEDIAN_S = 0.1

pytestmark = pytest.mark.slow


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    with hub_process(tmp_path, "--hub", "telemetry:1") as process:
        yield process


def parts(link: SenderLink, number: int, size: int, count: int) -> bytes:
    """The beginning of a delivery and more of it, never its end."""
    head = [encode_uint(number), encode_binary(b"t"), encode_uint(0), FALSE]
    channel, handle = link.session.channel, encode_uint(link.handle)
    first, more = (
        b"\x00\x53\x14" + encode_list([handle, *fields, TRUE]) for fields in (head, [NULL] * 4)
    )
    body = b"x" * size
    return frame(channel, first + body) + frame(channel, more + body) * (count - 1)


def until_reset(peer: Peer, links: list[SenderLink], size: int, count: int) -> int:
    """Begins a delivery on each link until the hub closes; gives how many bytes it was sent."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        for number, link in enumerate(links):
            written = parts(link, number, size, count)
            peer.line.write(written)
            sent += len(written)
            peer.until_quiet(0.001)
    return sent


@pytest.mark.parametrize(
    ("size", "count", "wanted", "allowed_mb"), [(60_000, 17, 200, 64), (2, 20_000, 40, 16)]
)
def test_unfinished_deliveries_of_a_connection_use_a_bounded_amount_of_memory(
    hub: HubProcess, size: int, count: int, wanted: int, allowed_mb: int
) -> None:
    before = hub.resident_bytes
    peer = Peer(SocketLine(hub.port)).open()
    session = peer.begin()
    links = [peer.attach_sender(INPUT, session) for _ in range(wanted)]
    sent = until_reset(peer, links, size, count)
    grown = hub.resident_bytes - before
    peer.line.cut()
    with Peer(SocketLine(hub.port)) as other:
        assert other.publish(other.attach_sender(INPUT), data(b"x")) == Accepted()
    left = hub.resident_bytes - before
    print(
        f"{sent >> 20} MB sent in parts of {size} bytes: grown {grown >> 10} KB, left {left >> 10}"
    )
    assert max(grown, left) < allowed_mb << 20


def test_the_close_names_the_limit_when_its_client_reads_it(hub: HubProcess) -> None:
    with Peer(SocketLine(hub.port)) as peer:
        session = peer.begin()
        number = 0
        while not peer.is_over:
            link = peer.attach_sender(INPUT, session) if number < 200 else None
            assert link is not None, "the hub takes deliveries without end"
            peer.line.write(parts(link, number, 60_000, 17))
            peer.until_quiet(0.05)
            number += 1
        (close,) = peer.frames(CLOSE)
        assert close.fields[0].value[0] == "amqp:resource-limit-exceeded"
    wait_until(
        lambda: "of unfinished deliveries exceed the maximum" in hub.complained,
        10,
        "the report of the hub",
    )


class Flood:
    """A client that asks for echoes as fast as it can, until the block ends."""

    def __init__(self, hub: HubProcess) -> None:
        peer = Peer(SocketLine(hub.port)).open()
        flow = Flow(0, 5_000, 0, 5_000, echo=True)
        self._said = frame(peer.begin().channel, encode_performative(flow)) * 10_000
        line = peer.line
        assert isinstance(line, SocketLine)
        self._socket = line.socket
        self._socket.settimeout(None)
        self.answered = 0
        self._threads = [threading.Thread(target=each) for each in (self._write, self._read)]

    def __enter__(self) -> Flood:
        for thread in self._threads:
            thread.start()
        return self

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._socket.sendall(self._said)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while found := self._socket.recv(1 << 20):
                self.answered += len(found)

    def __exit__(self, *reason: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._socket.close()


def waits(hub: HubProcess, count: int) -> list[float]:
    """How long each of so many sends waited for its outcome, in order of length."""
    with Peer(SocketLine(hub.port)) as peer:
        link = peer.attach_sender(INPUT)
        found = []
        for _ in range(count):
            begun = time.perf_counter()
            assert peer.publish(link, data(b"x")) == Accepted()
            found.append(time.perf_counter() - begun)
    return sorted(found)


def test_a_flood_of_echoes_delays_the_sends_of_others_by_little(hub: HubProcess) -> None:
    alone = waits(hub, 100)
    with Flood(hub) as flood:
        wait_until(lambda: flood.answered > 1 << 16, 10, "the flood to be answered")
        flooded = waits(hub, 100)
    for what, found in (("alone", alone), ("in a flood", flooded)):
        print(f"{what}: median {statistics.median(found):.4f} s, longest {found[-1]:.4f} s")
    assert statistics.median(flooded) < ALLOWED_MEDIAN_S
