"""Takes settled deliveries of one frame out of the stream with few operations for each.

A reader of a backlog gets nothing else, so this path is made for it: the bytes before and after
the delivery id are the same in every such transfer of a link, and are compared as they are.

Rules:
- Only links that asked for runs (`ReceiverLink.take_runs`) get any; all else takes the usual path.
- What a shape means is learnt from a transfer that `read_transfer` has read, and is forgotten when
  any link or session of the connection changes, so that a handle never means an earlier link.
- Windows, credit and order are kept exactly as on the usual path.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from .composites import Error
from .errors import ProtocolError, WindowViolationError
from .events import LinkDetached, Run
from .performatives import TRANSFER_CODE
from .receiver import ReceiverLink
from .transfer import read_transfer

if TYPE_CHECKING:
    from .connection import Connection

_U32 = struct.Struct(">I").unpack_from
_U16 = struct.Struct(">H").unpack_from

# From the data offset of a frame to the list that a transfer is: what an ordinary one begins with.
_OFFSET_AND_KIND = b"\x02\x00"
_TRANSFER_LIST8 = bytes((0x00, 0x53, TRANSFER_CODE, 0xC0))
# A key: all bytes of a frame from its data offset to the first ones of the delivery id.
_KEY_START, _KEY_END = 4, 17
_HANDLE_AT = 14
_HANDLE_WIDTHS = {0x43: 1, 0x52: 2}
_WIDE_UINT = 0x70
_WIDE_UINT_SIZE = 5


class _Shape(NamedTuple):
    """Where things stand in the transfers of one link."""

    payloads: list[bytes]  # taken and not told yet
    tail_at: int
    tail: bytes
    payload_at: int
    link: ReceiverLink


class Runs:
    """The fast path of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._shapes: dict[bytes, _Shape] = {}
        self.is_wanted = False

    def forget(self) -> None:
        self._shapes.clear()

    def skip(self, buffer: bytes, index: int, size: int) -> int:
        """Takes what it can from `index` on; gives where it stopped."""
        begun = index
        shapes = self._shapes
        most = self._connection.settings.max_frame_size
        touched: list[_Shape] = []
        while True:
            shape = shapes.get(buffer[index + _KEY_START : index + _KEY_END])
            if shape is None:
                shape = self._learn(buffer, index, size)
                if shape is None:
                    break
            payloads, tail_at, tail, payload_at, _ = shape
            length = _U32(buffer, index)[0]
            end = index + length
            if end > size or not payload_at <= length <= most:
                break
            if not buffer.startswith(tail, index + tail_at):
                break
            if not payloads:
                touched.append(shape)
            payloads.append(buffer[index + payload_at : end])
            index = end
        if index > begun:
            for shape in touched:
                self._tell(shape)
        return index

    def _tell(self, shape: _Shape) -> None:
        """Counts what was taken of one link, and tells the owner."""
        link, payloads = shape.link, shape.payloads[:]
        shape.payloads.clear()
        count = len(payloads)
        if link.in_delivery:
            raise ProtocolError(
                f"a delivery began on link {link.name[:100]!r} before the last one was whole"
            )
        if not link.session.count_incoming(count):
            raise WindowViolationError("more transfers than the incoming window of the session")
        allowed = link.expected
        if allowed:
            link.use_credit(count)
            self._connection.emit(Run(link, payloads[:allowed]))
        if count > allowed:
            link.detach(
                Error("amqp:link:transfer-limit-exceeded", "more deliveries than credit was given")
            )
            self._connection.emit(LinkDetached(link, None))

    def _learn(self, buffer: bytes, index: int, size: int) -> _Shape | None:
        """The shape of the whole frame at `index`, if it is a settled delivery of one frame."""
        connection = self._connection
        if size - index < _KEY_END or connection.close_sent:
            return None
        end = index + int(_U32(buffer, index)[0])
        is_transfer = (
            buffer[index + 4 : index + 6] == _OFFSET_AND_KIND
            and buffer[index + 8 : index + 12] == _TRANSFER_LIST8
        )
        width = _HANDLE_WIDTHS.get(buffer[index + _HANDLE_AT])
        if end > size or not is_transfer or width is None:
            return None
        if buffer[index + _HANDLE_AT + width] != _WIDE_UINT:
            return None
        head = read_transfer(buffer, index + 8, end)
        handle, delivery_id, message_format, settled, more, aborted, payload = head
        session = connection.by_remote_channel.get(_U16(buffer, index + 6)[0])
        if delivery_id is None or message_format or not settled or more or aborted:
            return None
        link = None if session is None else session.links_by_remote_handle.get(handle)
        if not isinstance(link, ReceiverLink) or not link.takes_runs or not link.is_attached:
            return None
        tail_at = _HANDLE_AT + width + _WIDE_UINT_SIZE
        shape = _Shape([], tail_at, buffer[index + tail_at : payload], payload - index, link)
        self._shapes[buffer[index + _KEY_START : index + _KEY_END]] = shape
        return shape
