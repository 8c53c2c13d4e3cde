"""Where events stand and where their bodies are: of a thousand messages at once. Pure.

All messages of a piece are laid end to end and looked at as one array of bytes, by numpy: their
sections are skipped by their sizes, and the annotations that the service writes last are read where
they end. What has another shape is decoded one by one, as it is for handlers.

Rules: what is found this way is what `Event` finds, for every message; a message that is not of the
usual shape is never guessed at. Sections of a message: event.py and shape.py of sources/native.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tidegate.sources.native.event import Event
from tidegate.sources.native.shape import TO_OFFSET, TO_TIME, UP_TO_SEQUENCE
from tidegate_amqp.sections import APPLICATION_PROPERTIES, DATA, HEADER, MESSAGE_ANNOTATIONS

Array = np.ndarray[Any, Any]

# The sections before a body: header, both annotations, properties, application properties.
_SECTIONS = 6

# No time, where the service said none.
NO_TIME = np.iinfo(np.int64).min
# Behind the longest of what is looked at, so that no message is too near the end of the array.
_MARGIN = bytes(64)
# The offsets of one piece have very few lengths: those of numbers that are near one another.
_LENGTHS = 4
# The service's own annotations: keys and values of four.
_SERVICES = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """Messages of one partition, in order, with what was found in each."""

    payloads: Sequence[bytes]
    sequences: Array
    enqueued_ms: Array
    # Where the body begins in each; -1 where the general decoder must be asked for it.
    body_at: Array
    # Whether senders may have said something in annotations, and in properties.
    is_annotated: Array
    is_told: Array

    def __len__(self) -> int:
        return len(self.payloads)

    def cut(self, count: int) -> Piece:
        """The first so many of them."""
        return self._of(self.payloads[:count], slice(count))

    def without(self, indices: Sequence[int]) -> Piece:
        """All but these of them."""
        stays = np.ones(len(self), bool)
        stays[list(indices)] = False
        left = [payload for payload, is_in in zip(self.payloads, stays, strict=True) if is_in]
        return self._of(left, stays)

    def _of(self, payloads: Sequence[bytes], chosen: Any) -> Piece:
        return Piece(
            payloads,
            self.sequences[chosen],
            self.enqueued_ms[chosen],
            self.body_at[chosen],
            self.is_annotated[chosen],
            self.is_told[chosen],
        )

    def event(self, index: int) -> Event:
        return Event(self.payloads[index])

    def bodies(self) -> list[bytes]:
        return [
            payload[at:] if at >= 0 else _body(payload)
            for payload, at in zip(self.payloads, self.body_at.tolist(), strict=True)
        ]


def _body(payload: bytes) -> bytes:
    """A body of any kind as bytes."""
    event = Event(payload)
    return event.content or event.body_as_str().encode()


def piece_of(payloads: Sequence[bytes]) -> Piece:
    """Raises NotUnderstoodError where a message does not say where it stands."""
    count = len(payloads)
    sizes = np.fromiter(map(len, payloads), np.int64, count)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    whole = np.frombuffer(b"".join((*payloads, _MARGIN)), np.uint8)
    walk = _walked(whole, starts, ends)
    sequences = np.zeros(count, np.int64)
    enqueued_ms = np.full(count, NO_TIME, np.int64)
    is_found = _read_tails(whole, starts, walk.annotations_end, sequences, enqueued_ms)
    for index in np.flatnonzero(~is_found).tolist():
        place = Event(payloads[index]).place
        sequences[index] = place.sequence
        if place.enqueued_ms is not None:
            enqueued_ms[index] = place.enqueued_ms
    is_plain = is_found & (walk.body_at >= 0)
    return Piece(
        payloads,
        sequences,
        enqueued_ms,
        walk.body_at,
        is_annotated=~(is_plain & walk.has_services_alone),
        is_told=~is_plain | walk.has_properties,
    )


class _Walk(NamedTuple):
    """What sections there are in each message."""

    # Where the annotations of the service end in the whole, or -1.
    annotations_end: Array
    # Where the body begins in each message, or -1.
    body_at: Array
    has_services_alone: Array
    has_properties: Array


def _walked(whole: Array, starts: Array, ends: Array) -> _Walk:
    """Each round goes over one section of every message."""
    count = len(starts)
    annotations_end, body_at = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    has_services_alone, has_properties = np.zeros(count, bool), np.zeros(count, bool)
    rows = np.arange(count)
    at = starts
    for _ in range(_SECTIONS):
        code, form = whole[at + 2], whole[at + 3]
        is_section = (whole[at] == 0) & (whole[at + 1] == 0x53)
        is_small = (form == 0xC0) | (form == 0xC1)
        is_large = (form == 0xD0) | (form == 0xD1)
        small, large = whole[at + 4].astype(np.int64), _u32(whole, at + 4)
        is_data = is_section & (code == DATA)
        size = np.where(form == 0xA0, small, large)
        begin = at + np.where(form == 0xA0, 5, 8)
        is_body = is_data & ((form == 0xA0) | (form == 0xB0)) & (begin + size == ends[rows])
        body_at[rows[is_body]] = (begin - starts[rows])[is_body]
        step = np.where(is_small, 5 + small, np.where(is_large, 8 + large, 4))
        is_said = is_section & (code == MESSAGE_ANNOTATIONS) & is_small
        is_said &= at + step <= ends[rows]
        annotations_end[rows[is_said]] = (at + step)[is_said]
        has_services_alone[rows[is_said]] = (whole[at + 5] == _SERVICES)[is_said]
        has_properties[rows[code == APPLICATION_PROPERTIES]] = True
        is_before = is_section & (code >= HEADER) & (code < DATA)
        goes_on = is_before & (is_small | is_large | (form == 0x45)) & (at + step < ends[rows])
        rows, at = rows[goes_on], (at + step)[goes_on]
        if not len(rows):
            break
    return _Walk(annotations_end, body_at, has_services_alone, has_properties)


def _read_tails(
    whole: Array, starts: Array, annotations_end: Array, sequences: Array, times: Array
) -> Array:
    """Reads sequence numbers and times where annotations end as the service writes them, and says
    of which messages. One length of offsets after the other, a few times over."""
    is_found = np.zeros(len(sequences), bool)
    rows = np.flatnonzero(annotations_end >= 0)
    for _ in range(_LENGTHS):
        if not len(rows):
            break
        end = annotations_end[rows]
        # Numbers grow: most offsets are as long as the one in the middle.
        middle = len(rows) // 2
        length = _length_of_offset(whole, int(end[middle]))
        if length is None:
            rows = np.delete(rows, middle)
            continue
        time_at = end - 8
        offset_at = time_at - len(TO_TIME) - length
        sequence_at = offset_at - 1 - len(TO_OFFSET) - 8
        head_at = sequence_at - 1 - len(UP_TO_SEQUENCE)
        is_inside = head_at >= starts[rows]
        head_at = np.where(is_inside, head_at, 0)
        fits = is_inside & (whole[offset_at - 1] == length) & (whole[sequence_at - 1] == 0x81)
        fits &= _says(whole, time_at - len(TO_TIME), TO_TIME)
        fits &= _says(whole, sequence_at + 8, TO_OFFSET)
        fits &= _says(whole, head_at, UP_TO_SEQUENCE)
        good = rows[fits]
        sequences[good] = _i64(whole, sequence_at[fits])
        times[good] = _i64(whole, time_at[fits])
        is_found[good] = True
        rows = rows[~fits]
    return is_found


def _length_of_offset(whole: Array, end: int) -> int | None:
    """How long the offset is that stands before the time, where annotations end."""
    key_at = end - 8 - len(TO_TIME)
    for length in range(1, 24):
        if whole[key_at - length - 1] == length:
            begin = key_at - length - 1 - len(TO_OFFSET)
            if begin >= 0 and whole[begin : begin + len(TO_OFFSET)].tobytes() == TO_OFFSET:
                return length
    return None


def _says(whole: Array, at: Array, text: bytes) -> Array:
    """Whether this text stands there."""
    found: Array = _runs(whole, len(text))[at] == np.frombuffer(text, f"V{len(text)}")[0]
    return found


def _u32(whole: Array, at: Array) -> Array:
    return _runs(whole, 4)[at].view(">u4").astype(np.int64)


def _i64(whole: Array, at: Array) -> Array:
    return _runs(whole, 8)[at].view(">i8").astype(np.int64)


def _runs(whole: Array, size: int) -> Array:
    """So many bytes from each place on, as one element each: taken and compared in one piece."""
    return np.ndarray((len(whole) - size + 1,), f"V{size}", whole, strides=(1,))
