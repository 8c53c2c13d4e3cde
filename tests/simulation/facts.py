"""What a checker may know beside the history: the timetable of events, who lives at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simulation.history import Who
from simulation.script import Script
from tidegate.model import MemberName, PartitionId


@dataclass(frozen=True, slots=True)
class Facts:
    """See the module. The script says what befell, and the periods that the group was told."""

    script: Script
    timetable: Mapping[PartitionId, Sequence[float]]
    end: float
    # Since when nothing has moved; None where patience came to its end.
    settled_at: float | None
    # The processes that live at the end, with their weights.
    alive: Mapping[Who, float]
    is_operator_dead: bool
    names: tuple[MemberName, ...]


class Violation(NamedTuple):
    """A property that did not hold: the checker, when, and what was seen."""

    checker: str
    at: float
    text: str

    def __str__(self) -> str:
        return f"{self.checker} at {self.at:.3f}: {self.text}"
