"""How far the reading of one turn has come, and when it is over. Pure.

Rules:
- Events of a turn come in order, each once; one beyond it ends it and belongs to the next.
- What retention took is never waited for: where nothing comes, the hub's answer about the partition
  says whether the rest can still come.
- An event behind the turn says that nothing is left of it: it is passed to its end, so that a gap
  that no answer of the hub tells of holds up nobody.
- `lost` counts events that were passed and not read: those behind the last one are counted when
  somebody reads past them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.model import NO_SEQUENCE, PartitionEnd, Position
from tidegate.ports import SourceError
from tidegate.spark.positions import Turn


@dataclass(slots=True)
class Progress:
    """Of one turn."""

    turn: Turn
    # The last event that was read, or where the turn begins.
    at: Position
    enqueued_at: float | None = None
    events: int = 0
    bytes: int = 0
    is_over: bool = False
    # Where counting begins: the beginning of a partition is no number that an event has.
    _base: int | None = None

    @classmethod
    def of(cls, turn: Turn) -> Progress:
        begin = turn.after.sequence
        return cls(turn, turn.after, _base=None if begin == NO_SEQUENCE else begin)

    @property
    def lost(self) -> int:
        if self._base is None:
            return 0
        return self.at.sequence - self._base - self.events

    def check(self, first: int) -> None:
        """The next event has this number. Raises SourceError where that cannot be."""
        if first <= self.at.sequence:
            raise SourceError(
                f"partition {self.turn.partition}: event {first} came after {self.at.sequence}"
            )

    def took(
        self, first: int, last: Position, enqueued_at: float | None, events: int, size: int
    ) -> None:
        """Events of the turn were read."""
        if self._base is None:
            self._base = first - 1
        self.at, self.enqueued_at = last, enqueued_at
        self.events += events
        self.bytes += size
        self.is_over = last.sequence >= self.turn.to

    def took_some(self, enqueued_at: float | None, events: int, size: int) -> None:
        """Changes of the turn were read: where that is stands at the end of the turn alone."""
        self.enqueued_at = enqueued_at
        self.events += events
        self.bytes += size

    def ended(self, at: Position) -> None:
        """A turn of a change feed is over: numbers that no change has are not lost."""
        self.at, self.is_over, self._base = at, True, at.sequence - self.events

    def passed(self) -> None:
        """The next event is behind the turn: what is left of it will never come."""
        self.at, self.is_over = Position(self.at.offset, self.turn.to), True

    def heard(self, first_sequence: int, end: PartitionEnd) -> None:
        """What the hub says of the partition, after a while in which nothing came.

        Raises SourceError where the turn's end is not an event of this hub.
        """
        if end.sequence < self.turn.to:
            raise SourceError(
                f"partition {self.turn.partition}: events up to {self.turn.to} were to be read, "
                f"and the hub says that {end.sequence} is its last: it was deleted and made again. "
                "Rewind the partition, or delete its checkpoint.",
                is_fatal=True,
            )
        is_empty = end.enqueued_at is None
        if is_empty or first_sequence > self.turn.to:
            self.is_over = True
