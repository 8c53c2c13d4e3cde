"""One end of an AMQP connection, with no I/O: bytes in, events out, bytes to send collected.

Rules:
- `receive` never raises for what a peer sent: a broken peer is told with a close, and the last
  event is ConnectionFailed. MisuseError means that this side did what the state does not allow.
- What needs no decision is answered here: SASL, open, begin, end, detach, close, windows.
  Whether a link may exist is the owner's decision: it calls `accept` or `refuse`.
- `receive` handles at most `frames_a_turn` frames, so that the owner can serve other connections
  before it handles the rest.
- Unfinished deliveries are counted, bounded, and released with the connection.
- Time is a parameter. `tick` sends the empty frame that keeps a quiet connection alive and closes
  one whose peer has been silent for too long.
"""

from __future__ import annotations

from typing import Any

from .composites import Error
from .errors import AmqpError, LimitError, MisuseError
from .events import ConnectionClosed, ConnectionFailed, Event
from .frames import EMPTY_FRAME, Frame, FrameReader, frame
from .handshake import Handshake
from .inbound import take_frame
from .performatives import Begin, Close, Open, encode_performative
from .runs import Runs
from .session import INITIAL_OUTGOING_ID, Session
from .settings import ConnectionSettings


class Connection:
    """See the module. `initiator` is the end that connects; the other end accepts."""

    def __init__(self, settings: ConnectionSettings, *, initiator: bool, now: float = 0.0) -> None:
        self.settings = settings
        self.initiator = initiator
        self.output: list[bytes] = []
        self.peer: Open | None = None
        self.peer_max_frame_size = settings.max_frame_size
        self.sessions: dict[int, Session] = {}
        self.by_remote_channel: dict[int, Session] = {}
        # Official clients detach links of a session that they have ended: that is passed over.
        self.ended_channels: set[int] = set()
        self.handshake = Handshake(self)
        self.runs = Runs(self)
        self._reader = FrameReader(settings.max_frame_size)
        # Data that arrived and was not handled yet: the buffer, and the index of the next frame.
        self._rest: tuple[bytes, int] | None = None
        # Links of all sessions, bytes of unfinished deliveries, and bytes of transfers that wait
        # until the peer opens the window of their session.
        self.link_count = 0
        self.unfinished_bytes = 0
        self.waiting_bytes = 0
        self._events: list[Event] = []
        self._unsettled: list[Session] = []
        self.close_sent = False
        self.is_closed = False
        self._last_received = now
        self._last_sent = now
        if initiator:
            self.handshake.start()

    # --- what the owner calls

    @property
    def has_more(self) -> bool:
        """Whether frames that arrived wait to be handled: call `receive` again, with no bytes."""
        return self._rest is not None

    def receive(self, data: bytes, now: float = 0.0) -> list[Event]:
        """Takes bytes from the peer and gives what happened. The list belongs to the caller."""
        events: list[Event] = []
        self._events = events
        self._last_received = now
        if not self.is_closed:
            try:
                self._handle(*self._arrived(data))
            except AmqpError as error:
                self.fail(error)
            self._flush_settled()
        # A connection that is quiet must not hold the payloads that came last.
        self._events = []
        return events

    def _handle(self, buffer: bytes, index: int, size: int) -> None:
        while not self.handshake.is_done:
            used = self.handshake.take(buffer, index, size)
            if used == 0:
                if index < size:
                    self._reader.keep(buffer, index)
                return
            index += used
        skip = self.runs.skip if self.runs.is_wanted else None
        left = self.settings.frames_a_turn
        for each in self._reader.frames(buffer, index, size, skip):
            if not self._take(each):
                break
            if left is not None:
                left -= 1
                if not left:
                    self._rest = (buffer, each.end) if each.end < size else None
                    break

    def _arrived(self, data: bytes) -> tuple[bytes, int, int]:
        """The data to handle now: a buffer, the index of the next frame, and the size."""
        if self._rest is None:
            buffer, size = self._reader.feed(data)
            return buffer, 0, size
        buffer, index = self._rest
        self._rest = None
        if data:
            buffer, index = buffer[index:] + data, 0
        return buffer, index, len(buffer)

    def _take(self, each: Frame) -> bool:
        """Handles a frame (an empty one only shows that the peer lives); False when it is over."""
        if each.end > each.start:
            take_frame(self, each)
        return not self.is_closed

    def take_output(self, now: float = 0.0) -> list[bytes]:
        """The bytes to write now. The list belongs to the caller."""
        if self._unsettled:
            self._flush_settled()
        taken = self.output[:]
        self.output.clear()
        if taken:
            self._last_sent = now
        return taken

    def tick(self, now: float) -> list[Event]:
        """Keeps the connection alive, or gives up a peer that fell silent. Call every second."""
        self._events = []
        if self.is_closed or self.peer is None:
            return []
        silent_s = now - self._last_received
        if silent_s * 1000 >= self.settings.inactivity_limit_ms:
            self.close(self.settings.inactivity_error())
            self.is_closed = True
            return [ConnectionClosed(None)]
        patience_ms = self.peer.idle_time_out
        is_quiet = not self.output and not self.close_sent
        if patience_ms and is_quiet and (now - self._last_sent) * 2000 >= patience_ms:
            self.output.append(EMPTY_FRAME)
        return []

    def begin(self) -> Session:
        """Begins a session from this end; usable after SessionBegun."""
        self._check_open()
        channel = self.free_channel(0)
        if channel is None:
            raise MisuseError("all channels of the connection are in use")
        session = Session(self, channel)
        self.send_begin(session)
        self.sessions[session.channel] = session
        return session

    def close(self, error: Error | None = None) -> None:
        """Closes from this end. An error is also given to every session and link, as Event Hubs
        does, because clients look for the reason where they are."""
        if self.close_sent:
            return
        if not self.handshake.is_open_sent:
            self.close_sent = self.is_closed = True
            return
        if error is not None:
            for session in list(self.sessions.values()):
                for link in list(session.links.values()):
                    link.detach(error)
                session.end(error)
        self._flush_settled()
        self.send(0, Close(error))
        self.close_sent = True
        self.runs.forget()

    def fail(self, error: AmqpError) -> None:
        """Gives the peer up for what it did: a close with the error, and nothing more is read."""
        if not self.is_closed:
            if self.handshake.is_open_sent and not self.close_sent:
                self.send(0, Close(Error(error.condition, error.description)))
                self.close_sent = True
            self.is_closed = True
            self._events.append(ConnectionFailed(error))

    def release(self) -> None:
        """Release everything that the connection holds, because the transport is gone."""
        self.is_closed = True
        for session in self.sessions.values():
            session.release()
        self.sessions.clear()
        self.by_remote_channel.clear()
        self._unsettled.clear()
        self.output.clear()
        self.runs.forget()
        self._reader = FrameReader(self.settings.max_frame_size)
        self._rest = None

    # --- what sessions, the handshake and inbound.py call

    def emit(self, event: Event) -> None:
        self._events.append(event)

    def send(self, channel: int, performative: Any) -> None:
        if self.close_sent or self.is_closed:
            raise MisuseError("the connection is closed")
        self.output.append(frame(channel, encode_performative(performative)))

    def free_channel(self, wanted: int) -> int | None:
        """The channel that is wanted, or the first one that no session of ours has."""
        most = min(self.settings.channel_max, self.peer.channel_max if self.peer else 0)
        if wanted <= most and wanted not in self.sessions:
            return wanted
        return next((number for number in range(most + 1) if number not in self.sessions), None)

    def count_unfinished(self, size: int) -> None:
        """Count bytes of unfinished deliveries, negative if released. Raises LimitError."""
        self.unfinished_bytes += size
        most = self.settings.max_unfinished_bytes
        if most is not None and self.unfinished_bytes > most:
            raise LimitError(
                f"{self.unfinished_bytes} bytes of unfinished deliveries exceed the maximum of "
                f"{most} for one connection"
            )

    def note_unsettled(self, session: Session) -> None:
        self._unsettled.append(session)

    def _flush_settled(self) -> None:
        waiting, self._unsettled = self._unsettled, []
        if not self.close_sent:
            for session in waiting:
                session.flush_settled()

    def _check_open(self) -> None:
        if self.peer is None or self.close_sent or self.is_closed:
            raise MisuseError("the connection is not open")

    def send_begin(self, session: Session) -> None:
        settings = self.settings
        begin = Begin(
            remote_channel=session.remote_channel,
            next_outgoing_id=INITIAL_OUTGOING_ID,
            incoming_window=settings.incoming_window,
            outgoing_window=settings.outgoing_window,
            handle_max=settings.handle_max,
        )
        self.send(session.channel, begin)
