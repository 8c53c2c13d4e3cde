"""A plain AMQP client for tests: it does what a test says, and keeps every frame that it was sent.

It stands on `tidegate_amqp.Connection` and a line: a socket here, or memory (see hub_bench.py).
Rules: everything waits for a condition with a deadline; what arrived is kept as raw frames too,
because a client's library hides fields that were null and frames that were merged.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from tidegate_amqp import (
    Connection,
    ConnectionSettings,
    Described,
    Error,
    Link,
    ReceiverLink,
    SenderLink,
    Session,
    Source,
    Symbol,
    Target,
)
from tidegate_amqp import events as happened
from tidegate_amqp.decode import decode_value
from tidegate_amqp.frames import AMQP_HEADER

T = TypeVar("T")
E = TypeVar("E", bound=happened.Event)

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
AMQP_CODES = {
    OPEN: "open",
    BEGIN: "begin",
    ATTACH: "attach",
    FLOW: "flow",
    TRANSFER: "transfer",
    DISPOSITION: "disposition",
    DETACH: "detach",
    END: "end",
    CLOSE: "close",
}
PATIENCE_S = 10.0
_SELECTOR = Symbol("apache.org:selector-filter:string")


class Line(Protocol):
    """What carries bytes. `read` gives b'' at the end, and None where nothing came in time."""

    def write(self, data: bytes) -> None: ...
    def read(self, seconds: float) -> bytes | None: ...
    def cut(self) -> None: ...


class SocketLine:
    """A TCP connection, which blocks."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=PATIENCE_S)
        # Small writes go out at once, or each would wait for the one before.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self, seconds: float) -> bytes | None:
        self.socket.settimeout(max(seconds, 0.001))
        try:
            return self.socket.recv(1 << 16)
        except TimeoutError:
            return None
        except ConnectionResetError:
            return b""
        finally:
            self.socket.settimeout(PATIENCE_S)

    def cut(self) -> None:
        self.socket.close()


class Seen(NamedTuple):
    """A frame as it came: the fields of its performative undecorated, so that null is None."""

    channel: int
    code: int
    fields: list[Any]
    payload: bytes
    raw: bytes


class Received(NamedTuple):
    """A message as its frames brought it."""

    delivery_id: int
    payload: bytes
    settled: bool


