"""The plan of a group: `plan(snapshot) -> Plan`.

Rules:
- Pure and without memory. Every member makes the same plan from the same snapshot, and acts on its
  own part alone.
- First comes who shall own what when everybody who is expected is there; then what that means for
  those who are present now. What an absent member is to get stays with its living owner, is
  awaited if nobody has owned it yet, and otherwise goes to whoever is present, at once.
- Members that leave get nothing and give all, unless nobody else is there or comes: then they keep
  what they have.
- Every move says why.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable

from tidegate.balance.dealing import Assignment, deal
from tidegate.balance.evening import even_out
from tidegate.balance.facts import Move, PartitionFacts, Plan, Snapshot
from tidegate.balance.group import Group, group_of, usable
from tidegate.balance.hot import hot_partitions
from tidegate.model import MemberName, PartitionId


def plan(snapshot: Snapshot) -> Plan:
    """Who shall own what, who is waited for, and which moves that takes."""
    group = group_of(snapshot)
    if group.takers:
        hot = hot_partitions(group)
        dealt, shares = deal(group, hot)
        goal = even_out(group, dealt, shares, hot)
    else:
        hot, goal = {}, dict(group.owners)
    assignment, awaited = _for_now(group, goal, kept_apart=set(hot.values()))
    because = _Reasons(group, goal, hot)
    moves = tuple(
        Move(p.id, group.owners.get(p.id), target, because.of(p, target))
        for p in group.partitions
        if (target := assignment.get(p.id)) is not None and target != group.owners.get(p.id)
    )
    return Plan(assignment, awaited, moves)


def _for_now(
    group: Group, goal: Assignment, kept_apart: set[MemberName]
) -> tuple[Assignment, Assignment]:
    """What the goal means for those who are present: what they own, and what waits."""
    assignment: Assignment = {}
    awaited: Assignment = {}
    homeless: list[PartitionId] = []
    for partition in group.partitions:
        id = partition.id
        name = goal.get(id)
        if name is not None and name in group.weights:
            assignment[id] = name
        elif id in group.owners:
            assignment[id] = group.owners[id]
        elif name is not None and (partition.is_new or not group.weights):
            awaited[id] = name
        else:
            homeless.append(id)
    names = group.stayers or group.leavers
    unkept = [name for name in names if name not in kept_apart]
    _take_in(group, homeless, unkept or names, assignment)
    return {p.id: assignment[p.id] for p in group.partitions if p.id in assignment}, awaited


def _take_in(
    group: Group,
    homeless: Iterable[PartitionId],
    names: Iterable[MemberName],
    assignment: Assignment,
) -> None:
    """Give each to the present member that is the least full for its weight; among equals to the
    one that came last: in a rollout the others will leave."""
    weights = usable({name: group.weights[name] for name in names})
    counts = Counter(assignment.values())

    def turn(name: MemberName) -> tuple[float, int, MemberName]:
        return (counts[name] + 1) / weights[name], -group.places.get(name, 0), name

    queue = [turn(name) for name, weight in weights.items() if weight]
    heapq.heapify(queue)
    for id in homeless:
        if not queue:
            return
        name = queue[0][-1]
        assignment[id] = name
        counts[name] += 1
        heapq.heapreplace(queue, turn(name))


class _Reasons:
    """Says why a partition moves."""

    def __init__(self, group: Group, goal: Assignment, hot: Assignment) -> None:
        self._group = group
        self._hot = hot
        self._kept_for = {name: id for id, name in hot.items()}
        self._owned = Counter(group.owners.values())
        self._shares = Counter(goal.values())
        came = {id: name for id, name in group.pins.items() if group.owners.get(id) != name}
        self._comes = {name: id in group.declined for id, name in came.items()}

    def of(self, partition: PartitionFacts, target: MemberName) -> str:
        source = self._group.owners.get(partition.id)
        if partition.id in self._group.declined and partition.pinned_to != target:
            return f"{', '.join(self._group.declined[partition.id])} cannot handle it for now"
        if self._group.pins.get(partition.id) == target:
            return f"it is pinned to {target}"
        if source is None:
            return "nobody has owned it yet" if partition.is_new else "its owner is gone"
        if source in self._group.leavers:
            return f"{source} is leaving"
        if self._hot.get(partition.id) == target:
            return f"its load is more than a fair share, and {target} will own nothing else"
        if source in self._kept_for:
            return f"{source} keeps partition {self._kept_for[source]} alone: its load is that high"
        owned, share = self._owned[source], self._shares[source]
        if owned > share:
            return f"{source} owns {owned} partitions and its share is {share}"
        if source in self._comes:
            is_declined = self._comes[source]
            what = "what others cannot handle" if is_declined else "what is pinned to it"
            return f"{source} makes room for {what}"
        return f"it evens out the load of {source} and {target}"
