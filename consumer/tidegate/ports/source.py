"""The port to where events come from: a source, its readers, and the errors that they end with.

Rules: events come in the order of their partition. An error says whether somebody else reads the
partition, whether waiting helps, or whether another transport may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidegate.model import PartitionEnd, PartitionId, Position, Rewind


class SourceEvent(Protocol):
    """An event, as far as reading it in order goes; a source's own type offers more."""

    @property
    def position(self) -> Position: ...

    @property
    def enqueued_at(self) -> float | None: ...


class StolenError(Exception):
    """The source gave the partition to a higher epoch; `level` is that epoch where it said it."""

    def __init__(self, message: str, level: int | None = None) -> None:
        super().__init__(message)
        self.level = level


class SourceError(Exception):
    """The source cannot be read now; the message says why and what to do.

    `is_fatal`: it will not come right by itself, for instance where the hub does not exist. What
    may pass, such as a lost connection, a reader has tried again for a while before it says so.
    """

    def __init__(self, message: str, *, is_fatal: bool = False) -> None:
        super().__init__(message)
        self.is_fatal = is_fatal


# How words begin that say that a stored position means nothing to its source any more.
_LOST = "PositionLost: "


def of_lost_position(words: str) -> str:
    """Words of an error that only a rewind ends, or a new name."""
    return _LOST + words


def lost_position(words: str) -> str:
    """What such words say; '' where they say something else."""
    return words.removeprefix(_LOST) if words.startswith(_LOST) else ""


class NotUnderstoodError(SourceError):
    """The service says what this transport does not understand: another transport may."""


class Reader(Protocol):
    """Reads one partition with one epoch."""

    async def open(self) -> None:
        """Attaches. Raises StolenError or SourceError."""

    async def receive(self) -> Sequence[SourceEvent]:
        """The next events in order; none after a while without any. Raises as `open` does."""

    async def close(self) -> None: ...

    @property
    def known_end(self) -> PartitionEnd | None:
        """How far the partition had come when the last event was sent, where the source said so."""


class Source(Protocol):
    """Where events come from."""

    async def partitions(self) -> tuple[PartitionId, ...]:
        """All partitions that there are now. Raises SourceError."""

    async def check_unread(self, partition: PartitionId) -> None:
        """Raises StolenError if another reader has a partition without a checkpoint.

        As far as the source can tell.
        """

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        """Where a partition without a checkpoint begins, or a rewind goes to: a concrete position.

        Raises SourceError, and StolenError where somebody reads the partition.
        """

    def reader(self, partition: PartitionId, position: Position, epoch: int) -> Reader:
        """A reader of what comes after a position; BEGINNING is before the first event."""

    async def close(self) -> None: ...
