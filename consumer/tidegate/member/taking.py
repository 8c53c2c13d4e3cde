"""How a member comes by the partitions that the plan gives it. Pure.

Rules (numbers as in docs/ledger.md):
- 7: what is free is claimed; what a living member has is wanted of it. A held lease is broken only
  after the same tenure has stood through the whole hand-over limit.
- 8: ended leases are claimed only while storage is well (stall.py).
- Partitions that nobody has owned, and moves between members that stay, wait a moment for members
  that start together (gathering.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from tidegate.member.gathering import Gathering
from tidegate.member.messages import Answered, Command, Perform, Report
from tidegate.member.stall import StallWatch
from tidegate.member.tenures import Tenures
from tidegate.member.view import is_foreign_alive, is_new
from tidegate.member.wants import Wants
from tidegate.model import LeaseState, Listing, MemberName, Owner, Ownership, PartitionId
from tidegate.ports import Break, CreateOwnership, Renew
from tidegate.settings import MemberSettings


class Taking:
    """See the module."""

    def __init__(
        self,
        settings: MemberSettings,
        owner: Owner,
        tenures: Tenures,
        dice: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._owner = owner
        self._tenures = tenures
        self.stall = StallWatch(settings)
        self.gathering = Gathering(settings)
        self.wants = Wants(dice, settings.lease_s)
        self.joined_at: float | None = None
        self._trying: set[str] = set()
        self._creating: set[PartitionId] = set()

    def inherit(self, listing: Listing, leases: dict[PartitionId, str]) -> list[Command]:
        """Takes up the leases of this process's last life; nobody else moves (rule 9)."""
        commands: list[Command] = []
        for partition, lease_id in leases.items():
            row = listing.ownerships.get(partition)
            if row is not None and row.owner is not None and row.owner.name == self._owner.name:
                commands += self._tenures.start(partition).adopt(row, lease_id)
        return commands

    def take(
        self,
        listing: Listing,
        planned: Collection[PartitionId],
        now: float,
        hurried: Collection[MemberName],
    ) -> list[Command]:
        """Claims what is free, wants what is held; what the hurried have, without waiting."""
        is_gathering = self.gathering.is_on(now)
        commands: list[Command] = []
        wanted: set[PartitionId] = set()
        for partition in sorted(planned):
            row = listing.ownerships.get(partition)
            if self._tenures.is_halted(partition, now):
                continue
            if row is None:
                commands += self._create(partition, now)
            elif row.lease.is_held:
                owner = row.owner.name if row.owner is not None else None
                may_wait = owner not in hurried and partition not in self.wants.announced()
                if owner not in (None, self._owner.name) and not (is_gathering and may_wait):
                    wanted.add(partition)
            elif self._may_claim(row, listing, now):
                checkpoint = listing.checkpoints.get(partition)
                commands += self._tenures.start(partition).acquire(row, checkpoint)
        self.wants.update(wanted, listing.ownerships, now)
        return commands + self._break_overdue(listing, wanted, now)

    def _break_overdue(
        self, listing: Listing, wanted: Collection[PartitionId], now: float
    ) -> list[Command]:
        commands: list[Command] = []
        limit_s = self._settings.hand_over_limit_s
        for partition in sorted(wanted):
            if self.wants.overdue(partition, now, limit_s):
                row = listing.ownerships[partition]
                commands.append(Perform(None, Break(partition, row.etag)))
                text = f"{row.owner} did not give it within {limit_s:g} s"
                commands.append(Report("taken", partition, text))
        return commands

    def _create(self, partition: PartitionId, now: float) -> list[Command]:
        if partition in self._creating or not self._may_begin(now):
            return []
        self._creating.add(partition)
        return [Perform(None, CreateOwnership(partition))]

    def on_created(self, partition: PartitionId) -> bool:
        """Says whether all that were to be made have been tried."""
        self._creating.discard(partition)
        return not self._creating

    def _may_begin(self, now: float) -> bool:
        return self.joined_at is not None and (
            now - self.joined_at >= self._settings.newcomer_grace_s
        )

    def _may_claim(self, row: Ownership, listing: Listing, now: float) -> bool:
        if is_new(row) and not self._may_begin(now):
            return False
        if is_foreign_alive(row, listing, self._settings):
            return False
        return row.lease is not LeaseState.EXPIRED or self.stall.may_claim_ended(now)

    # --- being given

    def try_wants(self) -> list[Command]:
        """Renews each id that was announced: it works once the owner has changed its lease."""
        commands: list[Command] = []
        for partition, want in self.wants.tried().items():
            if want.lease_id not in self._trying and partition not in self._tenures.live:
                self._trying.add(want.lease_id)
                commands.append(Perform(None, Renew(partition, want.lease_id, want.etag)))
        return commands

    def on_tried(self, listing: Listing | None, operation: Renew, event: Answered) -> list[Command]:
        """Begins with a lease that turned out to be ours."""
        partition, lease_id = operation.partition, operation.lease_id
        self._trying.discard(lease_id)
        want = self.wants.tried().get(partition)
        if event.refusal is not None or want is None or want.lease_id != lease_id:
            return []
        self.wants.drop(partition)
        row = listing.ownerships.get(partition) if listing is not None else None
        if row is None or listing is None or partition in self._tenures.live:
            return []
        row = replace(row, etag=want.etag)
        checkpoint = listing.checkpoints.get(partition)
        tenure = self._tenures.start(partition)
        return tenure.receive(row, lease_id, checkpoint, event.sent_at)
