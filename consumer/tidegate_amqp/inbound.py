"""What each frame of a peer does to a connection: one function a performative, one table.

Rules:
- A frame that is not allowed now is an AmqpError; everything else changes the state and tells the
  owner by an event.
- After our end or close, what the peer had sent before it knew is ignored.
- Transfers take a path of their own, because one comes for every event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .composites import Error, error_of
from .errors import (
    DecodeError,
    HandleInUseError,
    LimitError,
    ProtocolError,
    UnattachedHandleError,
    WindowViolationError,
)
from .events import (
    ConnectionClosed,
    ConnectionOpened,
    CreditChanged,
    Delivery,
    LinkAttached,
    LinkDetached,
    Outcome,
    SessionBegun,
    SessionEnded,
    WindowOpened,
)
from .frames import Frame
from .link import Link, LinkState
from .performatives import (
    ROLE_RECEIVER,
    TRANSFER_CODE,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Transfer,
    decode_performative,
)
from .receiver import ReceiverLink
from .sender import SenderLink
from .session import Session
from .transfer import read_transfer, transfer_head

if TYPE_CHECKING:
    from .connection import Connection

_TRANSFER_START = bytes((0x00, 0x53, TRANSFER_CODE))
_SMALLEST_MAX_FRAME = 512


def take_frame(connection: Connection, each: Frame) -> None:
    if each.kind != 0:
        raise ProtocolError(f"a frame of kind {each.kind} is not allowed here")
    buffer, start, end = each.buffer, each.start, each.end
    if buffer[start : start + 3] == _TRANSFER_START:
        _on_transfer(connection, each.channel, read_transfer(buffer, start, end), buffer, end)
        return
    performative, payload = decode_performative(buffer[start:end], 0, end - start)
    if isinstance(performative, Transfer):
        head = transfer_head(performative, start + payload)
        _on_transfer(connection, each.channel, head, buffer, end)
        return
    most = connection.settings.max_attach_size
    if most is not None and end - start > most and isinstance(performative, Attach):
        raise LimitError(f"an attach of {end - start} bytes exceeds the maximum of {most}")
    handler = _HANDLERS.get(type(performative))
    if handler is None:
        raise DecodeError(f"a frame holds no performative but {performative!r:.100}")
    if connection.peer is None and not isinstance(performative, Open | Close):
        raise ProtocolError(f"{type(performative).__name__} came before Open")
    if not _comes_too_late(connection, each.channel, performative):
        handler(connection, each.channel, performative)


def _comes_too_late(connection: Connection, channel: int, performative: Any) -> bool:
    if connection.close_sent:
        return not isinstance(performative, Close)
    if isinstance(performative, Open | Begin | Close):
        return False
    if channel in connection.ended_channels:
        return True
    session = connection.by_remote_channel.get(channel)
    return session is not None and session.end_sent and not isinstance(performative, End)


def _session(connection: Connection, channel: int) -> Session:
    session = connection.by_remote_channel.get(channel)
    if session is None:
        raise ProtocolError(f"channel {channel} has no session")
    return session


def _on_open(connection: Connection, _channel: int, performative: Open) -> None:
    if connection.peer is not None:
        raise ProtocolError("Open came twice")
    connection.peer = performative
    largest = max(performative.max_frame_size, _SMALLEST_MAX_FRAME)
    connection.peer_max_frame_size = min(largest, connection.settings.max_frame_size)
    connection.handshake.send_open()
    connection.emit(ConnectionOpened(performative))


def _on_begin(connection: Connection, channel: int, performative: Begin) -> None:
    if channel in connection.by_remote_channel:
        raise ProtocolError(f"channel {channel} was begun twice")
    if performative.remote_channel is not None:
        session = connection.sessions.get(performative.remote_channel)
        if session is None or session.is_begun:
            raise ProtocolError(f"a begin answers none of ours: channel {channel}")
    else:
        free = connection.free_channel(channel)
        if free is None or channel > connection.settings.channel_max:
            most = connection.settings.channel_max
            raise LimitError(f"channel {channel} exceeds {most}, or none is free to answer it on")
        session = connection.sessions[free] = Session(connection, free)
    connection.ended_channels.discard(channel)
    session.is_begun = True
    session.remote_channel = channel
    session.next_incoming_id = performative.next_outgoing_id
    session.remote_incoming_window = performative.incoming_window
    session.remote_handle_max = performative.handle_max
    connection.by_remote_channel[channel] = session
    if performative.remote_channel is None:
        connection.send_begin(session)
    if not session.end_sent:
        connection.emit(SessionBegun(session))


def _on_attach(connection: Connection, channel: int, performative: Attach) -> None:
    session = _session(connection, channel)
    if performative.handle in session.links_by_remote_handle:
        raise HandleInUseError(f"handle {performative.handle} is in use")
    link = _answered(session, performative)
    if link is None:
        if performative.handle > connection.settings.handle_max:
            raise LimitError(
                f"handle {performative.handle} exceeds the {connection.settings.handle_max} of a "
                "session: use more sessions"
            )
        most = connection.settings.max_links
        if most is not None and connection.link_count >= most:
            raise LimitError(f"more than {most} links on one connection: use more connections")
        kind = SenderLink if performative.role == ROLE_RECEIVER else ReceiverLink
        link = kind(session, performative.name, session.free_handle(performative.handle))
        session.add(link)
    elif link.state is LinkState.ATTACHING:
        link.state = LinkState.ATTACHED
    link.remote_handle = performative.handle
    session.links_by_remote_handle[performative.handle] = link
    if isinstance(link, ReceiverLink):
        link.delivery_count = performative.initial_delivery_count or 0
    if link.state is not LinkState.DETACHING:
        connection.emit(LinkAttached(link, performative))


def _on_flow(connection: Connection, channel: int, performative: Flow) -> None:
    session = _session(connection, channel)
    opened = session.on_flow(performative)
    link: Link | None = None
    if performative.handle is not None:
        link = session.links_by_remote_handle.get(performative.handle)
        if link is None:
            raise UnattachedHandleError(f"flow for handle {performative.handle}")
        # A receiver may give credit before its attach is answered.
        if isinstance(link, SenderLink) and not link.is_gone:
            link.on_flow(performative)
            connection.emit(CreditChanged(link))
        elif isinstance(link, ReceiverLink) and link.is_attached:
            link.on_flow(performative)
    if opened:
        connection.emit(WindowOpened(session))
    if performative.echo:
        session.send_flow(**(link.flow_fields() if link and link.is_attached else {}))


def _on_transfer(connection: Connection, channel: int, head: Any, buffer: bytes, end: int) -> None:
    handle, delivery_id, message_format, settled, more, aborted, payload = head
    if connection.peer is None:
        raise ProtocolError("Transfer came before Open")
    if connection.close_sent or channel in connection.ended_channels:
        return
    session = _session(connection, channel)
    if session.end_sent:
        return
    if not session.count_incoming():
        raise WindowViolationError("more transfers than the incoming window of the session")
    link = session.links_by_remote_handle.get(handle)
    if link is None:
        raise UnattachedHandleError(f"transfer for handle {handle}")
    if not isinstance(link, ReceiverLink):
        raise ProtocolError(f"transfer on handle {handle}, whose peer is the receiver")
    if not link.is_attached:
        return
    if delivery_id is None and not link.in_delivery:
        raise ProtocolError("the first transfer of a delivery has no delivery-id")
    if link.expected < 1 and not link.in_delivery:
        link.detach(
            Error("amqp:link:transfer-limit-exceeded", "more deliveries than credit was given")
        )
        connection.emit(LinkDetached(link, None))
        return
    if aborted:
        link.abort()
        return
    done = link.add(delivery_id, message_format, settled, more, buffer[payload:end])
    if done is not None:
        connection.emit(Delivery(link, *done))


def _on_disposition(connection: Connection, channel: int, performative: Disposition) -> None:
    session = _session(connection, channel)
    if performative.role == ROLE_RECEIVER:
        last = performative.first if performative.last is None else performative.last
        connection.emit(
            Outcome(session, performative.first, last, performative.settled, performative.state)
        )


def _on_detach(connection: Connection, channel: int, performative: Detach) -> None:
    session = _session(connection, channel)
    link = session.links_by_remote_handle.get(performative.handle)
    if link is None:
        raise UnattachedHandleError(f"detach for handle {performative.handle}")
    was_detaching = link.state is LinkState.DETACHING
    if not was_detaching:
        if not link.is_attach_sent:
            link.send_empty_attach()
        session.flush_settled()
        session.send(Detach(link.handle, closed=performative.closed))
    session.forget(link)
    if not was_detaching:
        connection.emit(LinkDetached(link, error_of(performative.error)))


def _on_end(connection: Connection, channel: int, performative: End) -> None:
    session = _session(connection, channel)
    _drop(connection, session, error_of(performative.error))


def _drop(connection: Connection, session: Session, error: Error | None) -> None:
    for link in list(session.links.values()):
        was_detaching = link.state is LinkState.DETACHING
        session.forget(link)
        if not was_detaching:
            connection.emit(LinkDetached(link, error))
    session.end()
    connection.sessions.pop(session.channel, None)
    if session.remote_channel is not None:
        connection.by_remote_channel.pop(session.remote_channel, None)
        connection.ended_channels.add(session.remote_channel)
    connection.emit(SessionEnded(session, error))


def _on_close(connection: Connection, _channel: int, performative: Close) -> None:
    error = error_of(performative.error)
    if not connection.close_sent:
        connection.handshake.send_open()
        connection.send(0, Close())
        connection.close_sent = True
    for session in list(connection.sessions.values()):
        _drop(connection, session, error)
    connection.is_closed = True
    connection.emit(ConnectionClosed(error))


def _answered(session: Session, attach: Attach) -> Link | None:
    """The link of ours that this attach answers, if it does."""
    for link in session.links.values():
        # One that we gave up before it was answered still waits for its answer.
        waiting = link.is_attach_sent and link.remote_handle is None
        if waiting and link.name == attach.name and link.role != attach.role:
            return link
    return None


_HANDLERS: dict[type, Callable[[Connection, int, Any], None]] = {
    Open: _on_open,
    Begin: _on_begin,
    Attach: _on_attach,
    Flow: _on_flow,
    Disposition: _on_disposition,
    Detach: _on_detach,
    End: _on_end,
    Close: _on_close,
}
