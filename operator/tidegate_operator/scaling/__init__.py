"""How many consumers a group shall have, and why: `decide(history, policy, now) -> Decision`.

Pure. A look at the group goes into the history (`looked`), and so does what was decided
(`decided`): history, policy and time are all that a decision is made from.
"""

from __future__ import annotations

from tidegate_operator.scaling.decide import decide
from tidegate_operator.scaling.floors import Floor
from tidegate_operator.scaling.history import History, Record, decided, looked
from tidegate_operator.scaling.nouns import (
    Bound,
    Decision,
    Inputs,
    Mode,
    PartitionSample,
    Policy,
    Reason,
    Sample,
)
from tidegate_operator.scaling.report import Report
from tidegate_operator.scaling.standstill import Standstill, Watch

__all__ = [
    "Bound",
    "Decision",
    "Floor",
    "History",
    "Inputs",
    "Mode",
    "PartitionSample",
    "Policy",
    "Reason",
    "Record",
    "Report",
    "Sample",
    "Standstill",
    "Watch",
    "decide",
    "decided",
    "looked",
]
