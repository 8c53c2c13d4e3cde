"""The nouns of balancing, frozen: what a plan is made from, and what it says.

Rules: pure. A snapshot holds facts only and no history: `plan` has no memory, so every member that
sees the same listing makes the same plan. The order of members and partitions means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.model import MemberName, PartitionId

# How far above its fair share of the load a member may be, in fair shares: it is relieved from two
# bands above, down to one band above, and only if it gains a band by it.
DEFAULT_BAND = 0.15
# A partition that costs less than this, and a member of weight 1 that carries less, is never a
# reason to move anything: loads are shares of one member's capacity.
DEFAULT_BUSY_FROM = 0.2


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """A member that is alive."""

    name: MemberName
    weight: float = 1.0
    is_leaving: bool = False
    # Partitions that it cannot handle for now.
    declines: frozenset[PartitionId] = frozenset()


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """A partition of the source."""

    id: PartitionId
    # The name of a member of the snapshot, or None.
    owner: MemberName | None = None
    # What it costs its owner, as a share of the capacity of a member of weight 1. None: it is not
    # known.
    load: float | None = None
    pinned_to: MemberName | None = None
    # Nobody reads it; its owner gives it up.
    is_paused: bool = False
    # Nobody has owned it since the group started, so it waits for members that are expected.
    is_new: bool = False
    # Who has asked its owner for it.
    wanted_by: MemberName | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A group at one moment."""

    members: tuple[MemberFacts, ...]
    partitions: tuple[PartitionFacts, ...]
    # Who shall be a member when all is done, present or not, the oldest first: the last get the odd
    # partitions, which in a rollout spares a move. Empty: whoever is present.
    expected: tuple[MemberName, ...] = ()
    # The leaving members in the order in which they end; any others end after these.
    leaving: tuple[MemberName, ...] = ()
    band: float = DEFAULT_BAND
    busy_from: float = DEFAULT_BUSY_FROM


@dataclass(frozen=True, slots=True)
class Move:
    """One partition changing its owner; `source` is None where nobody owns it."""

    partition: PartitionId
    source: MemberName | None
    target: MemberName
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Who shall own what."""

    # Present members only. A partition that an absent member is to get stays with its owner here.
    assignment: Mapping[PartitionId, MemberName]
    # Partitions without an owner that are kept for an expected member that is not here yet.
    awaited: Mapping[PartitionId, MemberName]
    # What differs from the owners of the snapshot, in the order of the partitions.
    moves: tuple[Move, ...]

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do and nobody is waited for."""
        return not self.moves and not self.awaited

    def owned_by(self, name: MemberName) -> tuple[PartitionId, ...]:
        """What a member shall own."""
        return tuple(id for id, owner in self.assignment.items() if owner == name)
