"""When to take a lease from a processor of Microsoft's that lives: by its own rules. Pure.

Rules, as in the balancing of the .NET and Java processors (EqualPartitionsBalancingStrategy):
- Each owner that lives is a host; a host's fair number is the leases by the hosts, rounded up.
- A host that has less takes one lease in a cycle, from the host that has most, while that one has
  more than is fair. Who has enough takes none.
- Our members are hosts like theirs. One of ours takes at a time: the one that has least counts.
- What is free or was left by the dead is anybody's, at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.model import MemberName, PartitionId

# Of theirs, by default: how often a host takes a lease, and renews those that it has; and after
# which time without a renewal its lease is anybody's.
CYCLE_S = 13.0
RENEW_S = 17.0
EXPIRY_S = 60.0


@dataclass(frozen=True, slots=True)
class Held:
    """Who has a lease now. `owner` None: nobody, or one that is dead."""

    owner: str | None
    is_ours: bool = False


def to_take(
    held: Mapping[PartitionId, Held],
    members: Collection[MemberName],
    last_taken_s: float,
    cycle_s: float = CYCLE_S,
) -> PartitionId | None:
    """The one lease that may be taken from a foreign owner now, if any.

    `members` are ours that live; `last_taken_s` is how long ago one of ours took a lease.
    """
    if not members or last_taken_s < cycle_s:
        return None
    counts = Counter(each.owner for each in held.values() if each.owner is not None)
    foreign = {each.owner for each in held.values() if each.owner is not None and not each.is_ours}
    hosts = {*members, *counts}
    if not foreign or any(each.owner is None for each in held.values()):
        return None
    fair = math.ceil(len(held) / len(hosts))
    needed = fair - min(counts[member] for member in members)
    richest = min(foreign, key=lambda owner: (-counts[owner], str(owner)))
    if needed <= 0 or counts[richest] <= fair - (1 if needed > 1 else 0):
        return None
    return min(
        partition for partition, each in held.items() if each.owner == richest and not each.is_ours
    )
