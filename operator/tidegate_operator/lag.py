"""How far a group is behind, partition by partition, from what is known without asking. Pure.

Rules:
- Where a partition ends is said by its owner's figures, or by the source where nobody owns it. A
  figure of a member that does not own the partition, or one older than a minute, counts for
  nothing; neither does an end of the source that is older.
- What is handled is what the owner says or what the checkpoint says, whichever is more. Without a
  checkpoint the lag is estimated from the start; without a listing that is fresh, it is unknown.
- If a partition has no reader, only the source can give its end. This holds for a partition without
  an owner, for one that its owner cannot read, and for a paused one. An end from before does not
  count, because events have arrived since.
- The lag of a position that the source does not know is unknown.
- One partition's failure is its own: the total says of how many partitions it is the sum.

`GroupLag` is also what is remembered from one look to the next, so that a partition that is being
moved keeps its end, an idle hour does not count as waiting, and it can be told for how long a
partition has had nobody who reads it. After a restart it is built anew within a look or two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tidegate.balance.listed import is_foreign_owned
from tidegate.lag import (
    UNKNOWN_LAG,
    Lag,
    LagKind,
    TotalLag,
    in_feed,
    lag_from_start,
    lag_of,
    rough,
    total,
)
from tidegate.ledger import survey
from tidegate.ledger.findings import FOREIGN_ALIVE_S, natural
from tidegate.model import Figures, Listing, MemberName, PartitionId, Presence
from tidegate.ports import lost_position
from tidegate.ports.lineage import FLAT, Tiling, place_in
from tidegate.sources.start import Start
from tidegate_operator.model import Observation

# What is older than this is not said any more.
COUNTS_S = 60.0
# A partition without an owner for less than the first is in a handover. It keeps an end that is
# younger than the second.
_ON_ITS_WAY_S, _KEPT_S = 5.0, 15.0
_NOTHING = Listing({}, {}, {}, None, 0.0)
NONE: frozenset[PartitionId] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownEnd:
    """Where a partition ended, and when by the operator's clock."""

    sequence: int
    known_at: float
    enqueued_at: float | None = None
    begins_at: int | None = None
    # The operator has it from the source, not from a member.
    is_of_source: bool = False


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The lag of a partition, and what it was counted from."""

    lag: Lag
    handled: int | None = None
    # The first event that the source still has, where it or the owner said so.
    begins_at: int | None = None
    # Events were lost, now or a while ago: the owner says so for some minutes.
    is_lossy: bool = False
    # Events that its owner has put aside, where that says so.
    put_aside: int | None = None


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The lag of all partitions that are known, in the order of their numbers."""

    partitions: Mapping[PartitionId, PartitionLag]
    total: TotalLag
    # Remembered: the newest end of each, and when nothing waited in it, by the operator's clock.
    ends: Mapping[PartitionId, KnownEnd] = field(default_factory=lambda: MappingProxyType({}))
    clear_at: Mapping[PartitionId, float] = field(default_factory=lambda: MappingProxyType({}))
    # Since when nobody reads a partition that is to be read.
    unowned_since: Mapping[PartitionId, float] = field(default_factory=lambda: MappingProxyType({}))
    # The time since which a partition has no reader: it has no owner, or an owner that cannot read.
    unread_since: Mapping[PartitionId, float] = field(default_factory=lambda: MappingProxyType({}))
    # The ones among them that are not in a handover.
    lonely: frozenset[PartitionId] = frozenset()
    # The ones that have an owner, which cannot read them.
    unreadable: frozenset[PartitionId] = frozenset()

    @property
    def has_unknown(self) -> bool:
        """Whether the lag of a partition is unknown."""
        return self.total.known < self.total.partitions

    @property
    def is_missed(self) -> bool:
        """Whether a partition without a reader should have one."""
        return any(p in self.unowned_since or p in self.unreadable for p in self.lonely)

    @property
    def lonely_since(self) -> float | None:
        """The time at which the latest of them lost its reader; None without any."""
        return max((self.unread_since[partition] for partition in self.lonely), default=None)


