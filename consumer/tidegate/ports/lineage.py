"""Partitions that come and go: which there are now, where one that is new begins, which shall end.

Rules:
- Pure, and a function of what the source said and of one listing: every member and the operator
  that see the same listing name the same partitions. Only who owns a partition ends it.
- A partition ends with a last checkpoint that says so; it is read no more. What it goes on as
  begins where it ended, with an epoch above its own, and only once all that it is made of has.
- Where partitions are only ever added, as in an event hub, there is nothing to decide: `FLAT`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from tidegate.model import Checkpoint, Listing, PartitionId, Position


class HeritageError(Exception):
    """A partition cannot begin where others ended; the message says why and what to do."""


def _nobody() -> Mapping[PartitionId, tuple[PartitionId, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tiling:
    """The partitions of a source at one moment."""

    # Those that are to be read, as a whole all of the source.
    partitions: tuple[PartitionId, ...]
    # Those that are to begin where others ended, or once more where they ended themselves.
    parents: Mapping[PartitionId, tuple[PartitionId, ...]] = field(default_factory=_nobody)
    # Those that shall end, and what each goes on as.
    ending: Mapping[PartitionId, tuple[PartitionId, ...]] = field(default_factory=_nobody)
    # Those for which some have ended, and that wait for the others of their parts.
    waiting: tuple[PartitionId, ...] = ()

    @property
    def unsettled(self) -> frozenset[PartitionId]:
        """Those that are about to end, or to begin: their numbers are of more than one log."""
        return frozenset((*self.parents, *self.ending))


@dataclass(frozen=True, slots=True)
class Heritage:
    """What a partition begins with."""

    position: Position
    state: bytes | None = None
    enqueued_at: float | None = None


class Lineage(Protocol):
    """See the module."""

    def tiling(self, known: tuple[PartitionId, ...], listing: Listing) -> Tiling:
        """The partitions, from those that the source has now and what the ledger says."""

    def may_begin(
        self, partition: PartitionId, parents: tuple[PartitionId, ...], listing: Listing
    ) -> bool:
        """Whether it is still to begin where its parents ended, or anew where it has none, and
        nobody else has begun, or is about to begin, with any of its events."""

    def ended(
        self, partition: PartitionId, position: Position, into: Sequence[PartitionId]
    ) -> Position:
        """The position of a last checkpoint."""

    def kept(self, partition: PartitionId, position: Position) -> Position:
        """The same position, of a partition that is not to end."""

    def is_kept(self, position: Position) -> bool:
        """Whether a position is of a partition that is not to end."""

    def has_ended(self, position: Position) -> bool:
        """Whether a position is that of a last checkpoint."""

    def refusal(self, partition: PartitionId, into: Sequence[PartitionId], state: bytes) -> str:
        """Why a partition with this state may not end; empty where it may."""

    def heritage(self, partition: PartitionId, parents: Sequence[Checkpoint]) -> Heritage:
        """What a partition begins with, from the last checkpoints of others.

        Raises HeritageError.
        """


class _Flat(Lineage):
    """Partitions that stay."""

    def tiling(self, known: tuple[PartitionId, ...], listing: Listing) -> Tiling:  # noqa: ARG002
        return Tiling(known)

    def may_begin(
        self,
        partition: PartitionId,  # noqa: ARG002
        parents: tuple[PartitionId, ...],  # noqa: ARG002
        listing: Listing,  # noqa: ARG002
    ) -> bool:
        return True

    def ended(
        self,
        partition: PartitionId,  # noqa: ARG002
        position: Position,
        into: Sequence[PartitionId],  # noqa: ARG002
    ) -> Position:
        return position

    def kept(self, partition: PartitionId, position: Position) -> Position:  # noqa: ARG002
        return position

    def is_kept(self, position: Position) -> bool:  # noqa: ARG002
        return False

    def has_ended(self, position: Position) -> bool:  # noqa: ARG002
        return False

    def refusal(
        self,
        partition: PartitionId,
        into: Sequence[PartitionId],  # noqa: ARG002
        state: bytes,  # noqa: ARG002
    ) -> str:
        return f"partition {partition} does not end"

    def heritage(self, partition: PartitionId, parents: Sequence[Checkpoint]) -> Heritage:
        raise HeritageError(f"partition {partition} has no parents, and {len(parents)} are named")


FLAT: Lineage = _Flat()


def place_in(
    lineage: Lineage, tiling: Tiling, listing: Listing, partition: PartitionId
) -> Checkpoint | None:
    """Where a partition stands, or is to begin where others ended; None where that is its start."""
    parents = tiling.parents.get(partition)
    if parents is None:
        return listing.checkpoints.get(partition)
    try:
        found = lineage.heritage(partition, [listing.checkpoints[parent] for parent in parents])
    except HeritageError:
        return None
    return Checkpoint(partition, "", found.position, 0, "", found.enqueued_at)
