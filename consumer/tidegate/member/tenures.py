"""All tenures of one member, and what is left of them when they end. Pure.

Rules:
- At most one tenure of a partition at a time; a serial tells one from the next.
- What was given away counts as the receiver's while its lease lasts; if it runs out untaken, it is
  nobody's.
- A partition whose handler hangs is declined until the call comes back, or this member owns it
  again; five minutes at the most, since nobody may ever hear of the call again.
- Epochs are remembered beyond the tenure, so that ours go up even where all blobs were deleted;
  so is how far the partition had come (memory.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.member.heritage import NO_ORIGIN, Origin
from tidegate.member.memory import Memory
from tidegate.member.messages import Command, Event, ReaderGaveUp, Woken
from tidegate.member.steps import NEVER
from tidegate.member.tenure import Tenure
from tidegate.model import Listing, MemberName, Owner, PartitionId
from tidegate.ports.lineage import FLAT, Lineage, Tiling
from tidegate.settings import MemberSettings

# A partition whose ledger rows were not ours to read is left alone this long.
_HALT_S = 30.0
_DECLINE_S = 300.0


class Tenures:
    """See the module."""

    def __init__(
        self,
        settings: MemberSettings,
        owner: Owner,
        dice: Callable[[], str],
        lineage: Lineage = FLAT,
    ) -> None:
        self._settings = settings
        self._lineage = lineage
        self.memory = Memory(settings)
        # What begins where others ended.
        self.origins: dict[PartitionId, Origin] = {}
        self._owner = owner
        self._dice = dice
        self.live: dict[PartitionId, Tenure] = {}
        # Given away: to whom, and the ETag that the ownership blob had.
        self.given: dict[PartitionId, tuple[MemberName, str]] = {}
        self.wake_at = NEVER
        self._serial = 0
        self._epochs: dict[PartitionId, int] = {}
        self._halted_until: dict[PartitionId, float] = {}
        # By which tenure, and until when.
        self._declined: dict[PartitionId, tuple[int, float]] = {}
        self._touched: set[PartitionId] = set()

    def start(self, partition: PartitionId) -> Tenure:
        """A tenure that has yet to begin."""
        self._serial += 1
        floor = self._epochs.get(partition, 0)
        tenure = Tenure(
            self._settings,
            self._owner,
            partition,
            self._serial,
            self._dice,
            floor,
            self._lineage,
            self.origins.get(partition, NO_ORIGIN),
            self.memory.recall(partition),
            self.memory.server_time,
        )
        self.live[partition] = tenure
        self._declined.pop(partition, None)
        self._touched.add(partition)
        return tenure

    def touch(self, partition: PartitionId) -> Tenure:
        """The tenure, which is about to be told something."""
        self._touched.add(partition)
        return self.live[partition]

    def tell(self, partition: PartitionId, serial: int | None, event: Event) -> list[Command]:
        """Tells a tenure, if it is still the one that is meant."""
        tenure = self.live.get(partition)
        if tenure is None or serial not in (None, tenure.serial):
            return []
        self._touched.add(partition)
        if isinstance(event, ReaderGaveUp):
            self._declined[partition] = tenure.serial, event.now + _DECLINE_S
        return tenure.handle(event)

    def on_returned(self, partition: PartitionId, serial: int) -> None:
        """What hung in a tenure has come back."""
        if self._declined.get(partition, (None, 0.0))[0] == serial:
            del self._declined[partition]

    def declined(self, now: float) -> frozenset[PartitionId]:
        """What this member cannot handle for now."""
        return frozenset(p for p, (_, until) in self._declined.items() if now < until)

    def on_time(self, now: float) -> list[Command]:
        if now < self.wake_at:
            return []
        commands: list[Command] = []
        for partition, tenure in list(self.live.items()):
            if now >= tenure.wake_at:
                self._touched.add(partition)
                commands += tenure.handle(Woken(now))
        return commands

    def settle(self, now: float) -> bool:
        """Forgets the tenures that are over; says whether there were any."""
        if not self._touched:
            return False
        has_ended = False
        for partition in self._touched:
            tenure = self.live.get(partition)
            if tenure is not None and tenure.is_over:
                has_ended = True
                self._forget(partition, tenure, now)
        self._touched.clear()
        self.wake_at = min((tenure.wake_at for tenure in self.live.values()), default=NEVER)
        return has_ended

    def _forget(self, partition: PartitionId, tenure: Tenure, now: float) -> None:
        del self.live[partition]
        self._epochs[partition] = max(tenure.epoch, self._epochs.get(partition, 0))
        self.memory.keep(partition, tenure.memory, now)
        if tenure.given is not None:
            self.given[partition] = tenure.given
        if tenure.was_halted:
            self._halted_until[partition] = now + _HALT_S

    def see(self, listing: Listing, tiling: Tiling) -> None:
        """A listing that shows the receiver's own write ends what we know better."""
        ends = listing.checkpoints
        self.origins = {
            partition: Origin(parents, max(ends[parent].epoch for parent in parents))
            for partition, parents in tiling.parents.items()
        }
        if self.given:
            rows = listing.ownerships
            self.given = {
                partition: given
                for partition, given in self.given.items()
                if (row := rows.get(partition)) is not None and row.etag == given[1]
            }

    def look_for_blobs(self, listing: Listing, sent_at: float, now: float) -> list[Command]:
        """Has tenures write again what a listing no longer shows."""
        commands: list[Command] = []
        spoilt = {flaw.partition for flaw in listing.flaws}
        for partition, tenure in list(self.live.items()):
            is_owned = partition in listing.ownerships
            is_checkpointed = partition in listing.checkpoints
            if (is_owned and is_checkpointed) or partition in spoilt:
                continue
            self._touched.add(partition)
            commands += tenure.see_missing(
                ownership=not is_owned, checkpoint=not is_checkpointed, sent_at=sent_at, now=now
            )
        return commands

    def is_halted(self, partition: PartitionId, now: float) -> bool:
        return now < self._halted_until.get(partition, 0.0)

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return any(not tenure.is_settled for tenure in self.live.values())

    def owned(self) -> list[PartitionId]:
        return [partition for partition, tenure in self.live.items() if not tenure.is_given]

    def leases(self) -> Mapping[PartitionId, str]:
        """The lease of each tenure that has one."""
        return {p: tenure.lease_id for p, tenure in sorted(self.live.items()) if tenure.lease_id}
