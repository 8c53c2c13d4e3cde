"""A tenure whose time is up by our own clock waits here, without reading. Pure.

Rules (2 of the safety rules): only a renewal brings it back, and then with a new epoch; a refused
one ends it, unless the blob has changed by a write of our own whose reply was lost, or is gone.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.member.fence import Fence
from tidegate.member.messages import RenewalRefused, Renewed
from tidegate.member.steps import FencedError, GoneError, Script, Steps
from tidegate.model import Ownership, PartitionId
from tidegate.ports import ReadOwnership


def until_renewed(
    steps: Steps,
    fence: Fence,
    partition: PartitionId,
    keep: Callable[[], None],
    valid_until: Callable[[], float],
) -> Script[None]:
    """Waits until the keeper has renewed the lease. Raises FencedError where somebody has it."""
    # Said again, because the keeper waits for a word where it was refused meanwhile.
    keep()
    while True:
        event = yield
        if isinstance(event, Renewed) and event.now < valid_until() < float("inf"):
            return
        if isinstance(event, RenewalRefused) and event.etag == fence.etag:
            yield from _look_again(steps, fence, partition)
            keep()


def _look_again(steps: Steps, fence: Fence, partition: PartitionId) -> Script[None]:
    """A refused renewal after a write of ours whose reply was lost is no proof."""
    looked = yield from steps.insist(ReadOwnership(partition))
    row = looked.reply
    if looked.refusal is None and (not isinstance(row, Ownership) or fence.is_anew(row)):
        raise GoneError
    if not isinstance(row, Ownership) or row.etag == fence.etag:
        raise FencedError("the lease was lost")
    if not fence.is_raising or row.owner != fence.owner:
        raise FencedError("somebody else owns the partition")
    fence.etag = row.etag