class Peer:
    """One connection to a hub."""

    def __init__(self, line: Line, settings: ConnectionSettings | None = None) -> None:
        self.line = line
        self.connection = Connection(settings or ConnectionSettings("peer"), initiator=True)
        self.events: list[happened.Event] = []
        self.received = bytearray()
        self.is_over = False
        self._tags = itertools.count()
        self._messages: defaultdict[Link, list[Received]] = defaultdict(list)
        self._seen: list[Seen] = []
        self._read_up_to = 0

    def __enter__(self) -> Peer:
        return self.open()

    def __exit__(self, *reason: object) -> None:
        self.line.cut()

    # --- the connection

    def flush(self) -> None:
        output = b"".join(self.connection.take_output())
        # A hub that has closed takes nothing more; what it said last is still to be read.
        with contextlib.suppress(ConnectionError):
            if output:
                self.line.write(output)

    def pump(self, seconds: float = PATIENCE_S) -> bool:
        """Writes what is due and takes what comes next; False when nothing did."""
        self.flush()
        data = self.line.read(seconds)
        if data is None:
            return False
        self.is_over = self.is_over or not data
        self.received += data
        for event in self.connection.receive(data):
            self.events.append(event)
            if isinstance(event, happened.Delivery):
                message = Received(event.delivery_id, event.payload, event.settled)
                self._messages[event.link].append(message)
        self.flush()
        return bool(data)

    def until(self, predicate: Callable[[], T], what: str, seconds: float = PATIENCE_S) -> T:
        """Takes what comes until the predicate is true; fails with what was waited for."""
        deadline = time.monotonic() + seconds
        self.flush()
        while not (value := predicate()):
            left = deadline - time.monotonic()
            if self.is_over or left <= 0 or not (self.pump(left) or self.is_over):
                value = predicate()
                assert value, f"waited for {what}; last came: {str(self.events[-5:])[:2_000]}"
                break
        return value

    def until_quiet(self, seconds: float = 0.1) -> None:
        """Takes all that comes until nothing has come for a while."""
        while not self.is_over and self.pump(seconds):
            pass

    def until_over(self) -> None:
        """Waits for the end of the line."""
        self.until(lambda: self.is_over, "the end of the connection")

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def next(self, kind: type[E], what: str = "") -> E:
        """The next event of a kind that comes from now on."""
        count = len(self.of(kind))
        return self.until(lambda: self.of(kind)[count:], what or kind.__name__)[0]

    def open(self) -> Peer:
        self.until(lambda: self.of(happened.ConnectionOpened), "the hub's open")
        return self

    def begin(self) -> Session:
        session = self.connection.begin()
        self.until(lambda: session.is_begun, "the hub's begin")
        return session

    # --- links

    def attach_sender(
        self, address: Any, session: Session | None = None, **fields: Any
    ) -> SenderLink:
        """A link to the hub, attached or refused."""
        session = session or self._any_session()
        link = session.attach_sender(
            fields.pop("name", f"to {address} {next(self._tags)}"),
            Source("here"),
            Target(address),
            **fields,
        )
        self._attached(link)
        return link

    def attach_receiver(
        self,
        address: Any,
        session: Session | None = None,
        *,
        selector: str | None = None,
        filters: Mapping[Any, Any] | None = None,
        reply_to: str | None = None,
        **fields: Any,
    ) -> ReceiverLink:
        """A link from the hub, attached or refused; it has no credit yet."""
        session = session or self._any_session()
        if selector is not None:
            filters = {_SELECTOR: Described(_SELECTOR, selector)}
        link = session.attach_receiver(
            fields.pop("name", f"from {address} {next(self._tags)}"),
            Source(address, filter=dict(filters) if filters else None),
            Target(reply_to or "here"),
            **fields,
        )
        self._attached(link)
        return link

    def _any_session(self) -> Session:
        live = [each for each in self.connection.sessions.values() if each.is_live]
        return live[0] if live else self.begin()

    def _attached(self, link: Link) -> None:
        self.until(lambda: link.remote_handle is not None, f"the attach of {link.name}")
        if self.attach_of(link).fields[5 if isinstance(link, ReceiverLink) else 6] is None:
            self.refusal(link)
        elif isinstance(link, SenderLink):
            self.until(lambda: link.credit, f"credit for {link.name}")

    def refusal(self, link: Link) -> Error:
        """The error with which the hub detached a link; waits for it."""
        self.until(lambda: self._detached(link), f"the detach of {link.name}")
        error = self._detached(link)[-1].error
        assert error is not None, f"{link.name} was detached without an error"
        return error

    def _detached(self, link: Link) -> list[happened.LinkDetached]:
        return [event for event in self.of(happened.LinkDetached) if event.link is link]

    def attach_of(self, link: Link) -> Seen:
        """The hub's attach frame for a link."""
        return next(
            each for each in self.frames() if each.code == ATTACH and each.fields[0] == link.name
        )

    # --- messages

    def send(self, link: SenderLink, payload: bytes, **fields: Any) -> int:
        """Sends a message without waiting for its outcome; gives its delivery id."""
        delivery_id = link.send(payload, tag=b"%d" % next(self._tags), **fields)
        self.flush()
        return delivery_id

    def publish(self, link: SenderLink, payload: bytes, **fields: Any) -> Any:
        """Sends a message and gives the outcome."""
        delivery_id = self.send(link, payload, **fields)
        return self.outcome(delivery_id).state

    def outcome(self, delivery_id: int) -> happened.Outcome:
        def found() -> list[happened.Outcome]:
            return [each for each in self.of(happened.Outcome) if covers(each)]

        def covers(each: happened.Outcome) -> bool:
            return each.first <= delivery_id <= each.last

        return self.until(found, f"the outcome of delivery {delivery_id}")[-1]

    def messages(self, link: Link, count: int, seconds: float = PATIENCE_S) -> list[Received]:
        """All messages that came on a link; waits until there are `count`."""
        taken = self._messages[link]
        self.until(lambda: len(taken) >= count, f"{count} messages on {link.name}", seconds)
        return taken

    # --- raw frames

    def frames(self, code: int | None = None) -> list[Seen]:
        """All AMQP frames that came, or those of one performative."""
        if not self._read_up_to:
            header = self.received.find(AMQP_HEADER)
            self._read_up_to = 0 if header < 0 else header + len(AMQP_HEADER)
        while self._read_up_to and (raw := self._whole_frame()):
            self._read_up_to += len(raw)
            if len(raw) > 8:
                self._seen.append(_seen(raw))
        return [each for each in self._seen if code in (None, each.code)]

    def _whole_frame(self) -> bytes:
        """The frame behind those that were read, or nothing where it is not whole."""
        start = self._read_up_to
        end = start + int.from_bytes(self.received[start : start + 4], "big")
        return bytes(self.received[start:end]) if start < end <= len(self.received) else b""


def _seen(raw: bytes) -> Seen:
    value, payload = decode_value(raw, raw[4] * 4)
    channel = int.from_bytes(raw[6:8], "big")
    return Seen(channel, value.descriptor, value.value, raw[payload:], raw)
