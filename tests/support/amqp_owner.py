"""An owner of a connection that does what an owner may do, for every event that it is told of.

Used where a peer sends anything at all: nothing that a peer does may make these calls fail.
"""

from __future__ import annotations

from tidegate_amqp import (
    Accepted,
    Connection,
    Error,
    ReceiverLink,
    Rejected,
    Released,
    SenderLink,
    Source,
    Target,
)
from tidegate_amqp.events import (
    ConnectionOpened,
    CreditChanged,
    Delivery,
    Event,
    LinkAttached,
    SessionBegun,
    WindowOpened,
)

MAX_MESSAGE_SIZE = 2_000
_RUN = (3, 300, 5_300, 5_303, 5_310)
_PAYLOAD = b"x" * 5_310


class Owner:
    """Takes bytes for a connection and answers what happens. `mood` picks among the answers."""

    def __init__(self, connection: Connection, mood: int = 0) -> None:
        self.connection = connection
        self.mood = mood
        self.sent_bytes = 0
        self.events: list[Event] = []

    def take(self, data: bytes) -> None:
        events = self.connection.receive(data)
        self.events += events
        for event in events:
            self._answer(event)
        self.connection.tick(0.0)
        self.sent_bytes += sum(map(len, self.connection.take_output()))

    def _answer(self, event: Event) -> None:
        if isinstance(event, LinkAttached):
            self._on_attached(event)
        elif isinstance(event, CreditChanged):
            self._send(event.link)
        elif isinstance(event, WindowOpened):
            for link in list(event.session.links.values()):
                if isinstance(link, SenderLink):
                    self._send(link)
        elif isinstance(event, Delivery):
            outcome = (Accepted(), Released(), Rejected(Error("amqp:not-allowed")))[self.mood % 3]
            event.link.settle(event.delivery_id, outcome)
            event.link.grant(5)
        elif self.connection.initiator and not self.connection.close_sent:
            self._begin(event)

    def _begin(self, event: Event) -> None:
        if isinstance(event, ConnectionOpened):
            if not self.connection.is_closed:
                self.connection.begin()
        elif isinstance(event, SessionBegun) and event.session.is_live:
            event.session.attach_receiver("in", Source("there"), Target("here"))
            if event.session.remote_handle_max > 0:
                event.session.attach_sender("out", Source("here"), Target("there"))

    def _on_attached(self, event: LinkAttached) -> None:
        link = event.link
        if link.is_attached:
            pass
        elif self.mood & 4:
            link.refuse(Error("amqp:not-found", "there is no such place"))
        else:
            link.accept(event.attach, max_message_size=MAX_MESSAGE_SIZE)
        if isinstance(link, ReceiverLink):
            link.max_message_size = MAX_MESSAGE_SIZE
            link.grant(10)
        elif isinstance(link, SenderLink):
            self._send(link)

    def _send(self, link: SenderLink) -> None:
        if self.mood & 8 and link.sendable:
            link.send(b"y" * 9_000, tag=b"tag")
        if link.sendable:
            count = min(link.sendable, len(_RUN))
            link.send_run(_PAYLOAD, _RUN[:count])
        link.finish_drain()
        if self.mood & 16:
            link.detach()
        if self.mood & 32:
            link.session.end()
