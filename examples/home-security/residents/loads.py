"""What is still to be read for the homes whose pages are open: the newest first. Pure.

Rules: the unit is a quarter of an hour of a partition. A home goes from the newest to the oldest;
one that comes later catches up with the others, and then they are read together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Unit(NamedTuple):
    """What to read next. `goes_on`: those of the homes that go on with what is before it."""

    partition: str
    quarter: int
    homes: frozenset[str]
    goes_on: frozenset[str]


class Loads:
    """See the module."""

    def __init__(self) -> None:
        self._once: dict[tuple[int, str], set[str]] = {}
        self._going_on: dict[tuple[int, str], set[str]] = {}

    def begin(self, partition: str, quarter: int, homes: Iterable[str]) -> None:
        """These homes are read from this quarter on, back to the oldest."""
        self._going_on.setdefault((quarter, partition), set()).update(homes)

    def once(self, partition: str, quarter: int, homes: Iterable[str]) -> None:
        """Something came late to a quarter."""
        self._once.setdefault((quarter, partition), set()).update(homes)

    def again(self, unit: Unit) -> None:
        """It could not be read, and is still to be."""
        self.begin(unit.partition, unit.quarter, unit.goes_on)
        self.once(unit.partition, unit.quarter, unit.homes - unit.goes_on)

    def take(self) -> Unit | None:
        """The next unit, if any."""
        place = max((*self._once, *self._going_on), default=None)
        if place is None:
            return None
        going_on = frozenset(self._going_on.pop(place, ()))
        homes = going_on | self._once.pop(place, set())
        return Unit(place[1], place[0], homes, going_on)
