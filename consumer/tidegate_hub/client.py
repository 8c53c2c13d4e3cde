"""One client's connection: what its events mean to the hub. No socket: it writes through a wire.

Rules:
- Everything a client does is answered in the turn in which it came, then written at once.
- How long something lasts is told by a clock that nobody sets; moments (of tokens, faults and
  words) are told by the clock on the wall.
- Feeds take turns; while the wire holds back none gets one. Clients take turns too: the
  hub handles a limited number of frames of one, then those of the others.
- The memory that one connection can use is bounded: `amqp:resource-limit-exceeded` closes it.
- When the connection is lost, closed or cut, all that it held is let go at once, also where the
  transport still waits for a peer that reads nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from tidegate_amqp import AmqpError, Connection, ConnectionSettings, Error, Session
from tidegate_amqp.events import (
    ConnectionClosed,
    ConnectionFailed,
    CreditChanged,
    Delivery,
    Event,
    LinkAttached,
    LinkDetached,
    WindowOpened,
)
from tidegate_hub.access import Access
from tidegate_hub.access_conditions import claim_lapsed, no_token, too_much_waits
from tidegate_hub.broker import Broker
from tidegate_hub.conditions import HubError, tracked
from tidegate_hub.feed import Feed
from tidegate_hub.links import HubLink
from tidegate_hub.opening import open_link
from tidegate_hub.publisher import Publisher
from tidegate_hub.responder import Answers, Requests


class Wire(Protocol):
    """What a client needs of its transport and its loop."""

    peer_name: str

    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def call_soon(self, callback: Callable[[], None]) -> None: ...
    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None: ...


_numbers = itertools.count(1)

# How long a client may take from connecting to its Open, and to its first token if tokens are
# checked.
HANDSHAKE_LIMIT_S = 60.0
# Limits for one connection. A delivery has at most 1 MB.
MAX_UNFINISHED_BYTES = 32 << 20
MAX_WAITING_BYTES = 64 << 20
MAX_LINKS = 5_000
MAX_ATTACH_SIZE = 8_192
# How many frames of one connection are handled before the others get their turn.
FRAMES_A_TURN = 128


class Client:
    """A client of the hub, from its first byte to its last."""

    def __init__(
        self,
        broker: Broker,
        wire: Wire,
        container: str,
        now: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self.broker = broker
        self.wire = wire
        self.now = now
        self.monotonic = monotonic
        self._connected_at = monotonic()
        self.number = next(_numbers)
        self.tracking_id = f"{container}_G{self.number}"
        self.access = Access(broker.rules, is_checked=broker.is_checked)
        self.is_lost = False
        self.is_held = False
        # Bytes of answers that wait for credit, on all links together.
        self.waiting_answer_bytes = 0
        # The open links: also those of sessions that have ended while their events wait.
        self.links: set[HubLink] = set()
        # Feeds that wait for a turn, in order; the values mean nothing.
        self._ready: dict[Feed, None] = {}
        self._is_scheduled = False
        self._is_flush_due = False
        self._is_reading_paused = False
        settings = ConnectionSettings(
            self.tracking_id,
            accepts_sasl=self.access.accepts_sasl,
            max_links=MAX_LINKS,
            max_attach_size=MAX_ATTACH_SIZE,
            max_unfinished_bytes=MAX_UNFINISHED_BYTES,
            frames_a_turn=FRAMES_A_TURN,
        )
        self.connection = Connection(settings, initiator=False, now=monotonic())
        broker.counters.connections_opened += 1

    # --- what the wire calls

    def received(self, data: bytes) -> None:
        for event in self.connection.receive(data, self.monotonic()):
            if not self.is_lost:
                self._on_event(event)
        self.flush()
        if self.connection.has_more and not self._is_reading_paused:
            self._is_reading_paused = True
            self.wire.pause_reading()
            self.wire.call_soon(self._receive_more)

    def _receive_more(self) -> None:
        """Handle the next frames of the data that arrived."""
        self._is_reading_paused = False
        if self.is_lost:
            return
        self.received(b"")
        if not self._is_reading_paused:
            self.wire.resume_reading()

    def ended(self) -> None:
        """Handle all frames that arrived, because no more will come."""
        while self.connection.has_more and not self.is_lost:
            self.received(b"")

    def tick(self) -> None:
        """Once a second: heartbeats, clients that fell silent, rights that lapsed."""
        if self.is_lost:
            return
        elapsed, now = self.monotonic(), self.now()
        if elapsed - self._connected_at >= HANDSHAKE_LIMIT_S:
            if self.connection.peer is None:
                self.abort()
                return
            if not self.access.is_proven:
                self._give_up(no_token(HANDSHAKE_LIMIT_S))
                return
        for event in self.connection.tick(elapsed):
            self._on_event(event)
        for link in list(self.links):
            if link.has_lapsed(now):
                link.detach(claim_lapsed(link.claim, link.resource))
        self.flush()

    def hold(self) -> None:
        """The transport has enough to write."""
        self.is_held = True

    def go_on(self) -> None:
        self.is_held = False
        self._kick()

    def lost(self) -> None:
        """The transport is gone, or there is nothing more to say over it."""
        self.is_lost = True
        self._ready.clear()
        for link in list(self.links):
            link.drop()
        self.connection.release()

    # --- what links call

    @property
    def container_id(self) -> str:
        return self.connection.peer.container_id if self.connection.peer else ""

    @property
    def peer_name(self) -> str:
        return self.wire.peer_name

    def contexts(self) -> list[Any]:
        """Publishers, feeds, requests and answers of all sessions."""
        return [
            link.context
            for session in self.connection.sessions.values()
            for link in session.links.values()
            if link.context is not None
        ]

    def answers_for(self, session: Session, node: str, reply_to: str | None) -> Answers | None:
        """The link that answers of a node go to, preferring the address that was asked for."""
        candidates = [
            link.context
            for link in session.links.values()
            if isinstance(link.context, Answers) and link.is_attached and link.context.node == node
        ]
        for answers in candidates:
            if answers.address == reply_to:
                return answers
        return candidates[0] if candidates else None

    def tracked(self, description: str) -> str:
        return tracked(description, self.tracking_id, self.broker.namespace, self.now_iso())

    def now_iso(self) -> str:
        return iso(self.now())

    def schedule(self, feed: Feed) -> None:
        """Gives a feed a turn, soon."""
        self._ready.setdefault(feed)
        self._kick()

    def flush_soon(self) -> None:
        """Writes what is due once the caller is done."""
        if not self._is_flush_due:
            self._is_flush_due = True
            self.wire.call_soon(self._flush_due)

    def flush(self) -> None:
        if self.is_lost:
            return
        if self.connection.waiting_bytes > MAX_WAITING_BYTES:
            self._give_up(too_much_waits(MAX_WAITING_BYTES))
            return
        output = self.connection.take_output(self.monotonic())
        if output:
            self.wire.write(b"".join(output))
        if self.connection.is_closed:
            self.lost()
            self.wire.close()

    def abort(self) -> None:
        """Cuts the connection without a word."""
        self.lost()
        self.wire.abort()

    def close(self, error: Error) -> None:
        """Closes the connection, telling every link why."""
        if self.connection.peer is not None and not self.connection.is_closed:
            self.connection.close(error)
        self.flush()
        self.lost()
        self.wire.close()

    def _give_up(self, error: HubError) -> None:
        """Close the connection because of a limit, and report it."""
        self.broker.report_refusal(
            "connection", f"connection {self.number} from {self.peer_name} was closed: {error}"
        )
        self.close(Error(error.condition, error.description))

    # --- turns

    def _flush_due(self) -> None:
        self._is_flush_due = False
        self.flush()

    def _kick(self) -> None:
        if self._ready and not self._is_scheduled and not self.is_held and not self.is_lost:
            self._is_scheduled = True
            self.wire.call_soon(self._run_turns)

    def _run_turns(self) -> None:
        self._is_scheduled = False
        for _ in range(len(self._ready)):
            # Written after each turn, so that the transport can say that it has enough.
            if self.is_held or not self._ready:
                break
            feed = next(iter(self._ready))
            del self._ready[feed]
            if feed.take_turn() and not self.is_lost:
                self._ready.setdefault(feed)
            self.flush()
        self._kick()

    # --- events

    def _on_event(self, event: Event) -> None:
        match event:
            case Delivery(link=link):
                self._on_delivery(event)
            case CreditChanged(link=link):
                if isinstance(link.context, Feed):
                    self.schedule(link.context)
                elif isinstance(link.context, Answers):
                    link.context.pump()
            case LinkAttached(link=link, attach=attach):
                open_link(self, link, attach)
            case LinkDetached(link=link):
                if isinstance(link.context, HubLink | Answers):
                    link.context.drop()
            case WindowOpened(session=session):
                self._on_window(session)
            case ConnectionClosed():
                self.flush()
            case ConnectionFailed(error=error):
                self.broker.report_refusal(
                    "connection",
                    f"connection {self.number} from {self.peer_name} was closed: "
                    f"{error.condition}: {error}",
                )

    def _on_delivery(self, delivery: Delivery) -> None:
        context = delivery.link.context
        try:
            if isinstance(context, Publisher | Requests):
                context.on_delivery(delivery)
        except AmqpError as error:
            delivery.link.detach(Error(error.condition, self.tracked(str(error))))

    def _on_window(self, session: Session) -> None:
        for link in list(session.links.values()):
            if isinstance(link.context, Feed):
                self.schedule(link.context)
            elif isinstance(link.context, Answers):
                link.context.pump()


def iso(now: float) -> str:
    """A moment as the service writes it in its errors."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S")
