"""Two AMQP machines that talk with no network, and one that talks to frames written by hand."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from support.amqp_samples import OPEN, prelude
from tidegate_amqp import (
    Connection,
    ConnectionSettings,
    ReceiverLink,
    SenderLink,
    Session,
    Source,
    Target,
)
from tidegate_amqp.events import ConnectionFailed, Event, LinkAttached, SessionBegun
from tidegate_amqp.frames import HEADER_SIZE, frame
from tidegate_amqp.performatives import Begin, Open, decode_performative, encode_performative

CLIENT = ConnectionSettings("client", hostname="host")
SERVER = ConnectionSettings("server_G1")

Kind = TypeVar("Kind")


class Sent(NamedTuple):
    """A frame that a machine wrote."""

    channel: int
    performative: Any
    payload: bytes
    size: int


def sent_frames(chunks: list[bytes]) -> list[Sent]:
    """The AMQP frames in what a machine wrote; headers, SASL and empty frames are passed over."""
    data = b"".join(chunks)
    found, index = [], 0
    while index < len(data):
        size = int.from_bytes(data[index : index + 4], "big")
        if data[index : index + 4] == b"AMQP":
            size = HEADER_SIZE
        elif data[index + 5] == 0 and size > HEADER_SIZE:
            body = data[index + HEADER_SIZE : index + size]
            performative, start = decode_performative(body, 0, len(body))
            channel = int.from_bytes(data[index + 6 : index + 8], "big")
            found.append(Sent(channel, performative, body[start:], size))
        index += size
    return found


class Pair:
    """A client and a server; what they write waits until `pump` carries it over."""

    def __init__(
        self, client: ConnectionSettings = CLIENT, server: ConnectionSettings = SERVER
    ) -> None:
        self.client = Connection(client, initiator=True)
        self.server = Connection(server, initiator=False)
        self.at_client: list[Event] = []
        self.at_server: list[Event] = []
        self.frames: list[Sent] = []

    def pump(self) -> None:
        """Carries everything over until nothing more is written."""
        while self.to_server() | self.to_client():
            pass

    def to_server(self, step: int = 0) -> bool:
        """Carries what the client wrote; in pieces of `step` bytes where that is given."""
        return self._carry(self.client, self.server, self.at_server, step)

    def to_client(self, step: int = 0) -> bool:
        return self._carry(self.server, self.client, self.at_client, step)

    def _carry(self, source: Connection, to: Connection, events: list[Event], step: int) -> bool:
        chunks = source.take_output()
        self.frames += sent_frames(chunks)
        data = b"".join(chunks)
        for at in range(0, len(data), step or len(data) or 1):
            events += to.receive(data[at : at + (step or len(data))])
        return bool(data)

    def forget(self) -> None:
        """Starts the lists of events and frames anew."""
        for each in (self.at_client, self.at_server, self.frames):
            each.clear()

    def session(self) -> tuple[Session, Session]:
        """A new session at the client and at the server."""
        if self.client.peer is None:
            self.pump()
        ours = self.client.begin()
        self.pump()
        return ours, one(self.at_server, SessionBegun).session

    def sender(
        self, session: Session | None = None, credit: int = 0, **fields: Any
    ) -> tuple[SenderLink, ReceiverLink]:
        """A link on which the client sends, at both ends."""
        ours = self.session()[0] if session is None else session
        link = ours.attach_sender("sender", Source("here"), Target("there"), **fields)
        self.pump()
        attached = one(self.at_server, LinkAttached)
        assert isinstance(attached.link, ReceiverLink)
        attached.link.accept(attached.attach)
        if credit:
            attached.link.grant(credit)
        self.pump()
        self.forget()
        return link, attached.link

    def receiver(
        self, session: Session | None = None, credit: int = 0
    ) -> tuple[ReceiverLink, SenderLink]:
        """A link on which the client receives, at both ends."""
        ours = self.session()[0] if session is None else session
        link = ours.attach_receiver("receiver", Source("there"), Target("here"))
        self.pump()
        attached = one(self.at_server, LinkAttached)
        assert isinstance(attached.link, SenderLink)
        attached.link.accept(attached.attach)
        self.pump()
        if credit:
            link.grant(credit)
            self.pump()
        self.forget()
        return link, attached.link


def opened(settings: ConnectionSettings = SERVER, peer: Open = OPEN) -> Connection:
    """A server whose client is the test: SASL and Open are done."""
    connection = Connection(settings, initiator=False)
    for piece in prelude(initiator=False)[:3]:
        connection.receive(piece)
    tell(connection, peer)
    connection.take_output()
    return connection


def begun(settings: ConnectionSettings = SERVER, begin: Begin | None = None) -> Connection:
    """A server with one session, on channel 0, that the test began."""
    connection = opened(settings)
    tell(connection, begin or Begin(None, 1, 100, 100))
    connection.take_output()
    return connection


def tell(
    connection: Connection, *performatives: Any, channel: int = 0, payload: bytes = b""
) -> list[Event]:
    """What happens when a peer sends these, all at once."""
    written = [frame(channel, encode_performative(each) + payload) for each in performatives]
    return connection.receive(b"".join(written))


def said(connection: Connection) -> list[Any]:
    """The performatives that a machine wrote since it was last asked."""
    return [each.performative for each in sent_frames(connection.take_output())]


def all_of(events: list[Event], kind: type[Kind]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def one(events: list[Event], kind: type[Kind]) -> Kind:
    """The last event of a kind."""
    found = all_of(events, kind)
    assert found, f"no {kind.__name__} among {events}"
    return found[-1]


def failure(events: list[Event]) -> str:
    """The condition for which a connection failed."""
    return one(events, ConnectionFailed).error.condition
