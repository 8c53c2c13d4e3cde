"""AMQP frames: where one ends and the next begins, and how they are written.

Rules:
- FrameReader never copies a frame that arrived whole: it gives the buffer and the place in it.
- What it keeps between calls is bounded by the largest frame that was agreed.
- A frame is given to the caller before the bytes behind it are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .encode import FALSE, NULL, TRUE, encode_binary, encode_list, encode_uint
from .errors import FramingError

AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
SASL_HEADER = b"AMQP\x03\x01\x00\x00"
HEADER_SIZE = 8

AMQP_FRAME = 0
SASL_FRAME = 1

EMPTY_FRAME = b"\x00\x00\x00\x08\x02\x00\x00\x00"

# Frame header, descriptor, list header and fields of a transfer that continues another.
CONTINUATION_OVERHEAD = 31

_U32 = struct.Struct(">I")
_HEAD = struct.Struct(">IBBH")


class Frame(NamedTuple):
    """A frame in place: its body is buffer[start:end]."""

    kind: int
    channel: int
    buffer: bytes
    start: int
    end: int


class FrameReader:
    """Cuts a stream of bytes into protocol headers and frames."""

    def __init__(self, max_frame_size: int) -> None:
        self.max_frame_size = max_frame_size
        self._buffer = bytearray()
        self._wanted = HEADER_SIZE

    def feed(self, data: bytes) -> tuple[bytes, int]:
        """Takes what arrived; gives the buffer to parse and how many bytes of it there are."""
        if not self._buffer:
            return data, len(data)
        self._buffer += data
        if len(self._buffer) < self._wanted:
            return b"", 0
        whole = bytes(self._buffer)
        self._buffer.clear()
        return whole, len(whole)

    def keep(self, buffer: bytes, index: int) -> None:
        """Keeps what is left of a buffer from `index` for the next call of feed."""
        self._buffer += buffer[index:] if index else buffer
        left = len(self._buffer)
        self._wanted = _U32.unpack_from(self._buffer)[0] if left >= 4 else HEADER_SIZE
        if self._wanted > self.max_frame_size or self._buffer[:4] == b"AMQP":
            self._wanted = HEADER_SIZE

    def frames(
        self,
        buffer: bytes,
        index: int,
        size: int,
        skip: Callable[[bytes, int, int], int] | None = None,
    ) -> Iterator[Frame]:
        """The whole frames from `index` on; what is left over is kept.

        `skip` may take frames for itself before each: it gives where it stopped.
        """
        while True:
            if skip is not None:
                index = skip(buffer, index, size)
            if size - index < HEADER_SIZE:
                break
            length, offset, kind, channel = _HEAD.unpack_from(buffer, index)
            end = index + length
            if length > self.max_frame_size:
                raise FramingError(
                    f"a frame of {length} bytes exceeds the maximum of {self.max_frame_size}"
                )
            start = index + offset * 4
            if offset < 2 or start > end:
                raise FramingError(f"a frame of {length} bytes has its body at {offset * 4}")
            if end > size:
                break
            yield Frame(kind, channel, buffer, start, end)
            index = end
        if index < size:
            self.keep(buffer, index)


def frame(channel: int, body: bytes, kind: int = AMQP_FRAME) -> bytes:
    """A frame around an encoded performative and its payload."""
    return _HEAD.pack(HEADER_SIZE + len(body), 2, kind, channel) + body


def transfer_frames(
    channel: int,
    handle: int,
    delivery_id: int,
    tag: bytes,
    payload: bytes,
    *,
    settled: bool,
    max_frame_size: int,
    message_format: int = 0,
    batchable: bool = False,
) -> list[bytes]:
    """One delivery as transfer frames: one, or as many as the peer's frame size asks for."""
    handle_field = encode_uint(handle)
    last_fields = [NULL, NULL, FALSE, FALSE, TRUE if batchable else FALSE]
    first = [
        handle_field,
        encode_uint(delivery_id),
        encode_binary(tag),
        encode_uint(message_format),
        TRUE if settled else FALSE,
    ]
    room = max_frame_size - CONTINUATION_OVERHEAD - len(b"".join(first))
    if len(payload) <= room:
        return [frame(channel, _transfer([*first, FALSE, *last_fields]) + payload)]
    room = max(room, 1)
    frames = [frame(channel, _transfer([*first, TRUE, *last_fields]) + payload[:room])]
    step = max(max_frame_size - CONTINUATION_OVERHEAD, 1)
    for at in range(room, len(payload), step):
        more = TRUE if at + step < len(payload) else FALSE
        fields = [handle_field, NULL, NULL, NULL, NULL, more, *last_fields]
        frames.append(frame(channel, _transfer(fields) + payload[at : at + step]))
    return frames


def _transfer(fields: list[bytes]) -> bytes:
    return b"\x00\x53\x14" + encode_list(fields)


class TransferRun:
    """Writes many settled single-frame deliveries of one link with few operations for each.

    The fields that change are the frame size and the delivery id; all the others are two constants
    made once for a link. The delivery tag is empty and the transfers are marked batchable, as the
    service does it.
    """

    def __init__(self, channel: int, handle: int) -> None:
        handle_field = encode_uint(handle)
        # delivery-tag, format, settled, more, rcv-settle-mode, state, resume, aborted, batchable
        rest = b"\xa0\x00\x43\x41\x42\x40\x40\x42\x42\x41"
        fields_size = len(handle_field) + 5 + len(rest)
        lead = struct.pack(">BBH", 2, AMQP_FRAME, channel) + b"\x00\x53\x14"
        lead += bytes((0xC0, fields_size + 1, 11)) + handle_field + b"\x70"
        self._lead = lead
        self.rest = rest
        self._pack = struct.Struct(f">I{len(lead)}sI").pack
        self.overhead = 4 + len(lead) + 4 + len(rest)

    def head(self, size: int, delivery_id: int) -> bytes:
        """What stands before `rest` and a payload, when both together take `size` bytes."""
        return self._pack(size, self._lead, delivery_id)

    def write(
        self,
        out: list[bytes],
        payload: bytes,
        ends: Iterable[int],
        start: int,
        delivery_id: int,
        prefix: bytes,
    ) -> int:
        """Appends a delivery for each slice of payload that ends at `ends`; gives the next id."""
        append, pack, lead = out.append, self._pack, self._lead
        tail = self.rest + prefix
        fixed = self.overhead + len(prefix)
        for end in ends:
            append(pack(fixed + end - start, lead, delivery_id))
            append(tail)
            append(payload[start:end])
            delivery_id = (delivery_id + 1) & 0xFFFFFFFF
            start = end
        return delivery_id
