"""When leases are renewed. Pure; the runtime runs it on a thread and connection of its own.

Rules (2 of the safety rules): every third of a lease, counted from when the last renewal was sent;
a renewal that failed for want of an answer is tried again soon; one that was refused waits until
the member says what to keep; a partition whose reader gives no sign of life is renewed no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.member.messages import Keep
from tidegate.member.steps import LOST
from tidegate.model import PartitionId
from tidegate.ports import Refusal
from tidegate.settings import MemberSettings

_RETRY_S = 1.0


@dataclass(slots=True)
class Kept:
    """One lease that is renewed."""

    keep: Keep
    next_at: float
    is_in_flight: bool = False
    is_refused: bool = False


class Keeper:
    """The leases of one member, and when each is due."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._kept: dict[PartitionId, Kept] = {}

    def keep(self, keep: Keep) -> None:
        before = self._kept.get(keep.partition)
        since = keep.since
        if before is not None and before.keep.lease_id == keep.lease_id:
            since = max(since, before.next_at - self._settings.renew_every_s)
        self._kept[keep.partition] = Kept(keep, since + self._settings.renew_every_s)

    def let_go(self, partition: PartitionId) -> None:
        self._kept.pop(partition, None)

    def due(self, now: float, is_silent: Callable[[PartitionId], bool]) -> list[Keep]:
        """The leases to renew now; each is given once until its end is told."""
        ready = []
        for partition, kept in self._kept.items():
            is_waiting = kept.is_in_flight or kept.is_refused
            if is_waiting or now < kept.next_at:
                continue
            if is_silent(partition):
                # Looked at again soon, and not at every turn until then.
                kept.next_at = now + _RETRY_S
            else:
                kept.is_in_flight = True
                ready.append(kept.keep)
        return ready

    def ended(self, keep: Keep, sent_at: float, now: float, refusal: Refusal | None) -> None:
        """What came of a renewal."""
        kept = self._kept.get(keep.partition)
        if kept is None or kept.keep is not keep:
            return
        kept.is_in_flight = False
        if refusal is None:
            kept.next_at = sent_at + self._settings.renew_every_s
        elif refusal in LOST:
            kept.next_at = now + _RETRY_S
        else:
            kept.is_refused = True

    @property
    def wake_at(self) -> float:
        """When the next renewal is due."""
        return min(
            (
                kept.next_at
                for kept in self._kept.values()
                if not kept.is_in_flight and not kept.is_refused
            ),
            default=float("inf"),
        )
