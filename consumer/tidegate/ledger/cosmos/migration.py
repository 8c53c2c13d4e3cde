"""Moving a processor's state between its leases and a group's ledger: what to write. Pure.

Rules:
- Nothing is read again and nothing is passed over: each position is carried over as it stands, and
  where a lease cannot say one to the event, it says what comes before it.
- All is looked at before anything is written: whoever lives on either side, positions that stand
  there already, ranges that are missing or cannot have a lease, states that a lease cannot hold.
  What was not allowed by name is refused, with all that is wrong at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tidegate.ledger.cosmos.dialects import Boundary
from tidegate.ledger.cosmos.leases_seen import Leases
from tidegate.ledger.cosmos.positions import lsn_of, position_of, stand_of
from tidegate.ledger.cosmos.shared_view import has_ended
from tidegate.model import Checkpoint, Listing, PartitionId, Position
from tidegate.ports import WriteCheckpoint
from tidegate.sources.cosmos.places import PlaceError
from tidegate.sources.cosmos.ranges import WHOLE, gaps, is_tiled, range_of

_NONCE = "migrated"
NONE_UNFIT: Mapping[PartitionId, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the caller allows by name."""

    even_if_alive: bool = False
    overwrite: bool = False
    without_state: bool = False


class MigrationRefused(Exception):
    """It was not done; the message has everything that stands in its way."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("nothing was written:\n" + "\n".join(f"  - {each}" for each in reasons))


@dataclass(frozen=True, slots=True)
class ToLedger:
    """What to write into the group's ledger."""

    writes: tuple[WriteCheckpoint, ...]
    # Ranges that were never read: they begin where the group's start says.
    unread: tuple[PartitionId, ...]
    # Those whose position stands in the ledger already.
    same: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True)
class ToLeases:
    """What to write into the lease container: an ETag of the feed for each range."""

    etags: Mapping[PartitionId, str | None]
    # Leases of other ranges, which go.
    gone: tuple[Boundary, ...]
    # Whose first events are handled already, and will be read again.
    within_page: tuple[PartitionId, ...]


def to_ledger(
    leases: Leases, listing: Listing, rid: str, allowed: Allowed, alive: Callable[[Boundary], bool]
) -> ToLedger:
    """From leases to a group's ledger. Raises MigrationRefused."""
    reasons = [flaw.problem for flaw in leases.flaws] + _uncovered(leases.by_partition)
    reasons += _hosts_alive(leases, allowed, alive) + _group_alive(listing, allowed)
    writes: list[WriteCheckpoint] = []
    same: list[PartitionId] = []
    unread: list[PartitionId] = []
    other = sorted(listing.checkpoints.keys() - leases.by_partition.keys())
    if other:
        reasons.append(
            f"the group's ledger has checkpoints of other ranges ({_some(other)}), which would be "
            "read beside these: migrate to a group of another name"
        )
    for partition, lease in sorted(leases.by_partition.items()):
        range, stands = range_of(partition), listing.checkpoints.get(partition)
        assert range is not None
        if lease.etag is None:
            unread.append(partition)
            continue
        position = position_of(lease.etag, range, rid)
        if stands is not None and _is_at(stands, lease.etag, partition, rid):
            same.append(partition)
            continue
        if stands is not None and not allowed.overwrite:
            reasons.append(
                f"partition {partition} has a checkpoint in the ledger already, at "
                f"{stands.position.sequence}, and its lease says {position.sequence}: "
                "--overwrite writes over it"
            )
        row = listing.ownerships.get(partition)
        epochs = (stands.epoch if stands is not None else 0, row.epoch if row is not None else 0)
        etag = stands.etag if stands is not None else None
        writes.append(WriteCheckpoint(partition, etag, position, max(epochs), _NONCE))
    if reasons:
        raise MigrationRefused(reasons)
    return ToLedger(tuple(writes), tuple(unread), tuple(same))


