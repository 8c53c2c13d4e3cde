"""How full each member is under an assignment, and the exchanges between two that would help.

Rules:
- Pure. A level is a member's load by its fair share: 1 is fair. Loads are whole numbers and sums
  are exact, so a level does not depend on how it was come by.
- An exchange gives one partition of the fuller member for one of the other, or for none where the
  counts of both allow that. Pinned partitions, and members kept for a hot one, take no part.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidegate.balance.dealing import Assignment
from tidegate.balance.group import Group
from tidegate.balance.shares import Shares
from tidegate.model import MemberName, PartitionId

# (load, place in the order of partitions, partition): sorts by load, never by chance.
Weighed = tuple[int, int, PartitionId]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the fuller member gives, and gets."""

    level: float  # of the fuller of the two, afterwards
    passed_on: int  # how many partitions change hands
    given: Weighed
    taken: Weighed | None
    giver: MemberName
    taker: MemberName

    def rank(self, goal: float) -> tuple[float, int, float, int, int, MemberName]:
        """The lower the better. What reaches the goal is good enough: then fewer moves count."""
        taken = self.taken[1] if self.taken else -1
        level = max(self.level, goal)
        return level, self.passed_on, self.level, self.given[1], taken, self.taker


class Levels:
    """An assignment that can be changed by exchanges, with everybody's level."""

    def __init__(
        self, group: Group, assignment: Assignment, shares: Shares, hot: Assignment
    ) -> None:
        self.assignment = assignment
        self._group = group
        self._shares = shares
        kept_apart = set(hot.values())
        weights = {n: w for n, w in group.takers.items() if w > 0 and n not in kept_apart}
        self._counts = dict.fromkeys(weights, 0)
        self._loads = dict.fromkeys(weights, 0)
        self._free: dict[MemberName, list[Weighed]] = {name: [] for name in weights}
        for place, partition in enumerate(group.partitions):
            name = assignment[partition.id]
            if name in weights:
                self._counts[name] += 1
                self._loads[name] += group.loads[partition.id]
                if partition.id not in group.pins:
                    self._free[name].append((group.loads[partition.id], place, partition.id))
        for weighed in self._free.values():
            weighed.sort()
        total, whole = sum(self._loads.values()), math.fsum(weights.values()) or 1.0
        self._fair = {name: total * weight / whole for name, weight in weights.items()}
        self._busy = {name: group.busy_from * weight for name, weight in weights.items()}

    def level(self, name: MemberName) -> float:
        fair = self._fair[name]
        return self._loads[name] / fair if fair else 0.0

    def above(self, level: float) -> list[MemberName]:
        """The busy members that are above a level, the fullest first."""
        high = (n for n in self._fair if self.level(n) > level and self._is_busy(n))
        return sorted(high, key=lambda name: (-self.level(name), name))

    def _is_busy(self, name: MemberName) -> bool:
        return self._loads[name] >= self._busy[name]

    def exchanges(
        self, giver: MemberName, partners: int, *, without_moves: bool
    ) -> Iterator[Exchange]:
        """The best few exchanges of a member with each of its emptiest partners.

        `without_moves`: only those that take no more moves than are made anyway.
        """
        others = sorted(
            (name for name in self._fair if name != giver), key=lambda n: (self.level(n), n)
        )
        for taker in others[:partners]:
            if without_moves:
                for cost in (1, 0, -1):
                    given = [w for w in self._free[giver] if self._cost(w, giver, taker) == cost]
                    if given:
                        taken = [
                            w for w in self._free[taker] if self._cost(w, taker, giver) <= -cost
                        ]
                        yield from self._pairs(giver, taker, given, taken, cost <= 0)
            else:
                yield from self._pairs(
                    giver, taker, self._free[giver], self._free[taker], may_give=True
                )

    def _pairs(
        self,
        giver: MemberName,
        taker: MemberName,
        given: list[Weighed],
        taken: list[Weighed],
        may_give: bool,
    ) -> Iterator[Exchange]:
        may_give = may_give and (
            self._counts[giver] > self._shares.lowest[giver]
            and self._counts[taker] < self._shares.highest[taker]
        )
        fair_giver, fair_taker = self._fair[giver], self._fair[taker]
        load_giver, load_taker = self._loads[giver], self._loads[taker]
        # What should change hands to make their levels equal.
        surplus = (load_giver * fair_taker - load_taker * fair_giver) / (fair_giver + fair_taker)
        last_load = -1
        for weighed in given:
            if weighed[0] == last_load:
                continue  # as good as the one before
            last_load = weighed[0]
            near = bisect_left(taken, (last_load - surplus, -1, ""))
            choices: list[Weighed | None] = list(taken[max(0, near - 1) : near + 1])
            if may_give:
                choices.append(None)
            for choice in choices:
                change = last_load - (choice[0] if choice else 0)
                level = max((load_giver - change) / fair_giver, (load_taker + change) / fair_taker)
                yield Exchange(level, 2 if choice else 1, weighed, choice, giver, taker)

    def _cost(self, weighed: Weighed, source: MemberName, target: MemberName) -> int:
        """How many moves it adds to give this one to `target` and not to `source`."""
        owner = self._group.owners.get(weighed[2])
        return (owner == source) - (owner == target)

    def make(self, exchange: Exchange) -> None:
        self._pass_on(exchange.given, exchange.giver, exchange.taker)
        if exchange.taken:
            self._pass_on(exchange.taken, exchange.taker, exchange.giver)

    def undo(self, exchanges: Iterable[Exchange]) -> None:
        """Takes exchanges back, given in the reverse of the order they were made in."""
        for exchange in exchanges:
            self._pass_on(exchange.given, exchange.taker, exchange.giver)
            if exchange.taken:
                self._pass_on(exchange.taken, exchange.giver, exchange.taker)

    def _pass_on(self, weighed: Weighed, source: MemberName, target: MemberName) -> None:
        mine, theirs = self._free[source], self._free[target]
        del mine[bisect_left(mine, weighed)]
        theirs.insert(bisect_left(theirs, weighed), weighed)
        self._counts[source] -= 1
        self._counts[target] += 1
        self._loads[source] -= weighed[0]
        self._loads[target] += weighed[0]
        self.assignment[weighed[2]] = target
