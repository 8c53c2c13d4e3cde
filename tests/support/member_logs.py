"""What the handlers of a group's members saw, and what the members reported: from their logs.

Rules: member_process.py writes the lines that are read here. A log is read on from where it was
read last, so that asking often costs little; what a killed process wrote counts as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Batch:
    """Events that a handler was given."""

    at: float
    member: str
    partition: str
    first: int
    last: int


class MemberLogs:
    """All logs of a directory; `NAME.log` is that of the member NAME."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._read_to: dict[Path, int] = {}
        self._batches: list[Batch] = []
        self._reports: list[str] = []
        self._started: dict[str, float] = {}

    def _read_on(self) -> None:
        for path in sorted(self.directory.glob("*.log")):
            with path.open("rb") as file:
                file.seek(self._read_to.get(path, 0))
                whole, newline, _ = file.read().rpartition(b"\n")
            if not newline:
                continue
            self._read_to[path] = self._read_to.get(path, 0) + len(whole) + 1
            for line in whole.decode("utf-8").splitlines():
                self._take(path.stem, line)
        self._batches.sort(key=lambda batch: batch.at)

    def _take(self, member: str, line: str) -> None:
        words = line.split()
        if words[0] == "s":
            self._started[member] = float(words[1])
        elif words[0] == "h":
            at, partition, first, last = words[1:5]
            self._batches.append(Batch(float(at), member, partition, int(first), int(last)))
        elif words[0] == "r":
            self._reports.append(f"{member}: {line}")

    # --- what was handled

    def batches(self, since: float = 0.0) -> list[Batch]:
        """All that was handled since a moment, by time."""
        self._read_on()
        return self._batches[bisect_left(self._batches, since, key=lambda batch: batch.at) :]

    def readers(self, since: float) -> dict[str, str]:
        """Who handled each partition last."""
        return {batch.partition: batch.member for batch in self.batches(since)}

    def duplicates(self) -> int:
        """Events that were handled more than once."""
        seen: dict[str, set[int]] = {}
        again = 0
        for batch in self.batches():
            done = seen.setdefault(batch.partition, set())
            for sequence in range(batch.first, batch.last + 1):
                again += sequence in done
                done.add(sequence)
        return again

    def missing(self) -> list[str]:
        """Events that were passed over: gaps in what was handled of a partition."""
        seen: dict[str, set[int]] = {}
        for batch in self.batches():
            seen.setdefault(batch.partition, set()).update(range(batch.first, batch.last + 1))
        return [
            f"{partition}: {sequence}"
            for partition, done in seen.items()
            for sequence in range(max(done))
            if sequence not in done
        ]

    def _changes(self) -> Iterator[tuple[Batch, Batch]]:
        """The last batch of one reader of a partition, and the first of the next reader."""
        last: dict[str, Batch] = {}
        for batch in self.batches():
            before = last.get(batch.partition)
            if before is not None and before.member != batch.member:
                yield before, batch
            last[batch.partition] = batch

    def idle(self, since: float, until: float) -> dict[str, float]:
        """The longest time that each partition was not handled, where its reader changed."""
        longest: dict[str, float] = {}
        for before, batch in self._changes():
            if since <= batch.at <= until:
                gap = batch.at - max(before.at, since)
                longest[batch.partition] = max(longest.get(batch.partition, 0.0), gap)
        return longest

    def moves(self, since: float) -> int:
        """How often the reader of a partition changed."""
        return sum(batch.at >= since for _, batch in self._changes())

    def are_ready(self, members: Iterable[str]) -> bool:
        """Whether all of these processes are ready to begin, their imports done."""
        self._read_on()
        return all(name in self._started for name in members)

    def started_at(self, member: str) -> float:
        """When a member's process was last ready to begin, its imports done."""
        self._read_on()
        return self._started[member]

    # --- what was said

    def reports(self, *kinds: str) -> list[str]:
        """What members reported, each with the member's name before it; of these kinds, or all."""
        self._read_on()
        return [line for line in self._reports if not kinds or line.split()[3] in kinds]
