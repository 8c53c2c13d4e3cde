"""P2: no event is lost: each is handled.

No checkpoint passes an event that no handler has finished, and in the end every event behind the
start of its partition has been handled. Where somebody deleted a checkpoint, the partition may
start anew where a start is: that was the person's wish.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import DELETED_CHECKPOINT, Attached, ByHand, Did, Handled, Record
from tidegate.ports import WriteCheckpoint

NAME = "P2"


def check(seen: Seen) -> Iterator[Violation]:
    paused = seen.paused()
    for partition, times in seen.facts.timetable.items():
        through: list[int] = []
        yield from _check(partition, seen.partitions.get(partition, ()), through)
        last = len(times) - 1
        if partition in paused or not seen.facts.alive:
            continue
        if not through:
            yield Violation(NAME, seen.facts.end, f"{partition}: nobody ever began to read it")
        elif through[0] < last:
            yield Violation(
                NAME,
                seen.facts.end,
                f"{partition}: event {through[0] + 1} of {last} was never handled",
            )


def _check(partition: str, records: Iterable[Record], result: list[int]) -> Iterator[Violation]:
    """Leaves in `result` up to where everything was handled."""
    handled: set[int] = set()
    through: int | None = None
    is_deleted = False
    for record in records:
        position: int | None = None
        if isinstance(record, Handled):
            handled.update(range(record.first, record.last + 1))
        elif isinstance(record, ByHand):
            is_deleted = is_deleted or record.what == DELETED_CHECKPOINT
        elif isinstance(record, Attached):
            position = record.behind
        elif isinstance(record, Did) and isinstance(record.operation, WriteCheckpoint):
            position = record.operation.position.sequence
            if is_deleted and record.operation.etag is None:
                through, is_deleted = max(position, -1 if through is None else through), False
        if through is None:
            through = position
        while through is not None and through + 1 in handled:
            through += 1
            handled.discard(through)
        if position is not None and through is not None and position > through:
            yield Violation(
                NAME,
                record.at,
                f"{partition}: {type(record).__name__} passes event {through + 1}, which nobody "
                f"has handled, to {position}",
            )
            through = position
    if through is not None:
        result.append(through)
