"""People and their habits: what the sensors of a home notice at which time of its day. Pure.

Rules: a home's habits follow from the seed and its number, so that one seed gives one world. Hours
are those of the homes' own day, which may be shorter than ours.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass
from enum import IntEnum

HOURS = 24.0
# In the evening people are at home, and sensors have more to say: so much more at its height.
EVENING_BEGINS, EVENING_ENDS, EVENING_TIMES = 17.0, 23.0, 3.0
# Quarters of an hour, so that a habit is a byte.
_QUARTERS = 4
# In all homes together there are so many alarms in a minute of ours, whatever there are of homes.
ALARMS_PER_MINUTE = 4.0


class Part(IntEnum):
    """A part of somebody's day."""

    ASLEEP = 0
    MORNING = 1
    AWAY = 2
    EVENING = 3


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of sensor. `odds` are that it notices something, by the part of the day.

    Where nobody should be at a door or a window, what it notices is an alarm; what `is_alarm` is
    one always.
    """

    name: str
    odds: tuple[float, float, float, float]
    is_alarm: bool = False


KINDS = (
    Kind("motion", (0.02, 0.6, 0.0, 0.7)),
    Kind("door", (0.0, 0.2, 0.0, 0.15)),
    Kind("window", (0.0, 0.1, 0.0, 0.05)),
    Kind("glass", (0.0, 0.0, 0.0, 0.0), is_alarm=True),
    Kind("smoke", (0.0, 0.0, 0.0, 0.0), is_alarm=True),
)
CARBON_MONOXIDE = Kind("carbon-monoxide", (0.0, 0.0, 0.0, 0.0), is_alarm=True)


class Habits:
    """When the people of each home get up, leave, come back and go to bed."""

    def __init__(self, homes: int, seed: int) -> None:
        draw = random.Random(seed).randrange
        self._up = array("B", (5 * _QUARTERS + draw(12) for _ in range(homes)))
        self._leave = array("B", (self._up[home] + 2 + draw(8) for home in range(homes)))
        self._back = array("B", (15 * _QUARTERS + draw(16) for _ in range(homes)))
        self._bed = array("B", (21 * _QUARTERS + draw(12) for _ in range(homes)))

    def part(self, home: int, hour: float) -> Part:
        """What part of its day it is in a home."""
        quarter = hour * _QUARTERS
        if quarter < self._up[home] or quarter >= self._bed[home]:
            return Part.ASLEEP
        if quarter < self._leave[home]:
            return Part.MORNING
        return Part.AWAY if quarter < self._back[home] else Part.EVENING


def liveliness(hour: float) -> float:
    """How much more than at night all homes together say at this hour: 1 to EVENING_TIMES."""
    if not EVENING_BEGINS < hour < EVENING_ENDS:
        return 1.0
    middle = (EVENING_BEGINS + EVENING_ENDS) / 2
    share = 1.0 - abs(hour - middle) / (middle - EVENING_BEGINS)
    # It rises fast and stays for a while.
    return 1.0 + (EVENING_TIMES - 1.0) * min(share * 2, 1.0)
