"""What is wrong with a group, from a listing of its ledger: each thing by name, with what to do.

Pure: a listing, and what the source says of its partitions where that is known. A listing is one
moment: what is under way, such as a hand-over, is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidegate.model import NO_SEQUENCE, Checkpoint, Listing, Ownership, PartitionId

# An official processor that has not written its ownership for so long is dead.
FOREIGN_ALIVE_S = 180.0
# Of a partition's number. Members say names of their own, and Python refuses to read long numbers.
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Range:
    """The events that the source still has of a partition: from `first` to before `next`."""

    first: int
    next: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: where, what, and what to do about it."""

    kind: str
    where: str
    what: str
    remedy: str


Ranges = Mapping[PartitionId, Range]


def findings(listing: Listing, ranges: Ranges) -> list[Finding]:
    """All that is wrong, what concerns the whole group first."""
    return [
        *_of_group(listing),
        *_of_flaws(listing),
        *(
            finding
            for partition, row in sorted(listing.ownerships.items(), key=_by_partition)
            for finding in _of_ownership(partition, row, listing)
        ),
        *_of_source(listing, ranges),
        *(
            finding
            for partition, checkpoint in sorted(listing.checkpoints.items(), key=_by_partition)
            for finding in _of_checkpoint(partition, checkpoint, ranges.get(partition))
        ),
        *_of_members(listing),
    ]


def natural(partition: PartitionId) -> tuple[int, str]:
    """The order of partitions for people: numbers as numbers."""
    is_number = partition.isascii() and partition.isdecimal() and len(partition) <= _DIGITS
    return (int(partition), "") if is_number else (1 << 62, partition)


def _by_partition(item: tuple[PartitionId, object]) -> tuple[int, str]:
    return natural(item[0])


def has_readers(listing: Listing) -> bool:
    """Whether anybody takes part: one of ours, or an official processor."""
    return any(member.is_alive for member in listing.members.values()) or any(
        row.lease.is_held or _is_foreign_alive(row, listing) for row in listing.ownerships.values()
    )


def _is_foreign_alive(row: Ownership, listing: Listing) -> bool:
    age = listing.server_time - row.modified_at
    return row.is_foreign and row.owner is not None and age < FOREIGN_ALIVE_S


def _of_group(listing: Listing) -> Iterator[Finding]:
    if not has_readers(listing):
        yield Finding(
            "nobody",
            "the group",
            "no member is alive: nothing is read",
            "Start a member. It goes on at the checkpoints.",
        )
    if listing.roster is not None and listing.roster.is_paused:
        yield Finding(
            "paused", "roster", "the whole group is paused", "Resume it when it shall go on."
        )


def _of_flaws(listing: Listing) -> Iterator[Finding]:
    for flaw in listing.flaws:
        remedy = "Restore the blob, or delete it: a member that knows it writes it again."
        if flaw.partition is not None:
            remedy += f" Partition {flaw.partition} is not read until then; the others go on."
        yield Finding("unreadable", flaw.blob, flaw.problem, remedy)


def _of_ownership(partition: PartitionId, row: Ownership, listing: Listing) -> Iterator[Finding]:
    where = f"ownership/{partition}"
    if row.is_foreign:
        yield _foreign(where, row, listing)
    elif row.lease.is_held and row.owner is None:
        yield Finding(
            "nameless",
            where,
            "it is leased by somebody who has not said who",
            "Look again: a member that takes it writes its name within a second. If it stays so, "
            "break the lease: az storage blob lease break.",
        )
    elif not row.lease.is_held and has_readers(listing) and not _is_paused(partition, listing):
        whose = "it has no owner" if row.owner is None else f"its last owner was {row.owner}"
        yield Finding(
            "unheld",
            where,
            f"nobody holds it: {whose}",
            "Look again: a living member claims it within seconds, or once a lease has ended where "
            "storage has stalled. If it stays so, look at what the members report.",
        )


def _is_paused(partition: PartitionId, listing: Listing) -> bool:
    roster = listing.roster
    return roster is not None and (roster.is_paused or partition in roster.paused)


def _foreign(where: str, row: Ownership, listing: Listing) -> Finding:
    age = listing.server_time - row.modified_at
    if row.lease.is_held:
        return Finding(
            "foreign",
            where,
            f"a member is taking it from {row.owner}, another kind of processor",
            "Look again in a moment.",
        )
    if age < FOREIGN_ALIVE_S:
        return Finding(
            "foreign",
            where,
            f"another kind of processor owns it: {row.owner}, seen {age:.0f} s ago",
            f"Stop that processor: members take over {FOREIGN_ALIVE_S:.0f} s after its last sign "
            "of life, or at once with takes_from_foreign.",
        )
    return Finding(
        "foreign",
        where,
        f"another kind of processor owned it and is gone: {row.owner}, seen {age:.0f} s ago",
        "Start a member: it takes the partition over at its checkpoint.",
    )


def _of_source(listing: Listing, ranges: Ranges) -> Iterator[Finding]:
    """Where the ledger and the source do not know the same partitions."""
    if not ranges:
        return
    for partition in sorted(ranges.keys() - listing.ownerships.keys(), key=natural):
        is_flawed = any(flaw.partition == partition for flaw in listing.flaws)
        if has_readers(listing) and not is_flawed and not _is_paused(partition, listing):
            yield Finding(
                "never-owned",
                f"ownership/{partition}",
                "the hub has this partition, and no member has ever owned it",
                "Look again: members take new partitions within a minute. If it stays so, look at "
                "what they report.",
            )
    for partition in sorted(listing.ownerships.keys() - ranges.keys(), key=natural):
        yield Finding(
            "not-in-hub",
            f"ownership/{partition}",
            "the hub has no such partition",
            "Is it the right hub? If the hub was made anew with fewer partitions, delete the "
            "partition's blobs.",
        )


def _of_checkpoint(
    partition: PartitionId, checkpoint: Checkpoint, span: Range | None
) -> Iterator[Finding]:
    where = f"checkpoint/{partition}"
    sequence = checkpoint.position.sequence
    if checkpoint.is_state_behind:
        of_state = checkpoint.state_position
        yield Finding(
            "state-behind",
            where,
            f"its position is {sequence} and its state is of position "
            f"{of_state.sequence if of_state else 'none'}: somebody else has moved the position",
            "The partition is halted. Rewind it to the state's position to keep totals exact, or "
            "clear the state by a rewind to the position.",
        )
    if span is not None and NO_SEQUENCE < sequence < span.first - 1:
        yield Finding(
            "behind-retention",
            where,
            f"events {sequence + 1} to {span.first - 1} are gone: retention has passed them",
            "Reading goes on at the oldest event that is left. Add members, or keep events longer.",
        )
    if span is not None and sequence >= span.next:
        yield Finding(
            "ahead",
            where,
            f"its sequence number {sequence} is beyond the last event {span.next - 1}",
            "Is it the right hub? If the hub was made anew, rewind to the beginning.",
        )


def _of_members(listing: Listing) -> Iterator[Finding]:
    for name, member in sorted(listing.members.items()):
        if not member.is_alive:
            yield Finding(
                "dead-member",
                f"member/{name}",
                "its process has ended without leaving",
                "Nothing: what it owned is taken over, and its blob is removed, by the others.",
            )
