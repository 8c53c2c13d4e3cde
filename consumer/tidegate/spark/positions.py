"""What a micro-batch reads, and how far its workers came: the nouns, and their JSON. Pure.

A turn is the part of a partition that one micro-batch reads: what comes after a position, up to and
with a sequence number, under the epoch of the partition's owner. A batch is all turns of one
micro-batch. Its JSON is what Spark keeps as the offset of a stream and hands back:

    {"batch": 17, "turns":
     {"0": {"epoch": 5, "offset": "4096", "after": 99, "to": 230, "member": "home-driver-x1"}}}

A turn of a change feed has `ends` besides: up to where each of its ranges may be read.

Rules: an offset of a stream that was begun before must be understood, or refused in words; what a
worker tells is checked against its turn, because the checkpoint follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from tidegate.model import NO_SEQUENCE, MemberName, PartitionId, Position


class NotAnOffsetError(ValueError):
    """What should be a stream's offset, or a worker's report, is not; the message says what."""


class RangeEnd(NamedTuple):
    """A range of a change feed: nothing waited there up to `base`, and `end` was its last LSN."""

    range: PartitionId
    base: int
    end: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A part of a partition: all after a position, up to and with the event `to`."""

    partition: PartitionId
    epoch: int
    after: Position
    to: int
    # Whose partition it is: the turns of one member are meant for one executor.
    member: MemberName = ""
    # Of a change feed: how far its ranges had come when it was planned (feed_bounds.py).
    ends: tuple[RangeEnd, ...] = ()

    @property
    def events(self) -> int:
        """How many events it has at most; retention may have taken some of them."""
        return self.to - self.after.sequence


@dataclass(frozen=True, slots=True)
class Batch:
    """All turns of one micro-batch. Numbers begin anew with every life of an office."""

    number: int
    turns: Mapping[PartitionId, Turn] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class TurnRead:
    """A worker's report: how far a turn was read. `offset` is the source's own text."""

    batch: int
    partition: PartitionId
    epoch: int
    offset: str
    sequence: int
    enqueued_at: float | None = None
    events: int = 0
    bytes: int = 0
    seconds: float = 0.0
    # Events of the turn that retention took before they were read.
    lost: int = 0
    # Events of it that were put aside as dead letters; they are in `events` too.
    aside: int = 0
    # Request units that reading it took, where the source counts them.
    units: float = 0.0

    @property
    def position(self) -> Position:
        return Position(self.offset, self.sequence)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def batch_of(turns: Iterable[Turn], number: int) -> Batch:
    return Batch(number, MappingProxyType({turn.partition: turn for turn in turns}))


def offset_of(batch: Batch) -> dict[str, Any]:
    """A batch as Spark keeps it."""
    return {
        "batch": batch.number,
        "turns": {
            partition: {
                "epoch": turn.epoch,
                "offset": turn.after.offset,
                "after": turn.after.sequence,
                "to": turn.to,
                "member": turn.member,
                **({"ends": [list(each) for each in turn.ends]} if turn.ends else {}),
            }
            for partition, turn in batch.turns.items()
        },
    }


def batch_from(offset: Any) -> Batch:
    """The batch that an offset names; an empty one for `{}`. Raises NotAnOffsetError."""
    try:
        if not offset:
            return Batch(0)
        turns = [_turn(str(name), told) for name, told in offset["turns"].items()]
        return batch_of(turns, _whole(offset["batch"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotAnOffsetError(
            f"this is no offset of a stream of tidegate ({type(error).__name__}: {error}). Where "
            "the checkpoint folder of the query is of another source, give the query a new one."
        ) from None


def _turn(partition: PartitionId, told: Mapping[str, Any]) -> Turn:
    after = Position(_text(told["offset"]), _whole(told["after"]))
    member = _text(told.get("member", ""))
    ends = tuple(
        RangeEnd(_text(range), _whole(base), _whole(end))
        for range, base, end in told.get("ends", ())
    )
    turn = Turn(partition, _whole(told["epoch"]), after, _whole(told["to"]), member, ends)
    if turn.events <= 0 or after.sequence < NO_SEQUENCE:
        raise ValueError(f"partition {partition}: no events after {after.sequence} to {turn.to}")
    return turn


def read_from(told: Mapping[str, Any]) -> TurnRead:
    """A worker's report. Raises NotAnOffsetError."""
    try:
        at = told.get("enqueued_at")
        read = TurnRead(
            batch=_whole(told["batch"]),
            partition=_text(told["partition"]),
            epoch=_whole(told["epoch"]),
            offset=_text(told["offset"]),
            sequence=_whole(told["sequence"]),
            enqueued_at=None if at is None else _number(at),
            events=_whole(told["events"]),
            bytes=_whole(told.get("bytes", 0)),
            seconds=_number(told.get("seconds", 0.0)),
            lost=_whole(told.get("lost", 0)),
            aside=_whole(told.get("aside", 0)),
            units=_number(told.get("units", 0.0)),
        )
        if min(read.events, read.bytes, read.seconds, read.lost, read.aside, read.units) < 0:
            raise ValueError("a count is below 0")
        return read
    except (KeyError, TypeError, ValueError) as error:
        raise NotAnOffsetError(
            f"this report of a turn cannot be used ({type(error).__name__}: {error})"
        ) from None


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise TypeError("it is a number that is none, or too large")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
