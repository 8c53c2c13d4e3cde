"""What the work of an office is done with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.delivery.policy import Policy
from tidegate.handling import DeadLetters
from tidegate.ops.observer import Observer
from tidegate.sources.choose import EndingSource
from tidegate.spark.admission import Limit


@dataclass(frozen=True, slots=True)
class Tools:
    """What the work is done with. `clock` is monotonic, `wall` the time of day, `dice` 0 to 1."""

    source: EndingSource
    policy: Policy
    limit: Limit
    letters: DeadLetters | None
    observer: Observer
    clock: Callable[[], float]
    wall: Callable[[], float]
    dice: Callable[[], float]
