"""The other ways in: WebSockets, TLS, and both; with raw peers and with the official SDK."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from azure.eventhub import EventData, EventHubProducerClient, TransportType
from azure.eventhub.aio import EventHubProducerClient as AioProducerClient
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request

from contract.wire.place import Place
from support.amqp_peer import Peer, SocketLine
from support.certificates import Certificates, make_certificates
from support.hub_messages import data, part
from support.wait import wait_until
from tidegate_amqp import Accepted
from tidegate_amqp.sections import DATA
from tidegate_hub.client import FRAMES_A_TURN
from tidegate_hub.testing import RunningHub, running_hub
from tidegate_hub.websocket import PATH, SUBPROTOCOLS

ASKED = Request(host="localhost", target=PATH, subprotocols=[SUBPROTOCOLS[0]])


class TlsLine(SocketLine):
    """A socket with TLS around it."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(port)
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")


class EndingTlsLine(SocketLine):
    """TLS that says its last words and its end in one write."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(port)
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._coming, self._going, server_hostname="localhost")
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.socket.sendall(self._going.read())
                self._coming.write(self.socket.recv(1 << 16))

    def write(self, data: bytes) -> None:
        self._tls.write(data)
        self.socket.sendall(self._going.read())

    def read(self, seconds: float) -> bytes | None:
        found = super().read(seconds)
        if found:
            self._coming.write(found)
        with contextlib.suppress(ssl.SSLWantReadError):
            return self._tls.read(1 << 20)
        return found if found == b"" else None

    def write_last(self, data: bytes) -> None:
        self._tls.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        self.socket.sendall(self._going.read())


class WebSocketLine:
    """WebSocket messages over another line; `piece` cuts each message into fragments."""

    def __init__(self, line: SocketLine, piece: int = 1 << 20, asked: Request = ASKED) -> None:
        self.line = line
        self._piece = piece
        self.close_code: int | None = None
        self.connection = WSConnection(ConnectionType.CLIENT)
        line.write(self.connection.send(asked))
        (accepted,) = self._events(10)
        assert isinstance(accepted, AcceptConnection)

    def _events(self, seconds: float) -> list[Any]:
        received = self.line.read(seconds)
        if received is None:
            return []
        self.connection.receive_data(received or None)
        return list(self.connection.events())

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), self._piece):
            is_last = at + self._piece >= len(data)
            message = BytesMessage(data[at : at + self._piece], message_finished=is_last)
            self.line.write(self.connection.send(message))

    def write_last(self, data: bytes) -> None:
        closed = self.connection.send(BytesMessage(data)) + self.connection.send(
            CloseConnection(code=1000)
        )
        self.line.write(closed)

    def read(self, seconds: float) -> bytes | None:
        events = self._events(seconds)
        for each in events:
            if isinstance(each, CloseConnection):
                self.close_code = each.code
                return b""
        return b"".join(each.data for each in events if isinstance(each, BytesMessage)) or None

    def cut(self) -> None:
        self.line.cut()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(certificates: Certificates) -> Iterator[RunningHub]:
    """A hub with a TLS port besides the plain one."""
    with running_hub(
        tls_port=0, certificate=certificates.certificate, private_key=certificates.private_key
    ) as hub:
        yield hub


@pytest.fixture
def trusting(certificates: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificates.authority)


@pytest.fixture
def home(secured: RunningHub) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        yield Place(secured, stack)
    wait_until(lambda: secured.connections() == 0, 10, "all connections of the test to be gone")


def assert_served(peer: Peer, place: Place) -> None:
    """A large and a small event go there and come back."""
    with peer:
        sender = peer.attach_sender(place.input())
        for body in (b"large" * 60_000, b"small"):
            assert peer.publish(sender, data(body)) == Accepted()
        link = peer.attach_receiver(place.feed())
        link.grant(2)
        bodies = [part(each.payload, DATA) for each in peer.messages(link, 2)]
        assert bodies == [b"large" * 60_000, b"small"]


@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
def test_amqp_over_websockets_on_the_plain_port(home: Place, piece: int) -> None:
    if piece == 1:
        line = WebSocketLine(SocketLine(home.server.port), piece)
        with Peer(line) as peer:
            assert peer.attach_sender(home.hub).is_attached
    else:
        assert_served(Peer(WebSocketLine(SocketLine(home.server.port), piece)), home)


@pytest.mark.parametrize(
    ("target", "subprotocol"),
    [(PATH, "AMQPWSB10"), (PATH, "amqp"), (f"{PATH}/", "amqp"), (f"{PATH}/", "AMQPWSB10")],
    ids=["as Java asks", "as Go asks", "as Rust asks", "with a slash"],
)
def test_amqp_over_websockets_as_each_sdk_asks_for_it(
    home: Place, target: str, subprotocol: str
) -> None:
    asked = Request(host="localhost", target=target, subprotocols=[subprotocol])
    assert_served(Peer(WebSocketLine(SocketLine(home.server.port), asked=asked)), home)


@pytest.mark.parametrize("way", ["tls", "websocket"])
def test_what_came_before_the_end_of_a_connection_is_handled_to_its_last_frame(
    home: Place, trusting: ssl.SSLContext, way: str
) -> None:
    assert home.server.tls_port is not None
    line = (
        EndingTlsLine(home.server.tls_port, trusting)
        if way == "tls"
        else WebSocketLine(SocketLine(home.server.port))
    )
    count = 5 * FRAMES_A_TURN
    with Peer(line) as peer:
        sender = peer.attach_sender(home.input())
        peer.until(lambda: sender.credit >= count, "credit")
        for number in range(count):
            sender.send(data(b"%d" % number), tag=b"", settled=True)
        line.write_last(b"".join(peer.connection.take_output()))
        wait_until(lambda: not home.server.connections(), 10, "the connection to be gone")
    reader = home.open()
    link = reader.attach_receiver(home.feed())
    link.grant(count)
    found = [part(each.payload, DATA) for each in reader.messages(link, count)]
    assert found == [b"%d" % number for number in range(count)]


def test_amqp_over_tls(home: Place, trusting: ssl.SSLContext) -> None:
    assert home.server.tls_port is not None
    assert_served(Peer(TlsLine(home.server.tls_port, trusting)), home)


def test_amqp_over_websockets_over_tls(home: Place, trusting: ssl.SSLContext) -> None:
    assert home.server.tls_port is not None
    assert_served(Peer(WebSocketLine(TlsLine(home.server.tls_port, trusting))), home)


def test_a_websocket_that_closes_leaves_nothing_behind(home: Place) -> None:
    line = WebSocketLine(SocketLine(home.server.port))
    peer = Peer(line).open()
    peer.attach_receiver(home.feed(), properties={"com.microsoft:epoch": 5})
    line.line.write(line.connection.send(CloseConnection(1000)))
    peer.until_over()
    wait_until(lambda: home.server.connections() == 0, 5, "the connection to be gone")
    assert home.open().attach_receiver(home.feed()).is_attached
    line.cut()


def test_an_amqp_close_closes_the_websocket(home: Place) -> None:
    line = WebSocketLine(SocketLine(home.server.port))
    peer = Peer(line).open()
    peer.connection.close()
    peer.until_over()
    assert line.close_code == 1000
    line.cut()


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (4, 5, 6)])
def test_a_browser_is_told_what_this_port_is_for(home: Place, cuts: tuple[int, ...]) -> None:
    asked = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    line = SocketLine(home.server.port)
    start = 0
    for end in (*cuts, len(asked)):
        line.write(asked[start:end])
        start = end
    received = b""
    while answer := line.read(10):
        received += answer
    assert answer == b""
    line.cut()
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 ")
    assert f"content-length: {len(body)}".encode() in head.lower()
    assert body.startswith(b"This port speaks AMQP 1.0, plain or over WebSockets at ")


def test_a_client_that_speaks_no_tls_on_the_tls_port_harms_nobody(
    home: Place, trusting: ssl.SSLContext
) -> None:
    assert home.server.tls_port is not None
    line = SocketLine(home.server.tls_port)
    line.write(b"AMQP\x03\x01\x00\x00")
    while line.read(10):
        pass
    line.cut()
    half = socket.create_connection(("127.0.0.1", home.server.tls_port))
    half.sendall(b"\x16\x03\x01\x00")
    half.close()
    assert_served(Peer(TlsLine(home.server.tls_port, trusting)), home)


def sdk_options(place: Place, way: str, certificates: Certificates) -> dict[str, Any]:
    hub = place.server
    secure = way in ("tls", "wss")
    port = hub.tls_port if secure else hub.port
    text = hub.call(lambda: hub._server.connection_string(tls=secure))
    options: dict[str, Any] = {"eventhub_name": place.hub, "retry_total": 0, "conn_str": text}
    if secure:
        options["connection_verify"] = str(certificates.authority)
    if way != "plain":
        # With TLS or WebSockets the SDK passes over the port of a connection string.
        by_web = way in ("ws", "wss")
        options["transport_type"] = (
            TransportType.AmqpOverWebsocket if by_web else TransportType.Amqp
        )
        options["custom_endpoint_address"] = f"sb://localhost:{port}"
    return options


@pytest.mark.parametrize("way", ["plain", "tls", "ws", "wss"])
def test_the_sync_sdk_sends_on_every_way(home: Place, certificates: Certificates, way: str) -> None:
    options = sdk_options(home, way, certificates)
    with EventHubProducerClient.from_connection_string(**options) as producer:
        producer.send_batch([EventData("hello")], partition_id="1")
    assert home.server.range_of(home.hub, "1") == (0, 1)


# The SDK calls aiohttp in a way that aiohttp would rather not see.
@pytest.mark.filterwarnings("ignore:ssl=None is deprecated:DeprecationWarning")
@pytest.mark.parametrize("way", ["plain", "tls", "ws", "wss"])
async def test_the_async_sdk_sends_on_every_way(
    home: Place, certificates: Certificates, way: str
) -> None:
    options = sdk_options(home, way, certificates)
    async with AioProducerClient.from_connection_string(**options) as producer:
        await producer.send_batch([EventData("hello")], partition_id="1")
    assert home.server.range_of(home.hub, "1") == (0, 1)


def test_the_sdk_refuses_an_authority_that_it_does_not_know(
    home: Place, certificates: Certificates
) -> None:
    options = sdk_options(home, "tls", certificates)
    del options["connection_verify"]
    with (
        EventHubProducerClient.from_connection_string(**options) as producer,
        pytest.raises(Exception, match=r"(?i)certificate"),
    ):
        producer.send_batch([EventData("hello")])
