"""P5: order is kept per partition within an epoch.

Within an epoch each event comes right after the one before; a reader that is attached again goes
on where the handler was. Only a rewind goes back.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import Attached, ByHand, Did, Handled, Record
from tidegate.ports import WriteCheckpoint

NAME = "P5"


def check(seen: Seen) -> Iterator[Violation]:
    for partition, records in seen.partitions.items():
        yield from _check(partition, records)


def _check(partition: str, records: list[Record]) -> Iterator[Violation]:
    last: dict[tuple[str, int], int] = {}
    rewinds: set[str] = set()
    may_go_back: set[tuple[str, int]] = set()
    for record in records:
        if isinstance(record, ByHand):
            # A hand may have removed the mark that a rewind was done.
            rewinds.clear()
        elif isinstance(record, Did):
            operation = record.operation
            if isinstance(operation, WriteCheckpoint) and operation.rewound_by not in rewinds:
                rewinds.add(operation.rewound_by)
                may_go_back.add((record.who, operation.epoch))
        elif isinstance(record, Attached):
            key = record.who, record.epoch
            if key in last and record.behind < last[key] and key not in may_go_back:
                text = f"{partition}: {key} read again from {record.behind}, was at {last[key]}"
                yield Violation(NAME, record.at, text)
            may_go_back.discard(key)
            last[key] = record.behind
        elif isinstance(record, Handled):
            key = record.who, record.epoch
            if record.first != last.get(key, record.first - 1) + 1:
                text = f"{partition}: {key} handled {record.first} after {last[key]}"
                yield Violation(NAME, record.at, text)
            last[key] = record.last
