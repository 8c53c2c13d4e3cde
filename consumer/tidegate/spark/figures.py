"""What an office has done and how it stands, for metrics and status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tidegate.model import MemberName, PartitionId


@dataclass(slots=True)
class Counted:
    """Since the office began."""

    batches: int = 0
    failed: int = 0
    events: int = 0
    bytes: int = 0
    lost: int = 0
    stolen: int = 0
    last_events: int = 0


@dataclass(frozen=True, slots=True)
class OfficeFigures:
    """A moment of an office."""

    counted: Counted
    # How many partitions each member holds.
    held: Mapping[MemberName, int] = field(default_factory=lambda: MappingProxyType({}))
    # Partitions that are to be given away as soon as their batch has ended.
    leaving: tuple[PartitionId, ...] = ()
    # The number of the batch under way.
    under_way: int | None = None
    # Events of held partitions that are not handled, as far as ends are known.
    lag: int = 0
    # Events that were put aside, since the office began.
    aside: int = 0
    stuck: tuple[PartitionId, ...] = ()
    # Why the hub could not be asked of a partition.
    troubles: Mapping[PartitionId, str] = field(default_factory=lambda: MappingProxyType({}))
