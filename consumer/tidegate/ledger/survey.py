"""What a listing of a ledger tells people: a row a partition, a row a member; and as a document.

Pure: a listing, and what the source says of its partitions where that is known. What is wrong is
said by findings.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidegate.lag import UNKNOWN_LAG, Lag, lag_of
from tidegate.ledger.findings import Finding, Range, Ranges, natural
from tidegate.model import Checkpoint, Listing, MemberName, PartitionId

PARTITIONS = ("PARTITION", "OWNER", "LEASE", "EPOCH", "OWNED FOR", "SEQUENCE", "LAG")
MEMBERS = ("MEMBER", "ALIVE", "PARTITIONS", "WEIGHT", "DECLINES")

Document = dict[str, Any]


def known_partitions(listing: Listing, of_source: Iterable[PartitionId]) -> list[PartitionId]:
    """All that the ledger or the source knows, in the order of their numbers."""
    flawed = {flaw.partition for flaw in listing.flaws if flaw.partition is not None}
    return sorted({*listing.ownerships, *listing.checkpoints, *of_source, *flawed}, key=natural)


def lag_behind(checkpoint: Checkpoint | None, span: Range | None) -> Lag:
    """What is left to handle, by the checkpoint; its time is not known here."""
    if span is None or checkpoint is None:
        return UNKNOWN_LAG
    return lag_of(handled=checkpoint.position.sequence, end=span.next - 1, begins_at=span.first)


def owned_by(listing: Listing) -> Mapping[MemberName, int]:
    """How many partitions each living owner has."""
    counts: dict[MemberName, int] = {}
    for row in listing.ownerships.values():
        if row.owner is not None and row.lease.is_held:
            counts[row.owner.name] = counts.get(row.owner.name, 0) + 1
    return counts


def as_document(group: str, listing: Listing, ranges: Ranges, found: Iterable[Finding]) -> Document:
    """Everything, for programs; times in seconds, what is not known is null."""
    counts = owned_by(listing)
    return {
        "group": group,
        "members": [
            {
                "name": name,
                "alive": member.is_alive,
                "incarnation": member.incarnation,
                "partitions": counts.get(name, 0),
                "weight": member.weight,
                "leaving": member.is_leaving,
                "declines": sorted(member.declines, key=natural),
            }
            for name, member in sorted(listing.members.items())
        ],
        "partitions": [
            _partition(partition, listing, ranges.get(partition))
            for partition in known_partitions(listing, ranges)
        ],
        "findings": [
            {"kind": f.kind, "where": f.where, "what": f.what, "remedy": f.remedy} for f in found
        ],
    }


def _partition(partition: PartitionId, listing: Listing, span: Range | None) -> Document:
    row, checkpoint = listing.ownerships.get(partition), listing.checkpoints.get(partition)
    owner = row.owner if row is not None else None
    return {
        "partition": partition,
        "owner": owner.name if owner is not None else None,
        "incarnation": owner.incarnation if owner is not None else None,
        "foreign": row.is_foreign if row is not None else False,
        "lease": str(row.lease) if row is not None else None,
        "epoch": row.epoch if row is not None else None,
        "ownedForSeconds": round(listing.server_time - row.modified_at) if row else None,
        "sequenceNumber": checkpoint.position.sequence if checkpoint is not None else None,
        "offset": checkpoint.position.offset if checkpoint is not None else None,
        "checkpointEpoch": checkpoint.epoch if checkpoint is not None else None,
        "firstSequenceNumber": span.first if span is not None else None,
        "nextSequenceNumber": span.next if span is not None else None,
        "lag": lag_behind(checkpoint, span).events,
    }


# --- for people


def tables(listing: Listing, ranges: Ranges) -> str:
    """The partitions, and beneath them the members."""
    parts = [_table(PARTITIONS, _partition_rows(listing, ranges))]
    members = _member_rows(listing)
    if members:
        parts.append(_table(MEMBERS, members))
    return "\n\n".join(parts)


def told(found: Sequence[Finding]) -> str:
    """What is wrong, as `check` says it."""
    if not found:
        return "nothing is wrong"
    lines = [f"{len(found)} {'finding' if len(found) == 1 else 'findings'}:"]
    for finding in found:
        lines.append(f"  {finding.kind}: {finding.where}: {finding.what}")
        lines.append(f"    -> {finding.remedy}")
    return "\n".join(lines)


def _partition_rows(listing: Listing, ranges: Ranges) -> list[tuple[str, ...]]:
    return [
        _partition_row(partition, listing, ranges.get(partition))
        for partition in known_partitions(listing, ranges)
    ]


def _partition_row(partition: PartitionId, listing: Listing, span: Range | None) -> tuple[str, ...]:
    row, checkpoint = listing.ownerships.get(partition), listing.checkpoints.get(partition)
    owner = row.owner if row is not None else None
    lag = lag_behind(checkpoint, span).events
    is_owned = row is not None and row.lease.is_held
    return (
        partition,
        (owner.name + (" (foreign)" if row is not None and row.is_foreign else ""))
        if owner is not None
        else "-",
        str(row.lease) if row is not None else "-",
        str(row.epoch) if row is not None else "-",
        age_text(listing.server_time - row.modified_at) if row is not None and is_owned else "-",
        str(checkpoint.position.sequence) if checkpoint is not None else "-",
        "unknown" if lag is None else str(lag),
    )


def _member_rows(listing: Listing) -> list[tuple[str, ...]]:
    counts = owned_by(listing)
    rows: list[tuple[str, ...]] = []
    for name, member in sorted(listing.members.items()):
        alive = "leaving" if member.is_alive and member.is_leaving else str(member.is_alive).lower()
        declines = " ".join(sorted(member.declines, key=natural)) or "-"
        rows.append((name, alive, str(counts.get(name, 0)), f"{member.weight:g}", declines))
    return rows


def age_text(seconds: float) -> str:
    """A time as people say it: 12s, 5m, 3h, 2d."""
    for limit, divisor, unit in ((120, 1, "s"), (7_200, 60, "m"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{max(seconds, 0) / divisor:.0f}{unit}"
    return f"{seconds / 86_400:.0f}d"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """The rows under their heads, aligned."""
    cells = [heads, *rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
