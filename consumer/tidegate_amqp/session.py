"""One session: its windows, its links by handle, and the transfers that wait for a window.

Rules:
- Transfer frames are counted by window, deliveries by id; the two are never mixed.
- While frames of a large message wait for the peer's window, nothing overtakes them.
- Our own window is opened again when half of it is used; what arrives is bounded by credit.
- After our end, nothing is sent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .composites import Error
from .errors import MisuseError
from .link import Link, LinkState
from .performatives import (
    MAX_UINT,
    ROLE_RECEIVER,
    Attach,
    Disposition,
    End,
    Flow,
)
from .receiver import ReceiverLink
from .sender import SenderLink

if TYPE_CHECKING:
    from .connection import Connection

_MASK = 0xFFFFFFFF
_HALF = 0x7FFFFFFF
INITIAL_OUTGOING_ID = 1


class Session:
    """A channel of a connection in both directions. Made by Connection, never directly."""

    def __init__(self, connection: Connection, channel: int) -> None:
        settings = connection.settings
        self.connection = connection
        self.channel = channel
        self.output = connection.output
        self.max_frame_size = connection.peer_max_frame_size
        self.remote_channel: int | None = None
        self.is_begun = False
        self.end_sent = False
        self.next_outgoing_id = INITIAL_OUTGOING_ID
        self.remote_handle_max = MAX_UINT
        self.remote_incoming_window = 0
        self.next_incoming_id = 0
        self.incoming_window = settings.incoming_window
        self._window_left = settings.incoming_window
        self._next_delivery_id = 0
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._draining: list[SenderLink] = []
        self._settled: tuple[int, int, Any] | None = None
        self.links: dict[int, Link] = {}
        self.links_by_remote_handle: dict[int, Link] = {}

    # --- what the owner calls

    def attach_receiver(self, name: str, source: Any, target: Any, **fields: Any) -> ReceiverLink:
        """Asks the peer for a link that we receive on."""
        link = ReceiverLink(self, name, self._handle_to_ask_for())
        self._attach(link, source, target, fields)
        return link

    def attach_sender(self, name: str, source: Any, target: Any, **fields: Any) -> SenderLink:
        """Asks the peer for a link that we send on."""
        link = SenderLink(self, name, self._handle_to_ask_for())
        count = fields.setdefault("initial_delivery_count", 0)
        link.initial_delivery_count = link.delivery_count = count
        self._attach(link, source, target, fields)
        return link

    def _attach(self, link: Link, source: Any, target: Any, fields: dict[str, Any]) -> None:
        attach = Attach(link.name, link.handle, link.role, source=source, target=target, **fields)
        link.send_attach(attach)
        self.add(link)

    def _handle_to_ask_for(self) -> int:
        handle = self.free_handle(0)
        if handle > self.remote_handle_max:
            raise MisuseError(
                f"the peer takes {self.remote_handle_max + 1} links a session: begin another"
            )
        return handle

    def end(self, error: Error | None = None) -> None:
        if self.is_live:
            self.release()
            self.flush_settled()
            self.send(End(error))
            self.end_sent = True
            self.connection.runs.forget()

    # --- what links call

    @property
    def is_live(self) -> bool:
        connection = self.connection
        return not (self.end_sent or connection.close_sent or connection.is_closed)

    def send(self, performative: Any) -> None:
        if self.end_sent:
            raise MisuseError("the session has ended")
        self.connection.send(self.channel, performative)

    @property
    def sendable(self) -> int:
        """How many transfer frames the peer takes now."""
        return self.remote_incoming_window if self.is_live and not self._waiting else 0

    def take_delivery_id(self, count: int = 1) -> int:
        first = self._next_delivery_id
        self._next_delivery_id = (first + count) & _MASK
        return first

    def count_transfers(self, count: int) -> None:
        self.next_outgoing_id = (self.next_outgoing_id + count) & _MASK
        self.remote_incoming_window -= count

    def send_transfers(self, handle: int, frames: list[bytes]) -> None:
        """Sends transfer frames of one link, keeping back what the window does not take."""
        if not self._waiting and len(frames) <= self.remote_incoming_window:
            self.output.extend(frames)
            self.count_transfers(len(frames))
            return
        self._waiting.extend((handle, each) for each in frames)
        self.connection.waiting_bytes += sum(map(len, frames))
        self.send_waiting()

    def send_waiting(self) -> None:
        count = min(len(self._waiting), self.remote_incoming_window)
        for _ in range(count):
            each = self._waiting.popleft()[1]
            self.connection.waiting_bytes -= len(each)
            self.output.append(each)
        self.count_transfers(count)
        if not self._waiting:
            draining, self._draining = self._draining, []
            for link in draining:
                link.finish_drain()

    def is_holding(self, link: SenderLink) -> bool:
        """Whether transfers wait for the window; if so, the link's drain is finished after them."""
        if self._waiting and link not in self._draining:
            self._draining.append(link)
        return bool(self._waiting)

    def drop_waiting(self, handle: int) -> None:
        """Forgets the frames of a link that is detached: nobody is there to take them."""
        if self._waiting:
            kept = deque(each for each in self._waiting if each[0] != handle)
            self._forget_waiting()
            self.connection.waiting_bytes += sum(len(each) for _, each in kept)
            self._waiting = kept

    def _forget_waiting(self) -> None:
        self.connection.waiting_bytes -= sum(len(each) for _, each in self._waiting)
        self._waiting.clear()

    def release(self) -> None:
        """Release unfinished deliveries in both directions."""
        self._forget_waiting()
        for link in self.links.values():
            link.release()

    def send_flow(self, **link_fields: Any) -> None:
        """A flow of the session, and of one link where its fields are given."""
        self._window_left = self.incoming_window
        flow = Flow(
            next_incoming_id=self.next_incoming_id,
            incoming_window=self.incoming_window,
            next_outgoing_id=self.next_outgoing_id,
            outgoing_window=self.connection.settings.outgoing_window,
            **link_fields,
        )
        self.send(flow)

    def settle(self, first: int, last: int, state: Any) -> None:
        """Notes an outcome; a run of neighbours with one outcome becomes one disposition."""
        run = self._settled
        if run is not None and run[1] + 1 == first and _same_state(run[2], state):
            self._settled = (run[0], last, state)
            return
        self.flush_settled()
        self._settled = (first, last, state)
        self.connection.note_unsettled(self)

    def flush_settled(self) -> None:
        if self._settled is None:
            return
        first, last, state = self._settled
        self._settled = None
        if self.is_live:
            # As the service does it: `last` is null if there is one delivery.
            upto = None if last == first else last
            self.send(Disposition(ROLE_RECEIVER, first, upto, settled=True, state=state))

    # --- what the connection calls

    def on_flow(self, flow: Flow) -> bool:
        """Takes over the peer's window; True when a window that was shut is open."""
        was_shut = self.sendable <= 0
        base = INITIAL_OUTGOING_ID if flow.next_incoming_id is None else flow.next_incoming_id
        under_way = (self.next_outgoing_id - base) & _MASK
        if under_way > _HALF:
            under_way = 0
        self.remote_incoming_window = max(0, flow.incoming_window - under_way)
        if self._waiting:
            self.send_waiting()
        return was_shut and self.sendable > 0

    def count_incoming(self, count: int = 1) -> bool:
        """Counts transfer frames that arrived; False when the peer overran our window."""
        self.next_incoming_id = (self.next_incoming_id + count) & _MASK
        self._window_left -= count
        if self._window_left < 0:
            return False
        if self._window_left * 2 < self.incoming_window:
            self.send_flow()
        return True

    def free_handle(self, wanted: int) -> int:
        """The handle that is wanted, or the first one that no link of ours has."""
        if wanted not in self.links:
            return wanted
        return next(handle for handle in range(MAX_UINT) if handle not in self.links)

    def add(self, link: Link) -> None:
        self.links[link.handle] = link
        self.connection.link_count += 1

    def forget(self, link: Link) -> None:
        self.drop_waiting(link.handle)
        link.release()
        link.state = LinkState.DETACHED
        link.credit = 0
        self.connection.runs.forget()
        if self.links.pop(link.handle, None) is not None:
            self.connection.link_count -= 1
        if link.remote_handle is not None:
            self.links_by_remote_handle.pop(link.remote_handle, None)


def _same_state(one: Any, other: Any) -> bool:
    """Outcomes are tuples, and the empty ones of all kinds are equal: the type decides first."""
    return type(one) is type(other) and bool(one == other)
