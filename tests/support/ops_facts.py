"""A board with a group on it, as a member sees it: for tests of what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from tidegate.member.messages import Report
from tidegate.model import (
    Checkpoint,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    PartitionId,
    Position,
    Presence,
)
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.observer import Observer

NOW, WALL = 1_000.0, 1_700_000_000.0


def listing(
    owners: dict[PartitionId, str | None],
    members: tuple[str, ...],
    checkpoints: dict[PartitionId, int] | None = None,
) -> Listing:
    """Who owns what, and who lives."""
    ownerships = {
        partition: Ownership(
            partition,
            f"etag-{partition}",
            LeaseState.LEASED if owner else LeaseState.AVAILABLE,
            Owner(owner, "1") if owner else None,
            3,
            "",
            WALL,
        )
        for partition, owner in owners.items()
    }
    stored = {
        partition: Checkpoint(partition, "etag", Position("x", sequence), 3, "", WALL - 60)
        for partition, sequence in (checkpoints or {}).items()
    }
    present = {name: Presence(name, "etag", LeaseState.LEASED, "1") for name in members}
    return Listing(
        MappingProxyType(ownerships),
        MappingProxyType(stored),
        MappingProxyType(present),
        None,
        WALL,
    )


def handled(
    partition: PartitionId, sequence: int, *, at: float = NOW, events: int = 100, age_s: float = 1.0
) -> facts.BatchHandled:
    """A batch that ends at a sequence number, whose last event was enqueued `age_s` ago."""
    position = Position(str(sequence), sequence)
    return facts.BatchHandled(at, partition, events, 200 * events, 0.02, position, WALL - age_s)


def tell(observer: Observer, *told: facts.Fact) -> None:
    for fact in told:
        observer.hear(fact)


def board_of(partitions: int, ours: int, *, name: str = "pod-1") -> Board:
    """A board of two members: we read the first partitions, 100 events behind in each."""
    board = Board(name)
    owners: dict[PartitionId, str | None] = {
        str(number): name if number < ours else "pod-2" for number in range(partitions)
    }
    tell(board, facts.PartitionsKnown(NOW - 20, tuple(owners)))
    tell(board, facts.Listed(NOW - 1, listing(owners, (name, "pod-2"))))
    for number in range(ours):
        partition = str(number)
        tell(
            board,
            facts.ReaderOpened(NOW - 10, partition, 7),
            handled(partition, 999, at=NOW - 1, age_s=2.0),
            facts.EndKnown(NOW - 1, partition, 1_099, WALL - 1),
        )
    return board


def every_fact(at: float = NOW) -> Iterator[facts.Fact]:
    """A fact of each kind that is counted."""
    yield facts.UnitsSpent("leases", 12.5)
    yield facts.ReaderOpened(at, "0", 7)
    yield handled("0", 1_000, at=at)
    yield facts.BatchFailed(at, "0", 5, 1, "x", is_stuck=True, is_hung=True)
    yield facts.DeadLettered(at, "0", 3, "blob")
    yield facts.CheckpointWritten(at, "0", handled("0", 1_000).position, None, 0.01, 2_048)
    yield facts.EndKnown(at, "0", 1_005, WALL)
    yield facts.LedgerAnswered(at, "List", 0.02)
    yield facts.LeaseRenewed(at, "0", 0.004)
    yield facts.LeaseEnded(at, "1", "let-go")
    yield facts.ReaderClosed(at, "1", "stolen")
    yield facts.Reported(at, Report("lapsed", "1", "late"))
