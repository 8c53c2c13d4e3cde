"""How fast events come to a partition, from where it ended at some times. Pure.

Rules:
- A rate that has risen is told once it is known how high it is now, and no sooner: what came before
  the rise, and the time in which it was, are not in it. Until then the mean of all times is told.
- A rise is what chance does not make, at rates at which events come by chance; and it lasts.
- That a rate has fallen shows in the mean, by and by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# A rise is at least by this factor, lasts for so long, and has this to chance: the logarithm of how
# much likelier it is than one rate all the time.
_RISE, _LASTS_S, _LIKELIER = 1.5, 0.9, 11.0


class End(NamedTuple):
    """Where a partition ended, and when that was."""

    at: float
    sequence: int


def arriving(ends: Sequence[End]) -> float | None:
    """Events a second; None where there are not two times."""
    if len(ends) < 2:
        return None
    mean = _rate(ends[0], ends[-1])
    likelier, place = max(
        ((_likelier(ends[0], ends[at], ends[-1]), at) for at in range(1, len(ends) - 1)),
        default=(0.0, 0),
    )
    # It may have risen after the one or before the other: it is high from the next on.
    risen = ends[place + 1] if likelier >= _LIKELIER else ends[-1]
    return _rate(risen, ends[-1]) if ends[-1].at - risen.at >= _LASTS_S else mean


def _likelier(first: End, middle: End, last: End) -> float:
    """How much likelier a rise in the middle is than one rate; 0 where there is no clear rise."""
    before, after = middle.sequence - first.sequence, last.sequence - middle.sequence
    if after * (middle.at - first.at) < _RISE * before * (last.at - middle.at):
        return 0.0
    return (
        _weight(before, middle.at - first.at)
        + _weight(after, last.at - middle.at)
        - _weight(before + after, last.at - first.at)
    )


def _weight(events: int, seconds: float) -> float:
    return events * math.log(events / seconds) if events > 0 else 0.0


def _rate(since: End, until: End) -> float:
    return max(until.sequence - since.sequence, 0) / (until.at - since.at)