def lag_of_group(observation: Observation, start: Start, before: GroupLag | None) -> GroupLag:
    """The lag as it is known now; `before` is the answer of the look before this one."""
    listing = listing_of(observation)
    figures = dict(_figures(observation, listing)) if listing is not None else {}
    known = known_partitions(observation)
    owners = owners_of(listing, known) if listing is not None else {}
    unreadable = unreadable_partitions(listing, owners)
    unread_since = _unread_since(observation, listing, known, owners.keys() - unreadable, before)
    lonely = frozenset(
        partition
        for partition, since in unread_since.items()
        if partition in unreadable or observation.now - since >= _ON_ITS_WAY_S
    )
    ends = _ends(observation, figures, before, unread_since, lonely)
    lost = _lost(observation, unreadable, ends, listing, lonely)
    known_clear = before.clear_at if before is not None else {}
    partitions: dict[PartitionId, PartitionLag] = {}
    clear_at: dict[PartitionId, float] = {}
    unsettled: frozenset[PartitionId] = NONE
    if listing is not None and observation.lineage is not FLAT:
        tiling = tiling_of(observation)
        unsettled = tiling.unsettled
        places = {p: place_in(observation.lineage, tiling, listing, p) for p in known}
        checkpoints = {p: place for p, place in places.items() if place is not None}
        listing = replace(listing, checkpoints=checkpoints)
    for partition in known:
        clear = known_clear.get(partition)
        if clear is not None and clear > observation.now:
            clear = None  # the clock was set back since
        found = _partition(
            partition, listing, figures.get(partition), ends.get(partition), clear, start,
            observation.now,
        )  # fmt: skip
        if partition in lost:
            found = replace(found, lag=UNKNOWN_LAG, is_lossy=False)
        if partition in unsettled:
            found = replace(found, lag=rough(found.lag))
        if observation.lineage is not FLAT:
            found = replace(found, lag=in_feed(found.lag))
        partitions[partition] = found
        clear = _clear_at(found, ends.get(partition), clear)
        if clear is not None:
            clear_at[partition] = clear
    return GroupLag(
        partitions=partitions,
        total=total(each.lag for each in partitions.values()),
        ends={partition: ends[partition] for partition in partitions if partition in ends},
        clear_at=clear_at,
        unowned_since=_unowned_since(observation, listing, known, owners, before),
        unread_since=unread_since,
        lonely=lonely,
        unreadable=frozenset(unreadable),
    )


# --- what is known


def told_figures(observation: Observation) -> dict[PartitionId, Figures]:
    """What living owners say of what they own, where that is not too long ago."""
    listing = listing_of(observation)
    told = _figures(observation, listing) if listing is not None else ()
    return {partition: figures for partition, (figures, _) in told}


def listing_of(observation: Observation) -> Listing | None:
    """The listing, if it is fresh enough to say how things are."""
    view = observation.ledger
    if view is None or not view.is_of(observation.now, COUNTS_S):
        return None
    return view.listing


def known_partitions(observation: Observation) -> list[PartitionId]:
    """All that the ledger, its members or the source know of, in the order of their numbers."""
    of_source = observation.ends.partitions if observation.ends is not None else {}
    listing = observation.listing
    if observation.lineage is not FLAT:
        flawed = {flaw.partition for flaw in listing.flaws if flaw.partition} if listing else set()
        return sorted({*tiling_of(observation).partitions, *flawed}, key=natural)
    if listing is None:
        return sorted(of_source, key=natural)
    return survey.known_partitions(listing, of_source)


def tiling_of(observation: Observation) -> Tiling:
    """Which partitions there are, where they come and go."""
    known = observation.ends.known if observation.ends is not None else ()
    return observation.lineage.tiling(known, observation.listing or _NOTHING)


def paused_partitions(observation: Observation) -> frozenset[PartitionId]:
    """Those that nobody is to read."""
    roster = observation.listing.roster if observation.listing is not None else None
    if observation.wish.is_paused or (roster is not None and roster.is_paused):
        return frozenset(known_partitions(observation))
    return observation.wish.paused_partitions | (roster.paused if roster else NONE)


