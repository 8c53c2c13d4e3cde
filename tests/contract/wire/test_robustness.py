"""Peers that break the protocol, break off or never begin: they harm themselves alone."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from contract.wire.place import Place
from support.amqp_peer import CLOSE, OPEN, Peer, SocketLine
from support.hub_messages import batch, data
from support.wait import wait_until
from tidegate_amqp import Accepted, sasl
from tidegate_amqp.frames import AMQP_HEADER, EMPTY_FRAME, SASL_HEADER, frame
from tidegate_amqp.performatives import Begin, Open, encode_performative
from tidegate_amqp.sections import BATCH_FORMAT
from tidegate_hub.testing import RunningHub, running_hub

GREETING = SASL_HEADER + sasl.init_frame("ANONYMOUS", b"", "localhost") + AMQP_HEADER
OPENING = GREETING + frame(0, encode_performative(Open("raw")))
BEGUN = OPENING + frame(0, encode_performative(Begin(None, 0, 100, 100)))


@pytest.fixture(scope="module")
def target() -> Iterator[RunningHub]:
    """A hub for peers that misbehave."""
    with running_hub() as hub:
        hub.add_hub("telemetry", 2)
        yield hub


@pytest.fixture
def dial(target: RunningHub) -> Iterator[Callable[[], SocketLine]]:
    """Connects, as often as it is called; all lines end with the test."""
    with contextlib.ExitStack() as stack:

        def dialled() -> SocketLine:
            line = SocketLine(target.port)
            stack.callback(line.cut)
            return line

        yield dialled


def works(hub: RunningHub) -> bool:
    """Whether a well-behaved peer is served."""
    with Peer(SocketLine(hub.port)) as peer:
        return bool(peer.publish(peer.attach_sender("telemetry"), data(b"x")) == Accepted())


def ends(hub: RunningHub, sent: bytes) -> bytes:
    """Sends bytes; gives all that comes until the hub closes the connection."""
    line = SocketLine(hub.port)
    line.write(sent)
    received = b""
    while data := line.read(10):
        received += data
    assert data == b"", "the hub kept the connection"
    line.cut()
    return received


FRAMING, STATE, DECODE = "amqp:connection:framing-error", "amqp:illegal-state", "amqp:decode-error"
BROKEN = {
    "a frame of two gigabytes": (OPENING, struct.pack(">IBBH", 1 << 31, 2, 0, 0), FRAMING),
    "a frame above the maximum": (OPENING, struct.pack(">IBBH", 65_537, 2, 0, 0), FRAMING),
    "a frame smaller than its header": (OPENING, struct.pack(">IBBH", 4, 2, 0, 0), FRAMING),
    "a frame of no bytes": (OPENING, struct.pack(">IBBH", 0, 0, 0, 0), FRAMING),
    "a body outside of its frame": (OPENING, struct.pack(">IBBH", 8, 200, 0, 0), FRAMING),
    "a frame of an unknown kind": (OPENING, struct.pack(">IBBH", 9, 2, 7, 0) + b"\x40", STATE),
    "no performative": (OPENING, frame(0, b"\x40"), DECODE),
    "an attach without fields": (OPENING, frame(0, b"\x00\x53\x12\xc0\x01\x00"), DECODE),
    "a second open": (OPENING, frame(0, encode_performative(Open("again"))), STATE),
    "a transfer without fields": (OPENING, frame(9, b"\x00\x53\x14\x45"), DECODE),
    "a channel beyond the maximum": (
        OPENING,
        frame(5_000, encode_performative(Begin(None, 0, 1, 1))),
        "amqp:resource-limit-exceeded",
    ),
    "a second begin": (BEGUN, frame(0, encode_performative(Begin(None, 0, 1, 1))), STATE),
    "a detach of nothing": (
        BEGUN,
        frame(0, b"\x00\x53\x16\xc0\x03\x01\x52\x05"),
        "amqp:session:unattached-handle",
    ),
}
NO_OPENINGS = {
    "a mail client": b"HELO localhost\r\n",
    "a form": b"POST / HTTP/1.1\r\n\r\n",
    "AMQP without SASL": b"AMQP\x00\x01\x00\x00" * 2,
    "an unknown protocol of AMQP": b"AMQP\x01\x01\x00\x00",
    "TLS on the port without it": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "nonsense after the SASL header": SASL_HEADER + b"\xff" * 100,
    "an unknown mechanism": SASL_HEADER + sasl.init_frame("GSSAPI", b"", "h"),
    "a SASL frame above the maximum": SASL_HEADER + sasl.init_frame("PLAIN", b"x" * 5_000, "h"),
    "SASL twice": SASL_HEADER + sasl.init_frame("ANONYMOUS", b"", "h") + SASL_HEADER,
    "begin before open": GREETING + frame(0, encode_performative(Begin(None, 0, 1, 1))),
    "a transfer before open": GREETING + frame(0, b"\x00\x53\x14\xc0\x0c\x0b" + b"\x43" * 11),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_frame_that_breaks_the_protocol_closes_with_its_condition(
    target: RunningHub, what: str
) -> None:
    before, sent, condition = BROKEN[what]
    received = ends(target, before + sent)
    assert condition.encode() in received[received.rindex(b"\x00\x53\x18") :]


@pytest.mark.parametrize("what", NO_OPENINGS)
def test_what_is_no_opening_is_closed(target: RunningHub, what: str) -> None:
    received = ends(target, NO_OPENINGS[what])
    assert not any(each in received for each in (b"\x00\x53\x10", b"\x00\x53\x11"))


@pytest.mark.parametrize(
    ("kind", "version", "name"),
    [(18, 3, "ApiVersions"), (17, 1, "SaslHandshake"), (3, 9, "Metadata")],
)
def test_a_kafka_client_is_closed_and_named_in_the_log(
    caplog: pytest.LogCaptureFixture, kind: int, version: int, name: str
) -> None:
    # size, kind, version, correlation id, client id
    request = struct.pack(">HHIH", kind, version, 1, 9) + b"consumer-1" + bytes(20)
    with running_hub() as hub, caplog.at_level("WARNING", "tidegate_hub"):
        assert ends(hub, struct.pack(">I", len(request)) + request) == b""
        (line,) = [each.getMessage() for each in caplog.records]
        assert f"this is the Kafka protocol ({name}), and this port speaks AMQP 1.0" in line
        assert "connect with an Event Hubs SDK" in line


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_are_closed_and_harm_nobody(target: RunningHub, seed: int) -> None:
    dice = random.Random(seed)
    for opening in (b"", SASL_HEADER, GREETING, OPENING, BEGUN):
        ends(target, opening + dice.randbytes(300))
    assert works(target)


@pytest.mark.parametrize("seed", range(4))
def test_a_conversation_with_a_changed_byte_harms_nobody(target: RunningHub, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(50):
        spoiled = bytearray(BEGUN)
        spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
        line = SocketLine(target.port)
        line.write(bytes(spoiled))
        line.cut()
    assert works(target)
    wait_until(lambda: target.connections() == 0, 5, "all connections to be gone")


@pytest.mark.parametrize("length", [1, 7, 8, 20, len(GREETING) + 5, len(BEGUN) - 1])
def test_a_peer_that_breaks_off_in_the_middle_is_forgotten(
    target: RunningHub, dial: Callable[[], SocketLine], length: int
) -> None:
    line = dial()
    line.write(BEGUN[:length])
    wait_until(lambda: target.connections() == 1, 5, "the connection")
    line.cut()
    wait_until(lambda: target.connections() == 0, 5, "the connection to be gone")


def test_a_peer_that_closes_its_half_is_closed(
    target: RunningHub, dial: Callable[[], SocketLine]
) -> None:
    line = dial()
    line.write(BEGUN)
    line.socket.shutdown(socket.SHUT_WR)
    while line.read(5):
        pass
    wait_until(lambda: target.connections() == 0, 5, "the connection to be gone")


def test_a_peer_may_send_byte_by_byte(dial: Callable[[], SocketLine]) -> None:
    line = dial()
    for at in range(len(BEGUN)):
        line.write(BEGUN[at : at + 1])
    received = b""
    while b"\x00\x53\x11" not in received:
        received += line.read(5) or b""


def test_heartbeats_are_taken_at_any_time_after_the_opening(target: RunningHub) -> None:
    with Peer(SocketLine(target.port)) as peer:
        peer.line.write(EMPTY_FRAME * 1_000)
        assert peer.attach_sender("telemetry").is_attached


def test_a_reset_in_the_middle_of_a_batch_stores_nothing_of_it(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    link.send(
        batch(*[data(b"x" * 1_000)] * 500), tag=b"t", message_format=BATCH_FORMAT, settled=True
    )
    sent = b"".join(peer.connection.take_output())
    peer.line.write(sent[: len(sent) // 2])
    assert isinstance(peer.line, SocketLine)
    linger = struct.pack("ii", 1, 0)
    peer.line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    before = place.server.connections()
    peer.line.cut()
    wait_until(lambda: place.server.connections() < before, 5, "the connection to be gone")
    assert place.server.range_of(place.hub, "0") == (0, 0)


def test_two_hundred_clients_at_once_are_all_served(
    target: RunningHub, dial: Callable[[], SocketLine]
) -> None:
    peers = [Peer(dial()) for _ in range(200)]
    for peer in peers:
        peer.flush()
    for peer in peers:
        peer.open()
    assert target.connections() == 200
    assert len({peer.frames(OPEN)[0].fields[0] for peer in peers}) == 200
    for peer in peers:
        peer.connection.close()
        peer.flush()
    for peer in peers:
        peer.until_over()
        assert len(peer.frames(CLOSE)) == 1
    wait_until(lambda: target.connections() == 0, 5, "all clients to be gone")
