"""From a piece of a partition to a RecordBatch with the columns that are wanted.

Rules:
- No Python per event but what a column cannot do without: slicing bodies, and the general decoder
  where keys and properties of senders are asked for.
- An event that cannot be decoded is given back beside the batch, and is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tidegate.delivery.letters import WholeEvent
from tidegate.sources.native.event import Event
from tidegate.spark.columns import Columns
from tidegate.spark.json_bodies import Faulty, JsonBodies
from tidegate.spark.payloads import NO_TIME, Piece

_TIME = pa.timestamp("us", tz="UTC")


Maker = Callable[[str, Any], pa.Array]


class AnyPiece(Protocol):
    """A part of a partition: messages of a hub, or changes of a container."""

    @property
    def sequences(self) -> Any: ...

    def __len__(self) -> int: ...

    def bodies(self) -> list[bytes]: ...

    def without(self, indices: Sequence[int]) -> AnyPiece: ...

    def event(self, index: int) -> WholeEvent:
        """One of them, as a dead letter has it."""


@dataclass(frozen=True, slots=True)
class Made:
    """A batch, and the events of the piece that are not in it."""

    batch: pa.RecordBatch
    faulty: tuple[Faulty, ...] = ()


class BatchMaker:
    """Makes batches of one set of columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._json = JsonBodies(columns.body_fields, columns.types) if columns.of_body else None
        self._makers = self.makers()

    def makers(self) -> dict[str, Maker]:
        """How each of an event's own columns is made, of a partition and a piece."""
        return {
            "partition": lambda partition, piece: pa.repeat(partition, len(piece)),
            "sequence": lambda _, piece: pa.array(piece.sequences),
            "offset": lambda _, piece: pa.array([Event(p).offset for p in piece.payloads]),
            "enqueued": lambda _, piece: _times(piece.enqueued_ms),
            "partition_key": lambda _, piece: _keys(piece),
            "properties": self._properties,
            "body": lambda _, piece: pa.array(piece.bodies(), pa.binary()),
        }

    def make(self, partition: str, piece: AnyPiece, *, stops: bool) -> Made:
        """`stops`: the first event that cannot be decoded is enough to know.

        Raises AmqpError where a message is none.
        """
        of_body: dict[str, pa.Array] = {}
        faulty: tuple[Faulty, ...] = ()
        if self._json is not None:
            decoded = self._json.decode(piece.bodies(), stops=stops)
            of_body = dict(zip(self._columns.of_body, decoded.columns, strict=True))
            faulty = decoded.faulty
            if faulty:
                piece = piece.without([each.index for each in faulty])
        if stops and faulty:
            return Made(pa.RecordBatch.from_pylist([], schema=self._columns.schema), faulty)
        arrays = [
            of_body[name] if name in of_body else self._makers[name](partition, piece)
            for name in self._columns.schema.names
        ]
        return Made(pa.RecordBatch.from_arrays(arrays, schema=self._columns.schema), faulty)

    def _properties(self, _: str, piece: Piece) -> pa.Array:
        kind = self._columns.schema.field("properties").type
        if not piece.is_told.any():
            nothing = pa.array([{}], kind)
            return nothing.take(pa.array([0] * len(piece)))
        told = zip(piece.payloads, piece.is_told.tolist(), strict=True)
        return pa.array([_texts(payload) if is_told else {} for payload, is_told in told], kind)


def _times(milliseconds: Any) -> pa.Array:
    lacks = milliseconds == NO_TIME
    micros = pa.array(milliseconds * 1000, pa.int64(), mask=lacks if lacks.any() else None)
    return micros.view(_TIME)


def _keys(piece: Piece) -> pa.Array:
    if not piece.is_annotated.any():
        return pa.nulls(len(piece), pa.string())
    said = zip(piece.payloads, piece.is_annotated.tolist(), strict=True)
    return pa.array([_key(payload) if is_said else None for payload, is_said in said], pa.string())


def _key(payload: bytes) -> str | None:
    key = Event(payload).partition_key
    return None if key is None else key.decode(errors="replace")


def _texts(payload: bytes) -> dict[str, str | None]:
    """What the sender said of the event, as text."""
    found = Event(payload).properties
    return {_text(key) or "": _text(value) for key, value in found.items()}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
