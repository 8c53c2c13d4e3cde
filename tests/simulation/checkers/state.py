"""STATE: a stored state belongs to the position that it is stored with (rule 5).

The handlers of a world keep in their state with which event they began and how many they have
handled. A state never ends elsewhere than at its position, and never begins anew by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import ByHand, Did, Record
from tidegate.ports import WriteCheckpoint

NAME = "STATE"


def check(seen: Seen) -> Iterator[Violation]:
    if not seen.script.has_state:
        return
    for partition, records in seen.partitions.items():
        yield from _check(partition, records)


def _check(partition: str, records: list[Record]) -> Iterator[Violation]:
    began: int | None = None
    rewinds = {""}
    for record in records:
        if isinstance(record, ByHand):
            began = None
        elif isinstance(record, Did) and isinstance(record.operation, WriteCheckpoint):
            operation = record.operation
            is_rewind = operation.rewound_by not in rewinds
            rewinds.add(operation.rewound_by)
            if is_rewind:
                began = None
            if operation.state is None:
                if began is not None:
                    yield Violation(NAME, record.at, f"{partition}: {record.who} lost the state")
                began = None
                continue
            first, count = (int(part) for part in operation.state.split(b"+"))
            sequence = operation.position.sequence
            if first + count - 1 != sequence:
                text = f"{partition}: the state of {first + count - 1} stands with {sequence}"
                yield Violation(NAME, record.at, text)
            if began not in (None, first):
                text = f"{partition}: the state began at {began}, and now at {first}"
                yield Violation(NAME, record.at, text)
            began = first
