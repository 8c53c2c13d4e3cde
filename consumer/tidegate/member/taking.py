"""How a member comes by the partitions that the plan gives it. Pure.

Rules (numbers as in docs/ledger.md):
- 7: what is free is claimed; what a living member has is wanted of it. A held lease is broken only
  after the same tenure has stood through the whole hand-over limit.
- An id that was announced a moment ago is tried often, because the partition lies idle from when
  its owner has drained it until a try succeeds; one that has waited longer is tried at the ticks.
- 8: ended leases are claimed only while storage is well (stall.py).
- Partitions that nobody has owned since the group started, and moves between members that stay,
  wait a moment for members that start together (gathering.py). Whom the roster expects need not
  wait for the others to show: the plan keeps their part. It does wait where the ledger knows
  nothing of a partition: the ledger may have been emptied, and its owner writes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tidegate.balance.listed import new_partitions
from tidegate.member.flaws import unreadable
from tidegate.member.gathering import Gathering
from tidegate.member.messages import Answered, Command, Perform, Report
from tidegate.member.stall import StallWatch
from tidegate.member.steps import NEVER
from tidegate.member.tenures import Tenures
from tidegate.member.view import Sight
from tidegate.member.wants import Wants
from tidegate.model import LeaseState, Listing, MemberName, Owner, Ownership, PartitionId
from tidegate.ports import Break, CreateOwnership, ReadOwnership
from tidegate.settings import MemberSettings

_TRY_EVERY_S = 0.1
_TRY_OFTEN_FOR_S = 3.0


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
        # When the ids that were announced a moment ago are tried next.
        self.wake_at = NEVER
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
        sight: Sight,
        planned: Collection[PartitionId],
        now: float,
        hurried: Collection[MemberName],
    ) -> list[Command]:
        """Claims what is free, wants what is held; what the hurried have, without waiting."""
        listing, is_gathering = sight.listing, self.gathering.is_on(now)
        is_expected = self._owner.name in sight.roster.expected
        may_begin = is_expected or self._may_begin(now)
        early = frozenset() if may_begin else new_partitions(listing, planned)
        if not self._may_begin(now):
            early |= {partition for partition in planned if _is_unknown(partition, listing)}
        early -= self._tenures.origins.keys()
        commands: list[Command] = []
        wanted: set[PartitionId] = set()
        rewinds = {rewind.partition: rewind for rewind in sight.roster.rewinds}
        spoilt = unreadable(listing)
        for partition in sorted(planned):
            row = listing.ownerships.get(partition)
            if self._tenures.is_halted(partition, now) or partition in early:
                continue
            if self._is_left_to_owner(partition, listing, now):
                continue
            if row is None:
                if partition not in spoilt:
                    commands += self._create(partition)
            elif row.lease.is_held:
                owner = row.owner.name if row.owner is not None else None
                may_wait = owner not in hurried and partition not in self.wants.announced()
                if owner not in (None, self._owner.name) and not (is_gathering and may_wait):
                    wanted.add(partition)
            elif row.lease is not LeaseState.EXPIRED or self.stall.may_claim_ended(now):
                checkpoint = listing.checkpoints.get(partition)
                rewind = rewinds.get(partition)
                commands += self._tenures.start(partition).acquire(row, checkpoint, rewind)
        self.wants.update(wanted, listing.ownerships, now)
        return commands + self._break_overdue(listing, wanted, now)

    def _is_left_to_owner(self, partition: PartitionId, listing: Listing, now: float) -> bool:
        """Whether its blobs were deleted, and its owner, known or not, has time to restore them."""
        memory = self._tenures.memory
        is_emptied = memory.is_emptied(now) and _is_unknown(partition, listing)
        return is_emptied or memory.is_left_to_owner(partition, now)

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

    def _create(self, partition: PartitionId) -> list[Command]:
        if partition in self._creating:
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

    # --- being given

    def on_time(self, now: float) -> list[Command]:
        """Tries again what was announced a moment ago."""
        return self.try_wants(now, since=now - _TRY_OFTEN_FOR_S) if now >= self.wake_at else []

    def try_wants(self, now: float, since: float = float("-inf")) -> list[Command]:
        """Reads under each id announced after `since`: done once the lease was changed to it."""
        commands: list[Command] = []
        for partition, want in self.wants.tried().items():
            is_free = want.lease_id not in self._trying and partition not in self._tenures.live
            # What is announced only now cannot have been given yet.
            if is_free and since < want.since < now:
                self._trying.add(want.lease_id)
                commands.append(Perform(None, ReadOwnership(partition, want.lease_id)))
        is_fresh = self.wants.is_any_since(now - _TRY_OFTEN_FOR_S)
        self.wake_at = now + _TRY_EVERY_S if is_fresh else NEVER
        return commands

    def on_tried(
        self, sight: Sight | None, operation: ReadOwnership, event: Answered
    ) -> list[Command]:
        """Begins with a lease that turned out to be ours."""
        partition, lease_id, row = operation.partition, operation.lease_id, event.reply
        self._trying.discard(lease_id or "")
        want = self.wants.tried().get(partition)
        if not isinstance(row, Ownership) or want is None or want.lease_id != lease_id:
            return []
        self.wants.drop(partition)
        if sight is None or partition in self._tenures.live:
            return []
        checkpoint = sight.listing.checkpoints.get(partition)
        return self._tenures.start(partition).receive(row, want.lease_id, checkpoint)


def _is_unknown(partition: PartitionId, listing: Listing) -> bool:
    """Whether the ledger does not say that anybody ever read it."""
    row = listing.ownerships.get(partition)
    return (row is None or row.epoch <= 0) and partition not in listing.checkpoints
