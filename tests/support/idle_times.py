"""For how long partitions stood still, and who moved, told by what handlers wrote down.

Rules: pure. The time without a reader is that from the last batch of an owner to the first of the
next; events come all the time, so it is too long by the pause between two of them at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from support.handled_log import Given


@dataclass(frozen=True, slots=True)
class Change:
    """A partition that was read on by another life of a member, or by another member."""

    partition: str
    before: str
    after: str
    at: float
    idle_s: float

    @property
    def is_move(self) -> bool:
        """Whether another member has it; not, where the same one was started again."""
        return _member(self.before) != _member(self.after)

    @property
    def giver(self) -> str:
        return _member(self.before)


def _member(who: str) -> str:
    return who.partition("#")[0]


def changes(batches: Iterable[Given], since: float) -> list[Change]:
    """Those that began after a moment, in order."""
    by_partition: dict[str, list[Given]] = defaultdict(list)
    for batch in batches:
        by_partition[batch.partition].append(batch)
    found = [
        Change(partition, before.who, after.who, after.at, after.at - before.at)
        for partition, those in by_partition.items()
        # An owner's batches are told by its epoch: two owners' last and first may cross.
        for before, after in pairwise(sorted(those, key=lambda batch: (batch.epoch, batch.at)))
        if before.who != after.who and after.at >= since
    ]
    return sorted(found, key=lambda change: change.at)


def longest_pause_s(batches: Iterable[Given], since: float) -> float:
    """The longest time that any partition stood still after a moment, whoever had it."""
    last: dict[str, float] = {}
    longest = 0.0
    for batch in sorted(batches, key=lambda each: each.at):
        if batch.partition in last and batch.at >= since:
            longest = max(longest, batch.at - last[batch.partition])
        last[batch.partition] = batch.at
    return longest


def p95(values: Iterable[float]) -> float:
    """The value that at most a twentieth of them are above."""
    found = sorted(values)
    return found[max(0, -(-len(found) * 95 // 100) - 1)]
