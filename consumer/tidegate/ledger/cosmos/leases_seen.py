"""The leases of a processor, as they stood at one look. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.ledger.cosmos.dialects import Boundary
from tidegate.model import Flaw, PartitionId
from tidegate.sources.cosmos.ranges import FeedRange, range_of


@dataclass(frozen=True, slots=True)
class Leases:
    """All leases of the processor, as they stand."""

    by_partition: Mapping[PartitionId, Boundary]
    flaws: tuple[Flaw, ...] = ()
    is_complete: bool = False  # the processor's `.info` is there
    is_being_made: bool = False  # its `.lock` is

    def overlapping(self, range: FeedRange) -> tuple[PartitionId, ...]:
        """Those that have keys in common with a range."""
        return tuple(
            partition
            for partition in sorted(self.by_partition)
            if (own := range_of(partition)) is not None and own.meets(range)
        )
