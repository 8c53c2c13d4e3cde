"""AMQP over WebSockets on the hub's own ports: a connection that opens with an HTTP GET gets it.

No I/O: bytes in, AMQP bytes and replies out. The work is done by wsproto; what is added is the path
and the subprotocols that the service's clients ask for, and words for a browser that came by.
"""

from __future__ import annotations

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

# The SDKs for .NET, Java, JavaScript and Python ask for the first, those for Go and Rust for the
# second, which is the name that the WebSocket binding of AMQP registers.
SUBPROTOCOLS = ("AMQPWSB10", "amqp")
# The SDK for Rust asks for it with a slash at the end.
PATH = "/$servicebus/websocket"

_NOT_HERE = (
    b"This port speaks AMQP 1.0, plain or over WebSockets at /$servicebus/websocket.\n"
    b"The admin pages are at the port given with --admin-port.\n"
)
_MAX_HEADERS = 16_384
_NORMAL = 1000
_PROTOCOL_ERROR = 1002
_NOT_BINARY = 1003


class WebSocket:
    """One WebSocket at the hub's end."""

    def __init__(self) -> None:
        self._connection = WSConnection(ConnectionType.SERVER)
        self._is_open = False
        self._headers_size = 0
        self.is_closed = False

    def received(self, data: bytes) -> tuple[bytes, bytes]:
        """Takes what arrived; gives the AMQP bytes in it and what to write back at once."""
        if self.is_closed:
            return b"", b""
        amqp: list[bytes] = []
        replies: list[bytes] = []
        if not self._is_open:
            self._headers_size += len(data)
        try:
            if not self._is_open and self._headers_size > _MAX_HEADERS:
                raise RemoteProtocolError("the request is too large")
            self._connection.receive_data(data)
            for event in self._connection.events():
                self._on_event(event, amqp, replies)
        except (RemoteProtocolError, LocalProtocolError, UnicodeError):
            self._give_up(replies)
        return b"".join(amqp), b"".join(replies)

    def _on_event(self, event: object, amqp: list[bytes], replies: list[bytes]) -> None:
        send = self._connection.send
        match event:
            case BytesMessage(data=data):
                amqp.append(bytes(data))
            case Request(target=target, subprotocols=offered):
                path = target.split("?")[0].lower().removesuffix("/")
                # What the client names first is what it wants most.
                chosen = next((each for each in offered if each in SUBPROTOCOLS), None)
                if path == PATH and chosen is not None:
                    replies.append(send(AcceptConnection(subprotocol=chosen)))
                    self._is_open = True
                else:
                    self._reject(replies)
            case Ping():
                replies.append(send(event.response()))
            case CloseConnection():
                replies.append(send(event.response()))
                self.is_closed = True
            case TextMessage():
                replies.append(send(CloseConnection(code=_NOT_BINARY, reason="AMQP is binary")))
                self.is_closed = True

    def _reject(self, replies: list[bytes]) -> None:
        """Says what this port is for, also to a browser that asked for no WebSocket."""
        self.is_closed = True
        headers = [
            (b"content-type", b"text/plain"),
            (b"content-length", b"%d" % len(_NOT_HERE)),
            (b"connection", b"close"),
        ]
        send = self._connection.send
        replies.append(send(RejectConnection(status_code=404, headers=headers, has_body=True)))
        replies.append(send(RejectData(_NOT_HERE)))

    def _give_up(self, replies: list[bytes]) -> None:
        """Ends what broke the protocol with a word, where one can still be said."""
        self.is_closed = True
        try:
            if self._is_open:
                replies.append(self._connection.send(CloseConnection(code=_PROTOCOL_ERROR)))
            else:
                self._reject(replies)
        except LocalProtocolError:
            pass

    def close(self) -> bytes:
        """The hub has said all: the Close frame to write, where one is still due."""
        if self.is_closed or not self._is_open:
            return b""
        self.is_closed = True
        return self._connection.send(CloseConnection(code=_NORMAL))

    def wrap(self, data: bytes) -> bytes:
        """AMQP bytes as a message to write."""
        return b"" if self.is_closed else self._connection.send(BytesMessage(data))
