"""Who gets which partitions, so that the counts come out with the fewest moves.

Rules:
- Pure. Owners keep what they have up to their count, the first of the partitions' order. What is
  left is dealt out in one fixed order, each to the first member that has room. When some of the
  moves have been made, the same rule deals out the others as before: nobody changes his mind while
  a hand-over is under way. Whoever has asked an owner for a partition comes first for it, within
  his count: then nobody does either when one more leaves meanwhile.
- The partitions of leaving members are dealt out first, member by member: those of the first member
  to end go to the first member that came. So in a rollout a new member receives all partitions of
  one old member. Otherwise it could be full with partitions of the next member to end; the member
  that ends now would find no room there, and its partitions would go to members that leave later.
- For members that are absent we set aside first what is in good hands meanwhile: partitions of
  living owners. Orphans go to those who are present.
- First it is settled how many each gets; which ones, in the order in which the takers came, present
  or not. So when an expected member arrives, the parts of the other members do not change.
- A new partition goes to the first taker with room, present or not. So members that start at the
  same moment, each seeing itself alone, do not reach for the same partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tidegate.balance.facts import PartitionFacts
from tidegate.balance.group import Group
from tidegate.balance.shares import Shares, shares_of
from tidegate.model import MemberName, PartitionId

Assignment = dict[PartitionId, MemberName]


def deal(group: Group, hot: Assignment) -> tuple[Assignment, Shares]:
    """A taker, present or not, for every partition; and the counts."""
    fixed = group.pins | hot
    pinned = Counter(group.pins.values())
    kept: dict[MemberName, list[PartitionId]] = {name: [] for name in group.takers}
    for id, owner in group.owners.items():
        if owner in kept and id not in fixed:
            kept[owner].append(id)
    shares = shares_of(
        total=len(group.partitions),
        weights=group.takers,
        held={name: len(ids) + pinned[name] for name, ids in kept.items()},
        pinned=pinned,
        full=dict.fromkeys(hot.values(), 1),
        places=group.places,
    )
    result = dict(fixed)
    room = {name: shares.counts[name] for name in group.takers}
    for name in fixed.values():
        room[name] -= 1
    for name, ids in kept.items():
        for id in ids[: room[name]]:
            result[id] = name
            room[name] -= 1
    _deal_out(group, result, room)
    return result, shares


def _deal_out(group: Group, result: Assignment, room: dict[MemberName, int]) -> None:
    undealt = [p for p in group.partitions if p.id not in result]
    orphans = [p for p in undealt if p.id not in group.owners and not p.is_new]
    surplus = [p for p in undealt if group.owners.get(p.id) in group.takers]
    turns = {name: turn for turn, name in enumerate(group.leavers)}
    left_behind = sorted(
        (p for p in undealt if group.owners.get(p.id) in turns),
        key=lambda partition: turns[group.owners[partition.id]],
    )
    new = [p for p in undealt if p.id not in group.owners and p.is_new]
    present = list(group.stayers)
    absent = [name for name in group.takers if name not in group.weights]
    _fill(group, orphans, [*present, *absent], result, room)
    _fill(group, [*left_behind, *surplus], [*absent, *present], result, room)
    _fill(group, new, group.takers, result, room)


def _fill(
    group: Group,
    partitions: Sequence[PartitionFacts],
    order: Iterable[MemberName],
    result: Assignment,
    room: dict[MemberName, int],
) -> None:
    """Fill the room in an order; the takers are served in the order in which they came."""
    free = [name for name in order for _ in range(room[name])]
    counts = Counter(free[: len(partitions)])
    others = []
    for partition in partitions:
        if partition.wanted_by is not None and counts[partition.wanted_by]:
            result[partition.id] = partition.wanted_by
            counts[partition.wanted_by] -= 1
            room[partition.wanted_by] -= 1
        else:
            others.append(partition)
    takers = sorted(counts.elements(), key=lambda name: (group.places[name], name))
    for partition, name in zip(others, takers, strict=False):
        result[partition.id] = name
        room[name] -= 1
