"""P3: checkpoints never go back, but by a rewind, and each rewind is done once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import DELETED_CHECKPOINT, SET_BACK, ByHand, Did, Record
from tidegate.ports import WriteCheckpoint

NAME = "P3"


def check(seen: Seen) -> Iterator[Violation]:
    for partition, records in seen.partitions.items():
        yield from _check(partition, records)


def _check(partition: str, records: Iterable[Record]) -> Iterator[Violation]:
    stands: int | None = None
    rewinds = {""}
    for record in records:
        if isinstance(record, ByHand):
            if record.what == DELETED_CHECKPOINT:
                stands, rewinds = None, {""}
            elif record.what == SET_BACK:
                stands, rewinds = record.sequence, {""}
        elif isinstance(record, Did) and isinstance(record.operation, WriteCheckpoint):
            operation = record.operation
            sequence = operation.position.sequence
            is_rewind = operation.rewound_by not in rewinds
            rewinds.add(operation.rewound_by)
            if stands is not None and sequence < stands and not is_rewind:
                yield Violation(
                    NAME,
                    record.at,
                    f"{partition}: {record.who} set the checkpoint back from {stands} to "
                    f"{sequence}",
                )
            stands = sequence
