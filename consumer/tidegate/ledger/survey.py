"""What a listing of a ledger tells people: a row a partition, and what is wrong with what to do.

Pure: a listing, and what the source says of its partitions where that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.model import Checkpoint, Listing, Ownership, PartitionId


@dataclass(frozen=True, slots=True)
class Range:
    """The events that the source still has of a partition: from `first` to before `next`."""

    first: int
    next: int


@dataclass(frozen=True, slots=True)
class Row:
    """One partition, in words ready to print; empty where there is nothing to say."""

    partition: str
    owner: str
    lease: str
    epoch: str
    since: str
    sequence: str
    lag: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: where, what, and what to do about it."""

    kind: str
    where: str
    what: str
    remedy: str


COLUMNS = ("PARTITION", "OWNER", "LEASE", "EPOCH", "OWNED FOR", "SEQUENCE", "LAG")


def rows(listing: Listing, ranges: Mapping[PartitionId, Range]) -> list[Row]:
    """A row for each partition that the ledger or the source knows."""
    known = {*listing.ownerships, *listing.checkpoints, *ranges}
    return [_row(listing, ranges, partition) for partition in sorted(known, key=_natural)]


def _row(listing: Listing, ranges: Mapping[PartitionId, Range], partition: PartitionId) -> Row:
    owned, checkpoint = listing.ownerships.get(partition), listing.checkpoints.get(partition)
    span = ranges.get(partition)
    return Row(
        partition,
        str(owned.owner) if owned is not None and owned.owner is not None else "-",
        str(owned.lease) if owned is not None else "-",
        str(owned.epoch) if owned is not None else "-",
        _age(listing.server_time - owned.modified_at) if owned is not None else "-",
        str(checkpoint.position.sequence) if checkpoint is not None else "-",
        _lag(checkpoint, span),
    )


def _lag(checkpoint: Checkpoint | None, span: Range | None) -> str:
    if span is None or checkpoint is None:
        return "unknown"
    done = max(checkpoint.position.sequence + 1, span.first)
    return str(max(span.next - done, 0))


def _natural(partition: PartitionId) -> tuple[int, str]:
    return (int(partition), "") if partition.isdigit() else (1 << 62, partition)


def _age(seconds: float) -> str:
    """A time as people say it: 12s, 5m, 3h, 2d."""
    for limit, divisor, unit in ((120, 1, "s"), (7_200, 60, "m"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{max(seconds, 0) / divisor:.0f}{unit}"
    return f"{seconds / 86_400:.0f}d"


def findings(listing: Listing, ranges: Mapping[PartitionId, Range]) -> list[Finding]:
    """All that is wrong, the unreadable first."""
    found = [
        Finding("unreadable", flaw.blob, flaw.problem, "Restore the blob or delete it.")
        for flaw in listing.flaws
    ]
    for partition, row in sorted(listing.ownerships.items()):
        found += _of_ownership(partition, row, listing)
    for partition, checkpoint in sorted(listing.checkpoints.items()):
        found += _of_checkpoint(partition, checkpoint, listing, ranges.get(partition))
    for name, member in sorted(listing.members.items()):
        if not member.is_alive:
            found.append(
                Finding(
                    "dead-member",
                    f"member/{name}",
                    "its process has ended without leaving",
                    "Nothing: what it owned is taken over by itself.",
                )
            )
    return found


def _of_ownership(partition: PartitionId, row: Ownership, listing: Listing) -> list[Finding]:
    where = f"ownership/{partition}"
    if row.is_foreign:
        return [
            Finding(
                "foreign",
                where,
                f"{row.owner} is another kind of processor's",
                "Stop that processor; members take over 180 s after its last sign of life, or at "
                "once with takes_from_foreign.",
            )
        ]
    if row.owner is not None and not row.lease.is_held:
        alive = {name for name, member in listing.members.items() if member.is_alive}
        if row.owner.name in alive:
            return []
        return [
            Finding(
                "unheld",
                where,
                f"{row.owner} is named as owner, and nobody holds the lease",
                "Start a member: it claims the partition at its next look.",
            )
        ]
    if row.lease.is_held and row.owner is None:
        return [
            Finding(
                "nameless",
                where,
                "it is leased by somebody who has not said who",
                "Wait for a lease period. If it stays so, break the lease: "
                "az storage blob lease break.",
            )
        ]
    return []


def _of_checkpoint(
    partition: PartitionId, checkpoint: Checkpoint, listing: Listing, span: Range | None
) -> list[Finding]:
    where = f"checkpoint/{partition}"
    found = []
    if checkpoint.is_state_behind:
        found.append(
            Finding(
                "state-behind",
                where,
                f"its state was written at {checkpoint.state_position}, its position is "
                f"{checkpoint.position}: somebody else has moved it",
                "Rewind to the state's position to keep the totals exact, or clear the state by a "
                "rewind to the position.",
            )
        )
    sequence = checkpoint.position.sequence
    if span is not None and sequence + 1 < span.first:
        found.append(
            Finding(
                "behind-retention",
                where,
                f"events {sequence + 1} to {span.first - 1} are gone: retention has passed",
                "Reading goes on at the oldest event that is left. Scale out, or keep events for "
                "longer.",
            )
        )
    if span is not None and sequence >= span.next:
        found.append(
            Finding(
                "ahead",
                where,
                f"its sequence number {sequence} is beyond the last event {span.next - 1}",
                "Is it the right hub? If the hub was made anew, rewind to the beginning.",
            )
        )
    if partition not in listing.ownerships:
        found.append(
            Finding(
                "unowned",
                where,
                "there is a checkpoint and nobody has ever owned the partition",
                "Nothing: a member takes it up where the checkpoint is.",
            )
        )
    return found


def table(lines: list[Row]) -> str:
    """The rows with their heads, aligned."""
    cells = [COLUMNS, *((r.partition, r.owner, r.lease, r.epoch, r.since, r.sequence, r.lag)
                        for r in lines)]  # fmt: skip
    widths = [max(len(row[at]) for row in cells) for at in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
