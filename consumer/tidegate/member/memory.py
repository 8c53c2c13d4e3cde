"""What a member knows of the ledger, for when blobs of it are deleted. Pure.

Rules:
- While a ledger exists, a checkpoint does not go away, its epoch does not go down, and it is not
  begun again. If that is not so, blobs were deleted or restored, and memory goes
  before what is there. A checkpoint without an epoch is from another processor or a person: it
  says counts.
- The owner of a partition writes its blobs again (tenure.py). A member that has seen that it
  had an owner leaves it alone for one lease period.
- Who joins later has seen nothing, and may begin the partition at its start. So who remembers more
  than the ledger announces it, and the plan gives the partition to the member that remembers most.
- An owner's own writes are known with their state; a listing has no states.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidegate.member.fence import Progress, Remembered
from tidegate.model import Checkpoint, LeaseState, Listing, MemberName, PartitionId, Recalled
from tidegate.settings import MemberSettings

_LET_GO = (LeaseState.AVAILABLE, LeaseState.BROKEN)


class Memory:
    """See the module."""

    def __init__(self, settings: MemberSettings) -> None:
        self._name = settings.name
        self._lease_s = settings.lease_s
        # As tenures of ours left it, and when.
        self._own: dict[PartitionId, tuple[Remembered, float]] = {}
        # As listings showed it.
        self._seen: dict[PartitionId, Checkpoint] = {}
        # Who held each partition, with which epoch, and since when its ownership blob is gone.
        self._holders: dict[PartitionId, tuple[MemberName, int]] = {}
        self._gone_at: dict[PartitionId, float] = {}
        # When blobs were last found to be gone.
        self._emptied_at = float("-inf")
        self.server_time: float | None = None
        # Since when the ledger has less than this member remembers.
        self._beyond_at: dict[PartitionId, float] = {}

    def keep(self, partition: PartitionId, known: Remembered | None, now: float) -> None:
        """Keeps what a tenure of ours knew when it ended."""
        if known is not None and known.is_own:
            self._own[partition] = known, now

    def recall(self, partition: PartitionId) -> Remembered | None:
        """The newest that is known of a partition's checkpoint."""
        own, _ = self._own.get(partition, (None, 0.0))
        seen = self._seen.get(partition)
        if seen is None or (own is not None and own.epoch >= seen.epoch):
            return own
        progress = Progress(seen.position, seen.enqueued_at, None, seen.rewound_by, seen.begun_at)
        return Remembered(seen.epoch, progress, is_own=False, has_state=seen.has_state)

    def note_emptied(self, now: float) -> None:
        """An owner has found its own blobs gone."""
        self._emptied_at = now

    def is_emptied(self, now: float) -> bool:
        """Whether owners have had less than a lease period to write their blobs again.

        A partition that moved just before has an owner that this member does not know of.
        """
        return now - self._emptied_at < self._lease_s

    def is_left_to_owner(self, partition: PartitionId, now: float) -> bool:
        """Whether the ownership blob is gone, and its owner has time to make it again."""
        gone_at = self._gone_at.get(partition)
        is_others = self._holders.get(partition, (self._name, 0))[0] != self._name
        return gone_at is not None and is_others and now - gone_at < self._lease_s

    def see(
        self, listing: Listing, live: Collection[PartitionId], sent_at: float, now: float
    ) -> None:
        """Takes in a listing that was asked for at `sent_at`."""
        self.server_time = listing.server_time
        spoilt = {flaw.partition for flaw in listing.flaws}
        self._see_holders(listing, spoilt, now)
        for partition in self._seen.keys() | self._own.keys():
            if partition not in spoilt and self._is_beyond(partition, listing, sent_at):
                self._beyond_at.setdefault(partition, now)
            else:
                self._beyond_at.pop(partition, None)
        for partition, found in listing.checkpoints.items():
            self._see_checkpoint(partition, found, partition in live)

    def _see_holders(
        self, listing: Listing, spoilt: Collection[PartitionId | None], now: float
    ) -> None:
        rows = listing.ownerships
        for partition, row in rows.items():
            _, epoch = self._holders.get(partition, ("", 0))
            if row.epoch < epoch and not row.is_foreign:
                # Created again, and not yet by the member that had it.
                self._note_gone(partition, now)
                continue
            self._gone_at.pop(partition, None)
            if row.lease.is_held and row.owner is not None:
                self._holders[partition] = row.owner.name, row.epoch
            elif row.lease in _LET_GO:
                self._holders.pop(partition, None)
        for partition in self._holders.keys() - rows.keys() - set(spoilt):
            self._note_gone(partition, now)

    def _note_gone(self, partition: PartitionId, now: float) -> None:
        if partition not in self._gone_at:
            self._gone_at[partition] = self._emptied_at = now

    def _see_checkpoint(self, partition: PartitionId, found: Checkpoint, is_live: bool) -> None:
        known = self._seen.get(partition)
        if found is known or (known is not None and found.is_before(known.epoch, known.begun_at)):
            return
        self._seen[partition] = found
        if found.epoch <= 0 and not is_live:
            # A write by another processor or a person counts if no member read the partition then.
            self._own.pop(partition, None)

    def _is_beyond(self, partition: PartitionId, listing: Listing, sent_at: float) -> bool:
        found, seen = listing.checkpoints.get(partition), self._seen.get(partition)
        own, kept_at = self._own.get(partition, (None, 0.0))
        is_sure = own is not None and kept_at < sent_at
        if found is None:
            return is_sure or seen is not None
        if own is not None and is_sure and found.is_before(own.epoch, own.progress.begun_at):
            return True
        return seen is not None and found.is_before(seen.epoch, seen.begun_at)

    def recalled(
        self, partitions: Collection[PartitionId], live: Collection[PartitionId], now: float
    ) -> Mapping[PartitionId, Recalled]:
        """Checkpoints that this member announces: they are missing in the ledger."""
        found: dict[PartitionId, Recalled] = {}
        for partition, since in self._beyond_at.items():
            known = self.recall(partition)
            if known is None or partition in live or partition not in partitions:
                continue
            # Its owner knows more, and has the time to write it again.
            if not known.is_own and now - since < self._lease_s:
                continue
            progress = known.progress
            found[partition] = Recalled(
                known.epoch, progress.position.sequence, known.is_own, progress.begun_at
            )
        return found
