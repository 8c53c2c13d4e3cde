"""Where a partition without a checkpoint begins, and how that becomes a concrete position.

Rules:
- A position that goes into a ledger is one that official processors can read: it has the offset
  and the number of an event that is there, or is the beginning.
- `first` is asked for events without an epoch and gives the first one from some place on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from tidegate.model import BEGINNING, NO_OFFSET, PartitionEnd, Position, Rewind
from tidegate.ports import SourceEvent
from tidegate.settings import SettingsError

KINDS = ("latest", "earliest", "time", "position")


@dataclass(frozen=True, slots=True)
class Start:
    """`latest`, `earliest`, everything enqueued from a time on, or what comes after a position.

    `at` is in seconds since 1970. A position may be a sequence number alone.
    """

    kind: str = "latest"
    at: float | None = None
    position: Position | None = None

    def checked(self) -> Start:
        """This start, or SettingsError."""
        if self.kind not in KINDS:
            raise SettingsError(f"start {self.kind!r}: write one of {', '.join(KINDS)}")
        if (self.at is not None) != (self.kind == "time"):
            raise SettingsError("start: 'time' has a time, and nothing else has one")
        if (self.position is not None) != (self.kind == "position"):
            raise SettingsError("start: 'position' has a position, and nothing else has one")
        return self


def moment_of(text: str) -> datetime:
    """A time as people write it; one with a zone is given in UTC. Raises ValueError."""
    at = datetime.fromisoformat(text)
    try:
        return at if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text}: UTC has no such year") from None


def start_of(rewind: Rewind) -> Start:
    """Where a rewind goes to."""
    if rewind.at is not None:
        return Start("time", at=rewind.at)
    return Start("earliest") if rewind.is_resolved else Start("position", position=rewind.position)


@dataclass(frozen=True, slots=True)
class From:
    """From this on: a sequence number, or a time in seconds."""

    sequence: int | None = None
    at: float | None = None


class Facts(Protocol):
    """What is known of a partition."""

    @property
    def first_sequence(self) -> int: ...
    @property
    def end(self) -> PartitionEnd: ...


First = Callable[[From], Awaitable[SourceEvent]]


async def resolve(start: Start, facts: Callable[[], Awaitable[Facts]], first: First) -> Position:
    """The position that a start means for one partition now. Raises SourceError."""
    if start.kind == "earliest":
        return BEGINNING
    if start.position is not None and start.position.offset != NO_OFFSET:
        return start.position
    known = await facts()
    end = known.end
    if start.kind == "latest":
        return Position(end.offset, end.sequence)
    if start.position is not None:
        return await _at(start.position.sequence, known, first)
    assert start.at is not None
    if end.enqueued_at is None or end.enqueued_at < start.at:
        return Position(end.offset, end.sequence)
    event = await first(From(at=start.at))
    return await _at(event.position.sequence - 1, known, first)


async def _at(sequence: int, known: Facts, first: First) -> Position:
    """The position of the event of this number; the beginning where it is no longer there."""
    if sequence < known.first_sequence:
        return BEGINNING
    event = await first(From(sequence=sequence))
    return event.position if event.position.sequence == sequence else BEGINNING