def to_leases(
    listing: Listing,
    states: Mapping[PartitionId, bytes | None],
    leases: Leases,
    rid: str,
    allowed: Allowed,
    alive: Callable[[Boundary], bool],
    unfit: Mapping[PartitionId, str] = NONE_UNFIT,
) -> ToLeases:
    """From a group's ledger to leases. Raises MigrationRefused.

    `unfit` says of which partitions no lease can be made, and why.
    """
    living = {key: row for key, row in listing.checkpoints.items() if not has_ended(row)}
    reasons = [flaw.problem for flaw in (*listing.flaws, *leases.flaws)]
    reasons += _uncovered(living) + _hosts_alive(leases, allowed, alive)
    reasons += _group_alive(listing, allowed)
    kept = sorted(partition for partition in living if states.get(partition))
    if kept and not allowed.without_state:
        reasons.append(
            f"{_some(kept)}: there is a state beside the position, and a lease holds none: "
            "--without-state leaves it behind"
        )
    etags: dict[PartitionId, str | None] = {}
    within: list[PartitionId] = []
    for partition, row in sorted(living.items()):
        try:
            stand = stand_of(row.position, partition, rid)
        except PlaceError as problem:
            reasons.append(str(problem))
            continue
        etags[partition] = stand.etag
        if stand.is_within_page:
            within.append(partition)
        lease = leases.by_partition.get(partition)
        if lease is None and partition in unfit:
            reasons.append(
                f"partition {partition} can have no lease: {unfit[partition]}. Let the group go on "
                "for a moment until it has the service's ranges, or use a dialect by range "
                "(javaEpk, netEpk)"
            )
        if lease is not None and lease.etag not in (None, stand.etag) and not allowed.overwrite:
            reasons.append(
                f"the lease of {partition} stands at {lease.etag}, and the group at {stand.etag}: "
                "--overwrite writes over it"
            )
    other = [lease for key, lease in leases.by_partition.items() if key not in etags]
    if other and not allowed.overwrite:
        reasons.append(
            f"there are leases of other ranges ({_some([each.token for each in other])}): "
            "--overwrite removes them"
        )
    if reasons:
        raise MigrationRefused(reasons)
    return ToLeases(etags, tuple(other), tuple(within))


def check_written(
    wanted: Mapping[PartitionId, Position], listing: Listing
) -> tuple[PartitionId, ...]:
    """Those whose position does not stand in the ledger as it was to be written."""
    found = listing.checkpoints
    return tuple(
        partition
        for partition, position in sorted(wanted.items())
        if partition not in found or found[partition].position != position
    )


def _is_at(stands: Checkpoint, etag: str, partition: PartitionId, rid: str) -> bool:
    """Whether a checkpoint is at a lease's ETag; one within the page behind it is further."""
    try:
        return stand_of(stands.position, partition, rid).etag == etag
    except PlaceError:
        return False


def _uncovered(found: Mapping[PartitionId, object]) -> list[str]:
    ranges = [each for partition in found if (each := range_of(partition)) is not None]
    if is_tiled(WHOLE, ranges):
        return []
    missing = [each.id for each in gaps(WHOLE, ranges)]
    if not missing:
        return ["some keys are in two ranges: a split or a merge is under way; let it end first"]
    return [
        f"the keys {_some(missing)} are in none: a split or a merge is under way, or some ranges "
        "were never begun; let whoever runs go on for a moment"
    ]


def _hosts_alive(leases: Leases, allowed: Allowed, alive: Callable[[Boundary], bool]) -> list[str]:
    if allowed.even_if_alive:
        return []
    owners = {str(lease.owner) for lease in leases.by_partition.values() if alive(lease)}
    if not owners:
        return []
    return [
        f"leases are owned by living hosts ({_some(sorted(owners))}): stop them; a host that was "
        "killed counts as alive for 60 s, or --even-if-alive"
    ]


def _group_alive(listing: Listing, allowed: Allowed) -> list[str]:
    if allowed.even_if_alive:
        return []
    members = {name for name, each in listing.members.items() if each.is_alive}
    members |= {
        row.owner.name
        for row in listing.ownerships.values()
        if row.lease.is_held and row.owner is not None
    }
    if not members:
        return []
    return [f"members of the group live ({_some(sorted(members))}): stop them, or --even-if-alive"]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def shown_rows(plan: ToLedger | ToLeases) -> list[str]:
    """What is moved, a line a range."""
    if isinstance(plan, ToLedger):
        rows = [f"{each.partition}  {each.position.sequence}" for each in plan.writes]
        rows += [f"{each}  stands there already" for each in plan.same]
        return rows + [
            f"{each}  never read: it begins where the group's start says" for each in plan.unread
        ]
    rows = []
    for partition, etag in plan.etags.items():
        said = "from the start" if etag is None else str(lsn_of(etag))
        again = "  (its first events are read again)" if partition in plan.within_page else ""
        rows.append(f"{partition}  {said}{again}")
    return rows
