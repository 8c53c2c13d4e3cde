"""Whether something grows: the slope of samples over time, and between what bounds it is.

Rules: pure. Several lives of one kind of process have one slope, each with a level of its own: a
process that was started again is not a fall. Samples that follow one another are alike, so that
many of them say less than their number; the interval is widened by how alike they are. A verdict is
about the interval and never about the slope alone, and a minute's start is not taken for an hour's
growth: what a run was too short to tell it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

HOUR_S = 3600.0
# Of a normal distribution: 95 % lie between minus this and this.
_Z = 1.96
_FEWEST = 6
# This part of an hour's limit must have been seen to come.
_SEEN = 4

Life = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Slope:
    """In an hour: the slope, and the interval that it is in with 95 %."""

    per_hour: float
    low: float
    high: float
    samples: int
    lives: int
    mean: float
    # Of the longest life.
    hours: float

    def verdict(self, limit: float) -> str:
        """Flat where it is surely below the limit."""
        if self.high <= limit:
            return "flat"
        has_grown = self.per_hour * self.hours >= limit / _SEEN
        return "grows" if self.low > limit and has_grown else "too short to tell"


def slope_of(lives: Sequence[Life]) -> Slope | None:
    """Of samples (seconds, value), life by life; None where there are too few."""
    whole = [life for life in lives if len(life) >= _FEWEST]
    xs: list[float] = []
    ys: list[float] = []
    for life in whole:
        mean_x = sum(x for x, _ in life) / len(life)
        mean_y = sum(y for _, y in life) / len(life)
        xs += [x - mean_x for x, _ in life]
        ys += [y - mean_y for _, y in life]
    spread = sum(x * x for x in xs)
    if not spread:
        return None
    slope = sum(x * y for x, y in zip(xs, ys, strict=True)) / spread
    rests = [y - slope * x for x, y in zip(xs, ys, strict=True)]
    count = len(xs) - len(whole) - 1
    told = _independent(rests, count)
    error = math.sqrt(sum(rest * rest for rest in rests) / count / spread * (count / told))
    # Student's, near enough: few samples widen it.
    width = _Z * (1 + (_Z**2 + 1) / (4 * told)) * error
    mean = sum(y for life in whole for _, y in life) / len(xs)
    per_hour, wide = slope * HOUR_S, width * HOUR_S
    hours = max(life[-1][0] - life[0][0] for life in whole) / HOUR_S
    return Slope(per_hour, per_hour - wide, per_hour + wide, len(xs), len(whole), mean, hours)


def _independent(rests: Sequence[float], count: int) -> float:
    """How many samples that know nothing of each other would say as much."""
    power = sum(rest * rest for rest in rests)
    if not power:
        return float(count)
    alike = sum(a * b for a, b in pairwise(rests)) / power
    alike = min(max(alike, 0.0), 0.98)
    return max(count * (1 - alike) / (1 + alike), 2.0)
