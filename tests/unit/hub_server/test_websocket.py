"""WebSockets at the hub's end, spoken to by wsproto as a client: bytes in, bytes out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from tidegate_hub.websocket import PATH, SUBPROTOCOLS, WebSocket

NOT_HERE = b"This port speaks AMQP 1.0, plain or over WebSockets at /$servicebus/websocket."


class Browser:
    """A WebSocket client that talks to a WebSocket of the hub."""

    def __init__(self) -> None:
        self.hub = WebSocket()
        self.connection = WSConnection(ConnectionType.CLIENT)
        self.amqp = b""

    def say(self, event: Event) -> list[Event]:
        return self.say_bytes(self.connection.send(event))

    def say_bytes(self, data: bytes, piece: int = 1 << 20) -> list[Event]:
        """Sends bytes in pieces; gives what the hub answered."""
        for at in range(0, len(data), piece):
            amqp, reply = self.hub.received(data[at : at + piece])
            self.amqp += amqp
            if reply:
                self.connection.receive_data(reply)
        return list(self.connection.events())

    def open(self) -> Browser:
        (accepted,) = self.say(request())
        assert isinstance(accepted, AcceptConnection)
        return self


def request(target: str = PATH, subprotocols: tuple[str, ...] = SUBPROTOCOLS[:1]) -> Request:
    return Request(host="localhost", target=target, subprotocols=list(subprotocols))


@pytest.mark.parametrize("target", [PATH, f"{PATH}/"])
@pytest.mark.parametrize(
    ("offered", "taken"),
    [
        (("AMQPWSB10",), "AMQPWSB10"),
        (("amqp",), "amqp"),
        (("amqp", "AMQPWSB10"), "amqp"),
        (("mqtt", "AMQPWSB10", "amqp"), "AMQPWSB10"),
    ],
)
def test_the_first_subprotocol_of_the_service_that_is_offered_is_accepted(
    target: str, offered: tuple[str, ...], taken: str
) -> None:
    (accepted,) = Browser().say(request(target, offered))
    assert isinstance(accepted, AcceptConnection)
    assert accepted.subprotocol == taken


@pytest.mark.parametrize(
    "target",
    [
        f"{PATH}?sdk=1",
        f"{PATH}/?sdk=1",
        PATH.upper().replace("SERVICEBUS", "ServiceBus"),
    ],
)
def test_the_path_may_have_a_query_and_any_case(target: str) -> None:
    (accepted,) = Browser().say(request(target))
    assert isinstance(accepted, AcceptConnection)


@pytest.mark.parametrize(
    "asked",
    [
        request("/"),
        request("/elsewhere"),
        request(f"{PATH}/more"),
        request(f"{PATH}//"),
        request(subprotocols=()),
        request(subprotocols=("mqtt",)),
    ],
)
def test_another_path_or_subprotocol_gets_a_404_that_explains(asked: Request) -> None:
    browser = Browser()
    rejected, *rest = browser.say(asked)
    assert isinstance(rejected, RejectConnection)
    assert rejected.status_code == 404
    assert b"".join(each.data for each in rest if isinstance(each, RejectData)).startswith(NOT_HERE)
    assert browser.hub.is_closed


@pytest.mark.parametrize(
    "http",
    [
        b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /$servicebus/websocket HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET \xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: \xff\xfe\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"GET / NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"y" * 20_000,
    ],
)
def test_what_is_no_websocket_gets_a_404_that_explains(http: bytes) -> None:
    hub = WebSocket()
    _, reply = hub.received(http)
    assert reply.startswith(b"HTTP/1.1 404 \r\n")
    assert NOT_HERE in reply
    assert hub.is_closed
    assert hub.received(http) == (b"", b"")


def test_a_request_may_come_byte_by_byte() -> None:
    browser = Browser()
    (accepted,) = browser.say_bytes(browser.connection.send(request()), piece=1)
    assert isinstance(accepted, AcceptConnection)


def test_headers_without_end_are_not_kept() -> None:
    hub = WebSocket()
    hub.received(b"GET / HTTP/1.1\r\n")
    for number in range(100_000):
        hub.received(b"x%d: y\r\n" % number)
        if hub.is_closed:
            break
    assert hub.is_closed
    assert number < 3_000


def test_messages_are_a_stream_of_bytes_whatever_their_frames() -> None:
    browser = Browser().open()
    browser.say(BytesMessage(b"AMQ", message_finished=False))
    browser.say(BytesMessage(b"P", message_finished=False))
    browser.say(BytesMessage(b"\x00\x01", message_finished=True))
    browser.say_bytes(browser.connection.send(BytesMessage(b"\x00" * 70_000)), piece=999)
    assert browser.amqp == b"AMQP\x00\x01" + b"\x00" * 70_000


def test_a_ping_is_answered_also_between_the_fragments_of_a_message() -> None:
    browser = Browser().open()
    browser.say(BytesMessage(b"AM", message_finished=False))
    (pong,) = browser.say(Ping(b"there?"))
    assert isinstance(pong, Pong)
    assert pong.payload == b"there?"
    browser.say(BytesMessage(b"QP"))
    assert browser.amqp == b"AMQP"


def test_a_close_is_answered_and_nothing_is_written_after_it() -> None:
    browser = Browser().open()
    (closed,) = browser.say(CloseConnection(1000))
    assert isinstance(closed, CloseConnection)
    assert browser.hub.is_closed
    assert browser.hub.wrap(b"AMQP") == b""


def test_text_is_refused_with_the_code_for_a_wrong_kind_of_data() -> None:
    browser = Browser().open()
    (closed,) = browser.say(TextMessage("AMQP"))
    assert isinstance(closed, CloseConnection)
    assert closed.code == 1003


@pytest.mark.parametrize(
    "frame",
    [
        b"\x82\x04AMQP",  # not masked, as a client must
        b"\x8f\x80\x00\x00\x00\x00",  # an unknown kind of frame
        b"\xf2\x80\x00\x00\x00\x00",  # reserved bits
        b"\x80\x80\x00\x00\x00\x00",  # a continuation of nothing
    ],
)
def test_a_broken_frame_closes_with_a_word(frame: bytes) -> None:
    browser = Browser().open()
    (closed,) = browser.say_bytes(frame)
    assert isinstance(closed, CloseConnection)
    assert closed.code == 1002
    assert browser.hub.is_closed


@given(st.binary(max_size=200))
def test_any_bytes_after_the_opening_are_taken(data: bytes) -> None:
    browser = Browser().open()
    browser.hub.received(data)
    browser.hub.wrap(b"AMQP")


@given(st.binary(max_size=200))
def test_any_bytes_after_get_are_taken(data: bytes) -> None:
    hub = WebSocket()
    hub.received(b"GET " + data)
    hub.received(b"\r\n\r\n")


def test_a_close_by_the_hub_is_said_in_a_close_frame_once() -> None:
    browser = Browser().open()
    browser.connection.receive_data(browser.hub.close())
    (closed,) = browser.connection.events()
    assert isinstance(closed, CloseConnection)
    assert closed.code == 1000
    assert browser.hub.close() == b""
    assert WebSocket().close() == b""
