"""The link that we send on.

Rules:
- Nothing is sent without credit from the peer and room in its window; what is more than the window
  takes waits in the session, and nothing overtakes it.
- Many events go out in one run: a slice that fits a frame costs no object of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .errors import MisuseError
from .frames import TransferRun, transfer_frames
from .link import Link, LinkState
from .performatives import ROLE_SENDER, Flow

if TYPE_CHECKING:
    from .session import Session

_MASK = 0xFFFFFFFF
_HALF = 0x7FFFFFFF


class SenderLink(Link):
    """A link that we send on, as far as the peer's credit and the session's window reach."""

    role = ROLE_SENDER

    def __init__(self, session: Session, name: str, handle: int) -> None:
        super().__init__(session, name, handle)
        self.drain = False
        self.initial_delivery_count = 0
        self._run = TransferRun(session.channel, handle)

    @property
    def sendable(self) -> int:
        """How many deliveries may be sent now."""
        return min(self.credit, self.session.sendable) if self.is_attached else 0

    def on_flow(self, flow: Flow) -> None:
        count = flow.delivery_count
        seen = self.initial_delivery_count if count is None else count
        under_way = (self.delivery_count - seen) & _MASK
        if under_way > _HALF:
            under_way = 0
        self.credit = max(0, (flow.link_credit or 0) - under_way)
        self.drain = flow.drain

    def finish_drain(self) -> None:
        """There is nothing more to send: uses up the credit that the peer wants back."""
        if not self.drain or self.is_gone or self.session.is_holding(self):
            return
        self.delivery_count = (self.delivery_count + self.credit) & _MASK
        self.credit = 0
        self.drain = False
        self.session.send_flow(**self.flow_fields(), available=0, drain=True)

    def send(
        self, payload: bytes, *, tag: bytes, settled: bool = False, message_format: int = 0
    ) -> int:
        """Sends one message of any size; gives its delivery id."""
        self.expect(LinkState.ATTACHED)
        session = self.session
        if self.credit < 1 or not session.is_live:
            raise MisuseError(f"link {self.name!r} has no credit, or its session has ended")
        delivery_id = session.take_delivery_id()
        session.send_transfers(
            self.handle,
            transfer_frames(
                session.channel,
                self.handle,
                delivery_id,
                tag,
                payload,
                settled=settled,
                max_frame_size=session.max_frame_size,
                message_format=message_format,
            ),
        )
        self._use_credit(1)
        return delivery_id

    def send_run(
        self, payload: bytes, ends: Sequence[int], start: int = 0, prefix: bytes = b""
    ) -> None:
        """Sends each slice of payload, the first from `start`, settled, with `prefix` before it.

        The caller has checked `sendable`. This is the path that every event takes, so slices that
        fit a frame are written without any object of their own.
        """
        session = self.session
        limit = session.max_frame_size - self._run.overhead - len(prefix)
        position, total = 0, len(ends)
        while position < total:
            if ends[total - 1] - start <= limit:
                stop = total
            else:
                stop = _first_larger(ends, position, start, limit)
            if stop > position:
                run = ends[position:stop] if position or stop < total else ends
                self._send_small(payload, run, start, prefix)
                start, position = ends[stop - 1], stop
            if position < total:
                self._send_large(prefix + payload[start : ends[position]])
                start, position = ends[position], position + 1

    def _send_small(self, payload: bytes, ends: Sequence[int], start: int, prefix: bytes) -> None:
        session = self.session
        count = len(ends)
        has_room = count <= session.sendable
        first = session.take_delivery_id(count)
        if has_room:
            self._run.write(session.output, payload, ends, start, first, prefix)
            session.count_transfers(count)
        else:
            parts: list[bytes] = []
            self._run.write(parts, payload, ends, start, first, prefix)
            frames = [b"".join(parts[at : at + 3]) for at in range(0, len(parts), 3)]
            session.send_transfers(self.handle, frames)
        self._use_credit(count)

    def _send_large(self, message: bytes) -> None:
        session = self.session
        frames = transfer_frames(
            session.channel,
            self.handle,
            session.take_delivery_id(),
            b"",
            message,
            settled=True,
            max_frame_size=session.max_frame_size,
            batchable=True,
        )
        session.send_transfers(self.handle, frames)
        self._use_credit(1)

    def _use_credit(self, count: int) -> None:
        self.credit -= count
        self.delivery_count = (self.delivery_count + count) & _MASK


def _first_larger(ends: Sequence[int], position: int, start: int, limit: int) -> int:
    """The index of the first slice from `position` that is larger than `limit`."""
    for index in range(position, len(ends)):
        if ends[index] - start > limit:
            return index
        start = ends[index]
    return len(ends)
