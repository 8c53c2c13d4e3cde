"""What the handlers of a group were given, batch by batch, and what that says of P2, P4 and P5.

    log = HandledLog(group.folder / "seen.log")
    log.read_on()
    log.through("3")       # the last event up to which all of partition 3 was handled
    log.lost()             # events that were passed over
    log.repeats            # how many events a new owner handled again, for each owner that did
    log.disorder           # batches that did not follow the one before, of one owner

Rules: windows_handler.py and plain_handler.py write the lines, all processes to one file, so its
order is that of the handlers. Millions of events are a few numbers here: ranges, never events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tidegate_operator.conformance.stretches import Stretch


class Given(NamedTuple):
    """Events that a handler was given by one owner of a partition."""

    at: float
    who: str  # one life of one member: name#process
    partition: str
    epoch: int
    first: int
    last: int


class Owner(NamedTuple):
    """One tenure of a partition, in one process."""

    partition: str
    epoch: int
    who: str


class HandledLog:
    """See the module."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_to = 0
        self._partitions: dict[str, Stretch] = defaultdict(Stretch)
        self._last: dict[Owner, int] = {}
        self.batches: list[Given] = []
        self.repeats: Counter[Owner] = Counter()
        self.disorder: list[str] = []

    def read_on(self) -> None:
        """Takes in what was written since."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read_to)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._read_to += len(whole) + len(newline)
        for line in whole.decode().splitlines():
            _, at, who, partition, epoch, first, last = line.split()
            self.take(Given(float(at), who, partition, int(epoch), int(first), int(last)))

    def take(self, given: Given) -> None:
        """Counts one batch in."""
        owner = Owner(given.partition, given.epoch, given.who)
        again = self._partitions[given.partition].take(given.first, given.last)
        if again:
            self.repeats[owner] += again
        before = self._last.get(owner)
        if before is not None and given.first != before + 1:
            self.disorder.append(f"{owner} was given {given.first} after {before}")
        self._last[owner] = given.last
        self.batches.append(given)

    def through(self, partition: str) -> int:
        """The last event up to which all was handled; -1 for none."""
        return self._partitions[partition].whole

    def is_handled(self, partitions: int, events: int) -> bool:
        """Whether every partition has been handled up to so many events."""
        self.read_on()
        return all(self.through(str(number)) >= events - 1 for number in range(partitions))

    def lost(self) -> int:
        """Events that were passed over, and not handled later."""
        gaps = (gap for partition in self._partitions.values() for gap in partition.gaps)
        return sum(end - begin + 1 for begin, end in gaps)

    @property
    def duplicates(self) -> int:
        """Events that were handled again."""
        return sum(self.repeats.values())

    def standing(self) -> dict[str, int]:
        """How far each partition has come, for messages."""
        return {partition: self.through(partition) for partition in sorted(self._partitions)}
