"""Reads whole what nobody reads any more: whether a state stands behind its position.

Rules: a listing has no bodies, and so cannot show it. Only the checkpoints of partitions that have
had no owner for a while are read, a few in a round, and each again only when it has changed. Of a
state it is kept that there is one: a group whose size is 0 may have a gigabyte of them. Where one
read fails the round reads no other, and where storage has not answered yet it reads none, so that
storage that hangs does not keep it for long.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.model import Checkpoint, PartitionId
from tidegate.ports import LedgerError, ReadCheckpoint
from tidegate_operator.lag import GroupLag
from tidegate_operator.ledgers import Ledgers
from tidegate_operator.model import GroupKey, LedgerView

_UNOWNED_S = 10.0
_EVERY_S = 30.0
_IN_A_ROUND = 8


@dataclass(slots=True)
class Wholes:
    """The checkpoints of a group that were read whole, and when each was."""

    read: dict[PartitionId, tuple[float, Checkpoint | None]] = field(default_factory=dict)


async def with_wholes(
    ledgers: Ledgers,
    key: GroupKey,
    view: LedgerView | None,
    lag: GroupLag | None,
    wholes: Wholes,
    now: float,
) -> LedgerView | None:
    """The view, with what was read whole in the place of what the listing has."""
    if view is None or lag is None:
        return view
    listed = view.listing.checkpoints
    lonely = {
        partition
        for partition, since in lag.unowned_since.items()
        if now - since > _UNOWNED_S and partition in listed
    }
    for partition in wholes.read.keys() - lonely:
        del wholes.read[partition]
    due = sorted(
        partition
        for partition in lonely
        if _is_due(wholes.read.get(partition), listed[partition].etag, now)
    )
    for partition in due[:_IN_A_ROUND] if view.unanswered_since is None else ():
        try:
            found = await ledgers.read(key, ReadCheckpoint(partition))
        except LedgerError:
            # Why the ledger cannot be read is told by its listing.
            wholes.read[partition] = (now, None)
            break
        wholes.read[partition] = (now, _lightened(found))
    known = {
        partition: found
        for partition, (_, found) in wholes.read.items()
        if found is not None and found.etag == listed[partition].etag
    }
    if not known:
        return view
    return replace(view, listing=replace(view.listing, checkpoints={**listed, **known}))


def _is_due(before: tuple[float, Checkpoint | None] | None, etag: str, now: float) -> bool:
    if before is None:
        return True
    read_at, found = before
    return now - read_at >= _EVERY_S and (found is None or found.etag != etag)


def _lightened(found: object) -> Checkpoint | None:
    """A checkpoint that still says whether it has a state, and where that belongs."""
    if not isinstance(found, Checkpoint):
        return None
    return found if found.state is None else replace(found, state=b"")
