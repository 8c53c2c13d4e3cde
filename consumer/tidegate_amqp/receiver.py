"""The link that we receive on: it grants credit and puts messages together from frames.

Rules:
- A delivery larger than the limit is counted and dropped as it arrives, never stored.
- The connection counts the bytes of its unfinished deliveries and bounds them. They are kept in
  one buffer, because an object for each part can cost many times the bytes of the part.
- A delivery uses credit when it is whole or when the peer gives it up.
- Credit that was taken back may have been used by then: what is under way is still received.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import ProtocolError
from .link import Link, LinkState
from .performatives import ROLE_RECEIVER, Flow

if TYPE_CHECKING:
    from .session import Session

_MASK = 0xFFFFFFFF
_HALF = 0x7FFFFFFF


class ReceiverLink(Link):
    """A link that we receive on; it grants credit and puts messages together from frames."""

    role = ROLE_RECEIVER

    def __init__(self, session: Session, name: str, handle: int, max_message_size: int = 0) -> None:
        super().__init__(session, name, handle)
        self.max_message_size = max_message_size
        # How many deliveries may still come, by the most that was ever granted.
        self.expected = 0
        self.takes_runs = False
        self._parts = bytearray()
        self._size = 0
        self._head: tuple[int, int, bool] | None = None

    def grant(self, credit: int, *, drain: bool = False, available: int | None = None) -> None:
        """Lets the peer send `credit` deliveries from now on. `available` is only passed on.

        Right behind an attach of ours it saves a round trip: the peer's count is not known yet,
        and is not named.
        """
        if self.is_gone:
            return
        is_asking = self.is_attach_sent and self.state is LinkState.ATTACHING
        if not is_asking:
            self.expect(LinkState.ATTACHED)
        self.credit = credit
        self.expected = max(self.expected, credit)
        fields: dict[str, int | None] = {**self.flow_fields()}
        if is_asking:
            fields["delivery_count"] = None
        self.session.send_flow(**fields, drain=drain, available=available)

    def take_runs(self) -> None:
        """Asks for settled deliveries of one frame as Run events, many at a time."""
        self.takes_runs = True
        self.session.connection.runs.is_wanted = True

    def on_flow(self, flow: Flow) -> None:
        """A sender that drained has moved its count on by the credit it did not use."""
        if flow.delivery_count is not None and flow.drain:
            unused = (flow.delivery_count - self.delivery_count) & _MASK
            if unused <= _HALF:
                self.use_credit(unused)

    def use_credit(self, count: int) -> None:
        """Counts deliveries that have come, or will not."""
        self.delivery_count = (self.delivery_count + count) & _MASK
        self.credit = max(0, self.credit - count)
        self.expected = max(0, self.expected - count)

    def settle(self, first: int, state: Any, last: int | None = None) -> None:
        """Tells the sender what became of its deliveries; neighbours are told together."""
        self.session.settle(first, first if last is None else last, state)

    def add(
        self,
        delivery_id: int | None,
        message_format: int | None,
        settled: bool | None,
        more: bool,
        part: bytes,
    ) -> tuple[int, int, bool, bytes, int] | None:
        """Adds a transfer; gives (id, format, settled, payload, size) once it is the last one."""
        if self._head is None:
            if delivery_id is None:
                return None
            self._head = (delivery_id, message_format or 0, bool(settled))
            if not more:
                return self._finish(part, len(part))
        elif delivery_id is not None and delivery_id != self._head[0]:
            raise ProtocolError(
                f"delivery {delivery_id} began on link {self.name[:100]!r} before delivery "
                f"{self._head[0]} was whole"
            )
        elif settled:
            self._head = (*self._head[:2], True)
        self._size += len(part)
        if self.max_message_size and self._size > self.max_message_size:
            self._drop_parts()
        elif part:
            self._parts += part
            self.session.connection.count_unfinished(len(part))
        if more:
            return None
        return self._finish(bytes(self._parts), self._size)

    def _finish(self, payload: bytes, size: int) -> tuple[int, int, bool, bytes, int]:
        assert self._head is not None
        delivery_id, message_format, settled = self._head
        self.abort()
        if self.max_message_size and size > self.max_message_size:
            payload = b""
        return delivery_id, message_format, settled, payload, size

    def abort(self) -> None:
        """Forgets the parts of the delivery under way, which has used its credit all the same."""
        self.release()
        self.use_credit(1)

    def release(self) -> None:
        self._drop_parts()
        self._size, self._head = 0, None

    def _drop_parts(self) -> None:
        if self._parts:
            self.session.connection.count_unfinished(-len(self._parts))
            self._parts = bytearray()

    @property
    def in_delivery(self) -> bool:
        return self._head is not None