def owner_of(listing: Listing, partition: PartitionId) -> MemberName | None:
    """Who reads it: by the leases, or another kind of processor that gave a sign of life."""
    row = listing.ownerships.get(partition)
    if row is None or row.owner is None:
        return None
    is_owned = row.lease.is_held or is_foreign_owned(listing, partition, FOREIGN_ALIVE_S)
    return row.owner.name if is_owned else None


def owners_of(listing: Listing, partitions: Iterable[PartitionId]) -> dict[PartitionId, MemberName]:
    """The owner of each partition that has one."""
    found = ((partition, owner_of(listing, partition)) for partition in partitions)
    return {partition: owner for partition, owner in found if owner is not None}


def unreadable_partitions(
    listing: Listing | None, owners: Mapping[PartitionId, MemberName]
) -> dict[PartitionId, Presence]:
    """The partitions that their owners report as unreadable, with these owners."""
    members = listing.members if listing is not None else {}
    return {
        partition: members[owner]
        for partition, owner in owners.items()
        if owner in members and partition in members[owner].unread
    }


def _figures(
    observation: Observation, listing: Listing
) -> Iterator[tuple[PartitionId, tuple[Figures, float]]]:
    """What owners say of what they own, and when they said it by the operator's clock.

    An age is a difference on the storage service's clock, to which the listing's own age is added,
    which is one on the operator's: no two clocks are compared.
    """
    asked_at = observation.ledger.asked_at if observation.ledger is not None else observation.now
    for partition, row in listing.ownerships.items():
        presence = listing.members.get(row.owner.name) if row.owner is not None else None
        if presence is None or row.owner is None or not row.lease.is_held:
            continue
        is_of_this_life = presence.is_alive and presence.incarnation == row.owner.incarnation
        said_at = asked_at - max(listing.server_time - presence.figures_at, 0.0)
        if is_of_this_life and observation.now - said_at <= COUNTS_S:
            found = presence.figures.get(partition)
            if found is not None:
                yield partition, (found, said_at)


def _ends(
    observation: Observation,
    figures: Mapping[PartitionId, tuple[Figures, float]],
    before: GroupLag | None,
    unread_since: Mapping[PartitionId, float],
    lonely: frozenset[PartitionId],
) -> dict[PartitionId, KnownEnd]:
    """The newest known end of each partition that still counts.

    One of the future was told before the clock was set back, and hides none that is told now.
    """
    now, ends = observation.now, dict[PartitionId, KnownEnd]()

    def note(partition: PartitionId, end: KnownEnd) -> None:
        since, known = unread_since.get(partition), ends.get(partition)
        if since is not None and not _counts(end, since, now, is_lonely=partition in lonely):
            return
        if known is None or known.known_at <= end.known_at:
            ends[partition] = end

    for partition, remembered in before.ends.items() if before is not None else ():
        if remembered.known_at <= now:
            note(partition, remembered)

    for partition, (found, said_at) in figures.items():
        if found.end is not None:
            note(partition, KnownEnd(found.end, said_at, begins_at=found.begins_at))
    for partition, said in observation.ends.partitions.items() if observation.ends else ():
        if said is not None and observation.ends is not None:
            begins_at = observation.ends.begins.get(partition, said.begins_at)
            end = KnownEnd(
                said.sequence, said.known_at, said.enqueued_at, begins_at, is_of_source=True
            )
            note(partition, end)
    return {
        partition: end for partition, end in ends.items() if 0.0 <= now - end.known_at <= COUNTS_S
    }


def _counts(end: KnownEnd, unread_since: float, now: float, *, is_lonely: bool) -> bool:
    """Whether an end still counts for a partition without a reader."""
    if is_lonely:
        return end.is_of_source and end.known_at >= unread_since
    return end.is_of_source or now - end.known_at <= _KEPT_S


# --- one partition


