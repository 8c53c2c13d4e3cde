"""The partitions that this member should be given: the lease ids it announced for them. Pure.

Rule 7: a member that should get a partition announces a fresh lease id for it. The owner changes
its lease to that id. Only asking shows that it has: the blob is read under that id again and again
(taking.py), which succeeds while the lease has it and never otherwise. A renewal would not do:
where the owner's lease has ended, Azurite renews it whatever the id, for the dead owner. A want
that is taken back is still tried for one lease period, because the owner may have acted on an older
listing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from tidegate.model import Ownership, PartitionId

# What fits the metadata of one blob, with room to spare.
MAX_WANTS = 96


@dataclass(frozen=True, slots=True)
class Want:
    """One announced lease id, and the ETag of the tenure that should give."""

    lease_id: str
    etag: str
    since: float
    # When it was taken back; None while it stands.
    withdrawn_at: float | None = None


class Wants:
    """All wants of a member."""

    def __init__(self, dice: Callable[[], str], lease_s: float) -> None:
        self._dice = dice
        self._lease_s = lease_s
        self._wants: dict[PartitionId, Want] = {}
        self._announced: Mapping[PartitionId, str] | None = {}

    def announced(self) -> Mapping[PartitionId, str]:
        """What the member blob shall say."""
        if self._announced is None:
            self._announced = {
                partition: want.lease_id
                for partition, want in self._wants.items()
                if want.withdrawn_at is None
            }
        return self._announced

    def tried(self) -> Mapping[PartitionId, Want]:
        """All ids that may have been given a lease by now."""
        return self._wants

    def is_any_since(self, moment: float) -> bool:
        """Whether one that stands was announced after this."""
        return any(
            want.withdrawn_at is None and want.since > moment for want in self._wants.values()
        )

    def update(
        self, wanted: Collection[PartitionId], rows: Mapping[PartitionId, Ownership], now: float
    ) -> None:
        """Wants these partitions of their owners, and no others."""
        if not wanted and not self._wants:
            return
        self._announced = None
        for partition, standing in list(self._wants.items()):
            want, row = standing, rows.get(partition)
            if want.withdrawn_at is not None and now - want.withdrawn_at >= self._lease_s:
                del self._wants[partition]
                continue
            if row is not None and row.etag != want.etag:
                # Another tenure. Its owner may have read the id that was announced to the last
                # one, so the id stays; only the patience begins anew.
                want = replace(want, etag=row.etag, since=now)
            if partition not in wanted and want.withdrawn_at is None:
                want = replace(want, withdrawn_at=now)
            self._wants[partition] = want
        for partition in sorted(wanted):
            row, known = rows.get(partition), self._wants.get(partition)
            if known is not None and known.withdrawn_at is not None:
                self._wants[partition] = replace(known, withdrawn_at=None, since=now)
            elif known is not None:
                continue
            elif row is not None and row.lease.is_held and len(self._wants) < MAX_WANTS:
                self._wants[partition] = Want(self._dice(), row.etag, now)

    def drop(self, partition: PartitionId) -> None:
        self._wants.pop(partition, None)
        self._announced = None

    def overdue(self, partition: PartitionId, now: float, limit_s: float) -> bool:
        """Whether the owner has had the whole hand-over limit, with one and the same tenure."""
        want = self._wants.get(partition)
        return want is not None and want.withdrawn_at is None and now - want.since >= limit_s
