"""One connection to a namespace: its sessions, its links, and who each of them belongs to.

Rules:
- Everything a link hears goes to its context: a reader, or a desk of requests.
- A session takes so many links as the service allows; then another one begins.
- What the service breaks is NotUnderstoodError for everybody on the connection; all else that ends
  it may pass, and a new connection is made by the connector.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.sources.native.desk import Desk
from tidegate.sources.native.endpoint import Endpoint
from tidegate.sources.native.line import Line, connect
from tidegate.sources.native.refusals import DroppedError, Kind, Trouble, passing, trouble_of
from tidegate.sources.native.requests import Answer
from tidegate_amqp import (
    AmqpError,
    Connection,
    ConnectionSettings,
    Error,
    ReceiverLink,
    SenderLink,
    Session,
)
from tidegate_amqp.events import (
    ConnectionClosed,
    ConnectionFailed,
    ConnectionOpened,
    CreditChanged,
    Delivery,
    Event,
    LinkAttached,
    LinkDetached,
    Outcome,
    Run,
    SessionBegun,
    SessionEnded,
    WindowOpened,
)

# The service sends something at least this often, and is given up after twice that.
_IDLE_TIME_OUT_MS = 30_000
_SILENCE_MS = 60_000
# Transfers under way for all links of a session together.
_WINDOW = 65_536

_numbers = itertools.count(1)


class LinkOwner(Protocol):
    """What a link belongs to."""

    def on_attached(self, attach: Any) -> None: ...

    def on_delivery(self, delivery: Delivery) -> None: ...

    def on_detached(self, error: Error | None) -> None: ...

    def on_trouble(self, trouble: Trouble) -> None:
        """The connection is over."""


class Receives(LinkOwner, Protocol):
    """An owner whose link takes runs."""

    def on_run(self, payloads: list[bytes]) -> None: ...


class Sends(LinkOwner, Protocol):
    """An owner whose link sends."""

    def on_credit(self) -> None: ...

    def on_outcome(self, first: int, last: int, state: Any) -> None:
        """What became of deliveries of the session; others of it may be among them."""


class HubConnection:
    """See the module."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.container = f"tidegate-{uuid.uuid4().hex[:12]}"
        self.is_over = False
        self._place = endpoint.name
        self._line: Line | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._begun: dict[Session, asyncio.Future[None]] = {}
        self._desks: dict[str, Desk] = {}
        self._senders: dict[Session, list[Sends]] = {}
        self._machine = Connection(
            ConnectionSettings(
                self.container,
                hostname=endpoint.host,
                idle_time_out_ms=_IDLE_TIME_OUT_MS,
                inactivity_limit_ms=_SILENCE_MS,
                incoming_window=_WINDOW,
            ),
            initiator=True,
            now=asyncio.get_running_loop().time(),
        )

    async def open(self, context: ssl.SSLContext | None) -> None:
        """Connects. Raises SourceError."""
        try:
            self._line = await connect(self.endpoint, self._machine, self, context)
        except ssl.SSLCertVerificationError as error:
            raise SourceError(
                f"{self._place}: the certificate was not accepted: {error.verify_message}. "
                "Set ca_file where a private authority signed it.",
                is_fatal=True,
            ) from error
        except OSError as error:
            raise SourceError(
                f"{self._place}: could not connect: {error}. Check the host and the port, and that "
                "the network lets this machine get there."
            ) from error
        await self._opened

    async def close(self) -> None:
        """Says goodbye, and waits until the socket is closed."""
        self._end(passing(f"{self._place}: the connection was closed"))
        if self._line is not None:
            self._line.close()
            await self._line.closed()

    def flush(self) -> None:
        if self._line is not None:
            self._line.flush()

    def flush_soon(self) -> None:
        if self._line is not None:
            self._line.flush_soon()

    # --- links

    async def ask(self, node: str, make: Callable[[uuid.UUID, str], bytes]) -> Answer:
        """An answer of `$cbs` or `$management`. Raises SourceError."""
        desk = self._desks.get(node)
        if desk is None or not desk.is_usable:
            session = await self._session()
            name = f"{self.container}-{node.strip('$')}-{next(_numbers)}"
            desk = self._desks[node] = Desk(session, node, name)
            self.flush()
        # Who asks of all partitions does so at once: that is one write.
        return await desk.ask(make, self.flush_soon)

    async def receiver(
        self, owner: Receives, credit: int, source: Any, target: Any, **fields: Any
    ) -> ReceiverLink:
        """Asks for a link to receive on, with its first credit in the same breath."""
        session = await self._session()
        name = f"{self.container}-{next(_numbers)}"
        link = session.attach_receiver(name, source, target, **fields)
        link.context = owner
        link.take_runs()
        link.grant(credit)
        self.flush()
        return link

    async def sender(self, owner: Sends, source: Any, target: Any) -> SenderLink:
        """Asks for a link to send on."""
        session = await self._session()
        link = session.attach_sender(f"{self.container}-{next(_numbers)}", source, target)
        link.context = owner
        self._senders.setdefault(session, []).append(owner)
        self.flush()
        return link

    async def _session(self) -> Session:
        """A session with room for two more links."""
        while True:
            self._check()
            for session, begun in list(self._begun.items()):
                await asyncio.shield(begun)
                # Links are counted from 0 to the largest handle.
                if session.is_live and len(session.links) < session.remote_handle_max:
                    return session
            self._check()
            session = self._machine.begin()
            self._begun[session] = asyncio.get_running_loop().create_future()
            self.flush()

    def _check(self) -> None:
        if self.is_over:
            raise SourceError(f"{self._place}: the connection was lost")

    # --- the line calls

    def on_event(self, event: Event) -> None:
        match event:
            case Run(link=link, payloads=payloads):
                link.context.on_run(payloads)
            case Delivery(link=link):
                self._on_delivery(event)
            case LinkAttached(link=link, attach=attach):
                link.context.on_attached(attach)
            case LinkDetached(link=link, error=error):
                link.context.on_detached(error)
            case CreditChanged(link=link) if link.context is not None:
                link.context.on_credit()
            case Outcome(session=session):
                for owner in self._senders.get(session, ()):
                    owner.on_outcome(event.first, event.last, event.state)
            case WindowOpened(session=session):
                for owner in self._senders.get(session, ()):
                    owner.on_credit()
            case ConnectionOpened():
                if not self._opened.done():
                    self._opened.set_result(None)
            case SessionBegun(session=session):
                begun = self._begun.get(session)
                if begun is not None and not begun.done():
                    begun.set_result(None)
            case SessionEnded(session=session, error=error):
                self._on_session_ended(session, error)
            case ConnectionClosed(error=error):
                self._end(self._closed(error))
            case ConnectionFailed(error=error):
                self._end(self._broken(error))

    def on_lost(self, reason: str) -> None:
        self._end(self._lost(reason))

    def _on_delivery(self, delivery: Delivery) -> None:
        try:
            delivery.link.context.on_delivery(delivery)
        except (AmqpError, NotUnderstoodError) as error:
            self._end(self._broken(error))

    def _on_session_ended(self, session: Session, error: Error | None) -> None:
        begun = self._begun.pop(session, None)
        if begun is not None and not begun.done():
            begun.set_exception(trouble_of(error, self._place).error)
            begun.exception()

    def _closed(self, error: Error | None) -> Trouble:
        if error is None:
            return self._lost("it was closed")
        trouble = trouble_of(error, self._place)
        if trouble.kind is not Kind.PASSING or trouble.at_least_s:
            return trouble
        return replace(trouble, error=DroppedError(str(trouble.error)))

    def _lost(self, reason: str) -> Trouble:
        said = f"{self._place}: the connection was lost: {reason}"
        return Trouble(Kind.PASSING, DroppedError(said))

    def _broken(self, error: Exception) -> Trouble:
        said = f"{self._place}: what the service says is not understood: {error}"
        return Trouble(Kind.FATAL, NotUnderstoodError(said))

    def _end(self, trouble: Trouble) -> None:
        """The connection is of no use any more: everybody on it is told, once."""
        if self.is_over:
            return
        self.is_over = True
        for waiting in [self._opened, *self._begun.values()]:
            if not waiting.done():
                waiting.set_exception(trouble.error)
                waiting.exception()
        for session in list(self._machine.sessions.values()):
            for link in list(session.links.values()):
                if link.context is not None:
                    link.context.on_trouble(trouble)
        for desk in self._desks.values():
            desk.on_trouble(trouble)
        if self._line is not None and not self._machine.is_closed:
            self._line.close()
