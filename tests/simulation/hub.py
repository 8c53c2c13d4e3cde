"""The hub of the world: partitions that grow by a timetable, one reader each, owner levels.

Rules: a higher level, or the latest of equals, detaches the other; a lower one is refused with the
level that is there. Only a link that is there has a level: the hub remembers none of the past.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simulation.clock import Clock
from simulation.history import Attached, Detached, Record, Who
from tidegate.model import BEGINNING, PartitionId, Position


def position_of(sequence: int) -> Position:
    """Of the event with this number; the beginning where it is negative."""
    return Position(str(sequence * 8), sequence) if sequence >= 0 else BEGINNING


@dataclass(slots=True)
class Link:
    """A reader attached to a partition. `on_end` is told why it ended."""

    who: Who
    partition: PartitionId
    epoch: int
    on_end: Callable[[str, int], None]


class Hub:
    """See the module. `timetable` says when each event of a partition is appended."""

    def __init__(
        self,
        clock: Clock,
        timetable: Mapping[PartitionId, Sequence[float]],
        record: Callable[[Record], None],
    ) -> None:
        self._clock = clock
        self._timetable = timetable
        self._record = record
        self._links: dict[PartitionId, Link] = {}

    def last_sequence(self, partition: PartitionId) -> int:
        """Of the newest event; -1 where there is none yet."""
        return bisect_right(self._timetable[partition], self._clock.now) - 1

    def next_at(self, partition: PartitionId, sequence: int) -> float | None:
        """When the event behind this one is appended; None where none ever is."""
        times = self._timetable[partition]
        return times[sequence + 1] if sequence + 1 < len(times) else None

    def reader(self, partition: PartitionId) -> Who | None:
        link = self._links.get(partition)
        return None if link is None else link.who

    def attach(self, link: Link, behind: int) -> int | None:
        """None where the link is attached, else the level that refuses it."""
        other = self._links.get(link.partition)
        if other is not None and other.epoch > link.epoch:
            return other.epoch
        if other is not None:
            self._end(other, "stolen", link.epoch)
        self._links[link.partition] = link
        self._record(Attached(self._clock.now, link.who, link.partition, link.epoch, behind))
        return None

    def detach(self, link: Link) -> None:
        if self._links.get(link.partition) is link:
            del self._links[link.partition]
            self._record(Detached(self._clock.now, link.who, link.partition, link.epoch, "closed"))

    def cut(self, who: Who) -> None:
        """Ends all links of one process, as a broken network or a dead process does."""
        for link in [link for link in self._links.values() if link.who == who]:
            del self._links[link.partition]
            self._end(link, "cut", link.epoch)

    def _end(self, link: Link, why: str, level: int) -> None:
        self._record(Detached(self._clock.now, link.who, link.partition, link.epoch, why))
        link.on_end(why, level)
