"""What one task of Spark's reads: turns of partitions, and where to report them. Pure.

Rules:
- A task costs more than a thousand events. So the turns of a member, which is an executor, are put
  into as many tasks as it runs at a time, each about as long as the others.
- A task carries all that its worker needs, the hub's address among it: executors are told nothing
  in another way. It says no secret where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql.datasource import InputPartition

from tidegate.spark.positions import Batch, Turn
from tidegate.spark.source_place import SourcePlace


@dataclass(frozen=True, slots=True)
class DeskPlace:
    """Where the office is."""

    address: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class ReadTask(InputPartition):
    """See the module."""

    batch: int
    turns: tuple[Turn, ...]
    source: SourcePlace
    desk: DeskPlace
    # Events that cannot be decoded are put aside; else the task fails.
    puts_aside: bool = False
    # Whom dead letters name.
    member: str = ""


def shared_out(turns: Iterable[Turn], parts: int) -> list[tuple[Turn, ...]]:
    """The turns in so many parts at most, the longest first into the part that has least."""
    made: list[tuple[int, list[Turn]]] = [(0, []) for _ in range(max(parts, 1))]
    for turn in sorted(turns, key=lambda turn: (-turn.events, turn.partition)):
        at = min(range(len(made)), key=lambda index: made[index][0])
        events, part = made[at]
        made[at] = (events + turn.events, [*part, turn])
    return [tuple(part) for _, part in made if part]


def tasks_of(
    batch: Batch, per_member: int, source: SourcePlace, desk: DeskPlace, *, puts_aside: bool
) -> list[ReadTask]:
    """The tasks that read a batch."""
    members = sorted({turn.member for turn in batch.turns.values()})
    return [
        ReadTask(batch.number, part, source, desk, puts_aside, member)
        for member in members
        for part in shared_out(
            (turn for turn in batch.turns.values() if turn.member == member), per_member
        )
    ]
