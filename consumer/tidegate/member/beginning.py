"""How a tenure comes by its lease. Pure.

Rules (numbers as in docs/ledger.md):
- 1: a fresh lease id for each tenure; every call carries the ETag that was seen.
- 2: validity counts from when the call that starts the lease's clock was sent. A change of the id
  does not start it anew, so who takes up an old lease, or is given one, renews it first.
- A renewal proves nothing of the id: where a lease has ended, Azurite renews it whatever the id is.
  The epoch is written under the lease next, and that proves it.
"""

from __future__ import annotations

from tidegate.member.steps import FencedError, HaltedError, Script, Steps
from tidegate.model import Ownership, PartitionId
from tidegate.ports import Acquire, Change, CreateOwnership, ReadOwnership, Refusal, Renew

# A lease id, and when the call was sent that started the lease's clock.
Hold = tuple[str, float]


def claimed(steps: Steps, partition: PartitionId, etag: str, lease_id: str) -> Script[Hold]:
    """Takes a free lease; FencedError where somebody was quicker."""
    answer = yield from steps.insist(Acquire(partition, lease_id, etag))
    if answer.refusal is not None:
        raise FencedError("")
    return lease_id, answer.sent_at


def received(steps: Steps, partition: PartitionId, etag: str, lease_id: str) -> Script[Hold]:
    """Goes on with a lease that was changed to an id of ours; FencedError where it is gone."""
    renewed = yield from steps.insist(Renew(partition, lease_id, etag))
    if renewed.refusal is not None:
        raise FencedError("")
    return lease_id, renewed.sent_at


def taken_up(
    steps: Steps, partition: PartitionId, etag: str, old_lease_id: str, lease_id: str
) -> Script[Hold]:
    """Takes up a lease of this process's last life under a new id; FencedError where it is gone."""
    renewed = yield from steps.insist(Renew(partition, old_lease_id, etag))
    if renewed.refusal is not None:
        raise FencedError("")
    changed = yield from steps.insist(Change(partition, old_lease_id, lease_id, etag))
    if changed.refusal is not None:
        raise FencedError("")
    return lease_id, renewed.sent_at


def made_again(
    steps: Steps, partition: PartitionId, lease_id: str
) -> Script[tuple[Hold, Ownership]]:
    """Makes an ownership blob that was deleted, and takes it; also gives it as it was found.

    FencedError if another member was quicker: the member then announces its memory.
    """
    made = yield from steps.insist(CreateOwnership(partition))
    if made.refusal not in (None, Refusal.EXISTS):
        raise HaltedError(made.message)
    looked = yield from steps.insist(ReadOwnership(partition))
    row = looked.reply
    if not isinstance(row, Ownership) or row.lease.is_held:
        raise FencedError("its ownership was deleted, and another member has created it again")
    hold = yield from claimed(steps, partition, row.etag, lease_id)
    return hold, row