def _partition(
    partition: PartitionId,
    listing: Listing | None,
    figures: tuple[Figures, float] | None,
    end: KnownEnd | None,
    clear_at: float | None,
    start: Start,
    now: float,
) -> PartitionLag:
    if listing is None:
        return PartitionLag(UNKNOWN_LAG)
    checkpoint = listing.checkpoints.get(partition)
    said, said_at = figures if figures is not None else (Figures(), now)
    sequence = end.sequence if end is not None else None
    begins_at = end.begins_at if end is not None else None
    enqueued_at = end.enqueued_at if end is not None else None
    stored = checkpoint.position.sequence if checkpoint is not None else None
    handled = max((each for each in (said.handled, stored) if each is not None), default=None)
    if handled is None:
        if any(flaw.partition == partition for flaw in listing.flaws):
            return PartitionLag(UNKNOWN_LAG, begins_at=begins_at)
        lag = lag_from_start(
            start,
            end=sequence,
            begins_at=begins_at,
            end_enqueued_at=enqueued_at,
            clear_at=clear_at,
            now=now,
        )
        return PartitionLag(lag, begins_at=begins_at)
    lag = lag_of(
        handled=handled,
        end=sequence,
        begins_at=begins_at,
        handled_enqueued_at=checkpoint.enqueued_at if checkpoint is not None else None,
        clear_at=clear_at,
        end_enqueued_at=enqueued_at,
        now=now,
    )
    if lag.events and said.behind_s is not None:
        lag = replace(lag, behind_s=said.behind_s + max(now - said_at, 0.0))
    is_lossy = lag.kind is LagKind.LOST or said.begins_at is not None
    return PartitionLag(lag, handled, begins_at, is_lossy, said.put_aside)


def _clear_at(found: PartitionLag, end: KnownEnd | None, before: float | None) -> float | None:
    """The last moment at which nothing waited in the partition, as far as is known."""
    is_clear = found.lag.kind is LagKind.EXACT and found.lag.events == 0
    if end is None or not is_clear:
        return before
    return max(end.known_at, before or 0.0)


def _unowned_since(
    observation: Observation,
    listing: Listing | None,
    partitions: Sequence[PartitionId],
    owned: Collection[PartitionId],
    before: GroupLag | None,
) -> dict[PartitionId, float]:
    """Since when nobody has read each partition that is to be read."""
    since = before.unowned_since if before is not None else {}
    if listing is None:
        return dict(since)
    paused = paused_partitions(observation)
    return _since(since, (p for p in partitions if p not in paused and p not in owned), observation)


def _unread_since(
    observation: Observation,
    listing: Listing | None,
    partitions: Sequence[PartitionId],
    read: Collection[PartitionId],
    before: GroupLag | None,
) -> dict[PartitionId, float]:
    """The time since which each partition has no reader, paused ones included."""
    since = before.unread_since if before is not None else {}
    if listing is None:
        return dict(since)
    return _since(since, (p for p in partitions if p not in read), observation)


def _since(
    before: Mapping[PartitionId, float], partitions: Iterable[PartitionId], seen: Observation
) -> dict[PartitionId, float]:
    return {partition: min(before.get(partition, seen.now), seen.now) for partition in partitions}


def _lost(
    observation: Observation,
    unreadable: Mapping[PartitionId, Presence],
    ends: Mapping[PartitionId, KnownEnd],
    listing: Listing | None,
    lonely: frozenset[PartitionId],
) -> frozenset[PartitionId]:
    """The partitions with a stored position that the source does not know: by the report of the
    owner, by the answer of the source, or because it is beyond the last event."""
    of_source = observation.ends.lost if observation.ends is not None else {}
    by_owner = {p for p, member in unreadable.items() if lost_position(member.trouble)}
    is_flat = observation.lineage is FLAT
    checkpoints = listing.checkpoints if listing is not None and is_flat else {}
    beyond = {
        partition
        for partition in lonely & ends.keys() & checkpoints.keys()
        if checkpoints[partition].position.sequence > ends[partition].sequence
    }
    return frozenset({*of_source, *by_owner, *beyond})
