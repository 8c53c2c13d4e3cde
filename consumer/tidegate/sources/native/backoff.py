"""How long to wait before the next try, by what went wrong and how often. Pure: dice are passed in.

Rules: the first try after a loss comes almost at once; each further one waits about twice as long,
up to a limit; a service that asks for patience gets it. Every wait is jittered, so that members
that lost the same service do not come back in one wave.
"""

from __future__ import annotations

from collections.abc import Callable

FIRST_S = 0.05
LIMIT_S = 10.0
_FACTOR = 2.0
_MOST_DOUBLINGS = 16


def pause_s(failures: int, dice: Callable[[], float], at_least_s: float = 0.0) -> float:
    """The wait after so many failures in a row (from 1); `dice` gives a number below 1."""
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    longest = min(FIRST_S * _FACTOR**doublings, LIMIT_S)
    jittered = longest * (0.5 + dice() / 2)
    return jittered if not at_least_s else at_least_s * (1 + dice() / 4) + jittered
