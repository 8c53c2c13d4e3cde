"""P1: at most one valid epoch can checkpoint a partition.

Once an epoch has written a checkpoint, no lower one ever does again, and an epoch belongs to one
life of one member, in storage as at the hub. Where a hand removed the epoch from a blob,
counting begins anew from what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import (
    DELETED_CHECKPOINT,
    DELETED_OWNERSHIP,
    EMPTIED,
    SET_BACK,
    Attached,
    ByHand,
    Did,
    Record,
)
from tidegate.ports import WriteCheckpoint, WriteOwnership

NAME = "P1"


def check(seen: Seen) -> Iterator[Violation]:
    for partition, records in seen.partitions.items():
        yield from _check(partition, records)


def _check(partition: str, records: Iterable[Record]) -> Iterator[Violation]:
    in_ownership = in_checkpoint = top = 0
    belongs: dict[int, str] = {}
    # Epochs that only a deleted blob knew of: they may be given out again.
    lost: set[int] = set()
    for record in records:
        if isinstance(record, ByHand):
            if record.what == EMPTIED:
                in_ownership = in_checkpoint = 0
            elif record.what == DELETED_OWNERSHIP:
                in_ownership = 0
            elif record.what in (DELETED_CHECKPOINT, SET_BACK):
                in_checkpoint = 0
            else:
                continue
            top = max(in_ownership, in_checkpoint)
            lost |= {epoch for epoch in belongs if epoch > top}
            continue
        epoch, who = 0, ""
        if isinstance(record, Attached):
            epoch, who = record.epoch, record.who
        elif isinstance(record, Did) and isinstance(record.operation, WriteOwnership):
            epoch, who = record.operation.epoch, record.who
            in_ownership = epoch
        elif isinstance(record, Did) and isinstance(record.operation, WriteCheckpoint):
            epoch, who = record.operation.epoch, record.who
            # A late create finds the place free where a hand has deleted the checkpoint.
            is_free = in_checkpoint == 0 and record.operation.etag is None
            if epoch < top and not is_free:
                yield Violation(
                    NAME,
                    record.at,
                    f"{partition}: {who} checkpointed with epoch {epoch} after epoch {top} had",
                )
            in_checkpoint, top = epoch, max(top, epoch)
        if epoch and epoch not in lost and belongs.setdefault(epoch, who) != who:
            yield Violation(
                NAME, record.at, f"{partition}: epoch {epoch} is {belongs[epoch]}'s and {who}'s"
            )
