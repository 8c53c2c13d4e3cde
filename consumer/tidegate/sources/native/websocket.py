"""AMQP over a WebSocket, the client's end. No I/O: bytes in, AMQP bytes and replies out."""

from __future__ import annotations

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    Request,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from tidegate.ports import SourceError

_PATH = "/$servicebus/websocket"
_SUBPROTOCOL = "AMQPWSB10"


class WebSocket:
    """One WebSocket to a namespace."""

    def __init__(self, host: str) -> None:
        self._connection = WSConnection(ConnectionType.CLIENT)
        self._request = Request(host=host, target=_PATH, subprotocols=[_SUBPROTOCOL])
        self.is_open = False

    def opening(self) -> bytes:
        """What is written first."""
        return self._connection.send(self._request)

    def received(self, data: bytes) -> tuple[bytes, bytes]:
        """The AMQP bytes in what arrived, and what to write back. Raises SourceError."""
        amqp: list[bytes] = []
        replies: list[bytes] = []
        try:
            self._connection.receive_data(data)
            for event in self._connection.events():
                match event:
                    case BytesMessage(data=part):
                        amqp.append(bytes(part))
                    case AcceptConnection():
                        self.is_open = True
                    case RejectConnection(status_code=status):
                        raise SourceError(f"the WebSocket was refused with status {status}")
                    case Ping():
                        replies.append(self._connection.send(event.response()))
                    case CloseConnection(code=code):
                        self.is_open = False
                        raise SourceError(f"the service closed the WebSocket with code {code}")
        except (RemoteProtocolError, LocalProtocolError, UnicodeError) as error:
            raise SourceError(f"the WebSocket broke: {error}") from error
        return b"".join(amqp), b"".join(replies)

    def wrap(self, data: bytes) -> bytes:
        """AMQP bytes as a message to write."""
        return self._connection.send(BytesMessage(data))
