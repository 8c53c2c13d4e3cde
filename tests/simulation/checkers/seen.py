"""The history made ready for the checkers: what concerns each partition, in order.

Rules: only what was done counts, so refused operations are left out here; listings and reads say
nothing that a property speaks of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from simulation.facts import Facts
from simulation.history import Attached, ByHand, Detached, Did, Handled, Lived, Record
from tidegate.model import PartitionId, Roster
from tidegate.ports import (
    Acquire,
    Break,
    Change,
    Release,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

_TELLING = (Acquire, Break, Change, Renew, Release, WriteOwnership, WriteCheckpoint)


class Seen:
    """A history, and the facts about its world."""

    def __init__(self, records: Sequence[Record], facts: Facts) -> None:
        self.records = records
        self.facts = facts
        self.script = facts.script
        self.partitions: dict[PartitionId, list[Record]] = defaultdict(list)
        self.lives: list[Lived] = []
        self.roster: Roster | None = None
        for record in records:
            if isinstance(record, Did):
                if record.refusal is not None:
                    continue
                operation = record.operation
                if isinstance(operation, _TELLING):
                    self.partitions[operation.partition].append(record)
                elif isinstance(operation, WriteRoster):
                    self.roster = operation.roster
            elif isinstance(record, Attached | Detached | Handled | ByHand):
                self.partitions[record.partition].append(record)
            elif isinstance(record, Lived):
                self.lives.append(record)

    def was_ever_paused(self) -> bool:
        """Whether the roster ever said that something shall not be read."""
        return any(
            trouble.roster is not None and (trouble.roster.paused or trouble.roster.is_paused)
            for trouble in self.script.troubles
        )

    def paused(self) -> frozenset[PartitionId]:
        """What nobody shall read at the end, by the last roster that was written."""
        if self.roster is None:
            return frozenset()
        return frozenset(self.facts.timetable) if self.roster.is_paused else self.roster.paused
