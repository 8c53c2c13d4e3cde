"""Partitions that alone are more than a fair share of the load, and the member that keeps each.

Rules:
- Pure. A fair share is taken of what is left when the hotter partitions and their members are set
  aside, for the member of the greatest weight among the others.
- A partition becomes hot a band above the fair share. Once it has its member for itself, and all
  else is in its place too, it stays hot down to the fair share: a load that wavers moves nothing.
  Not so where all are in their places without that: then nobody keeps a member for it, and to
  count it as hot would change what is fair for the others.
- While members are awaited, no partition newly gets a member for itself: that would be undone. Not
  so the partition of a leaving member that owns nothing else: it goes to the heir of that member.
- The member that keeps it is the one that makes for the fewest moves, its owner among equals.
"""

from __future__ import annotations

import math
from collections import Counter

from tidegate.balance.group import Group, sort_key
from tidegate.balance.shares import shares_of
from tidegate.model import MemberName, PartitionId


def hot_partitions(group: Group) -> dict[PartitionId, MemberName]:
    """The hot partitions, each with the member that shall own it and nothing else."""
    if sum(group.loads.values()) < group.busy_from:
        return {}
    owned = Counter(group.owners.values())
    hot = _found(group, owned, stays_hot_at=1 + group.band)
    if not _is_in_place(group, owned, hot):
        as_it_is = _found(group, owned, stays_hot_at=1.0)
        if as_it_is and _is_in_place(group, owned, as_it_is):
            return as_it_is
    return hot


def _is_in_place(
    group: Group, owned: Counter[MemberName], hot: dict[PartitionId, MemberName]
) -> bool:
    """Whether everybody owns what it should, these partitions being hot."""
    if any(group.owners.get(id) != name for id, name in (hot | group.pins).items()):
        return False
    full = dict.fromkeys(hot.values(), 1)
    pinned = Counter(group.pins.values())
    shares = shares_of(len(group.partitions), group.takers, owned, pinned, full, group.places)
    return owned == Counter(shares.counts)


def _found(
    group: Group, owned: Counter[MemberName], stays_hot_at: float
) -> dict[PartitionId, MemberName]:
    # A member that pins fill is not free to be kept for one partition.
    pinned_members = set(group.pins.values())
    free = {n: w for n, w in group.takers.items() if w > 0 and n not in pinned_members}
    load_left = sum(group.loads.values())
    partitions_left = len(group.partitions)
    weight_left = math.fsum(group.takers.values())
    found: dict[PartitionId, MemberName] = {}
    for id in _hottest_first(group):
        if len(free) < 2 or partitions_left <= len(group.takers) - len(found):
            break  # every partition has a member for itself anyway
        fair = load_left * max(free.values()) / weight_left
        load = group.loads[id]
        if load <= fair * stays_hot_at:
            break
        owner = group.owners.get(id)
        heir = group.heirs.get(owner) if owner is not None and owned[owner] == 1 else None
        if heir is not None and heir in free and not owned[heir]:
            keeper, is_kept = heir, True
        else:
            keeper = _keeper(group, free, owned, owner, partitions_left / weight_left)
            is_kept = keeper == owner and owned[keeper] == 1
        if not is_kept and (group.is_awaiting or load <= fair * (1 + group.band)):
            continue
        found[id] = keeper
        load_left -= load
        partitions_left -= 1
        weight_left -= free.pop(keeper)
    return found


def _hottest_first(group: Group) -> list[PartitionId]:
    candidates = (
        id for id, load in group.loads.items() if load >= group.busy_from and id not in group.pins
    )
    return sorted(candidates, key=lambda id: (-group.loads[id], sort_key(id)))


def _keeper(
    group: Group,
    free: dict[MemberName, float],
    owned: Counter[MemberName],
    owner: MemberName | None,
    partitions_by_weight: float,
) -> MemberName:
    heaviest = max(free.values())

    def cost(name: MemberName) -> tuple[int, bool, MemberName]:
        share = math.ceil(round(partitions_by_weight * free[name], 9))
        gives_anyway = max(0, owned[name] - share)
        if name == owner:
            return owned[name] - 1 - gives_anyway, False, name
        owner_share = math.ceil(round(partitions_by_weight * group.takers.get(owner or "", 0), 9))
        # Its owner may have to give one away in any case: then this is no extra move.
        extra = 0 if owner is None or owned[owner] > owner_share else 1
        return owned[name] + extra - gives_anyway, True, name

    return min((name for name, weight in free.items() if weight == heaviest), key=cost)
