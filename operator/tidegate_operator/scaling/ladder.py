"""The counts of consumers that are worth having, and how much the fullest of so many has. Pure.

Rules: partitions are dealt as members deal them: one that is far above a fair share has a consumer
for itself, and of the others everybody has the same number or one more. A count that leaves the
largest number of partitions as it is helps nobody: 16 partitions go to 1, 2, 3, 4, 6, 8 or 16.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import lru_cache

# A partition with so many times a fair share is hot.
_HOT = 1.15


@lru_cache(maxsize=256)
def ladder(partitions: int) -> tuple[int, ...]:
    """The counts, from 1 on, that lower the largest number of partitions that a consumer has."""
    rungs = [1] if partitions else []
    while rungs and rungs[-1] < partitions:
        share = -(-partitions // rungs[-1])
        rungs.append(-(-partitions // (share - 1)))
    return tuple(rungs)


def rungs_within(partitions: int, least: int, most: int) -> tuple[int, ...]:
    """Those of the ladder within two bounds, and the lower bound itself."""
    return tuple(sorted({least, *(rung for rung in ladder(partitions) if least < rung <= most)}))


def heaviest(loads: Sequence[float], count: int) -> float:
    """The load of the fullest of so many consumers; `loads` is sorted, the heaviest first."""
    if not loads:
        return 0.0
    if count <= 0:
        return float("inf")
    loads, count, fullest = _without_hot(loads, count)
    room = -(-len(loads) // count)
    queue = [(0.0, 0, place) for place in range(count)]
    for load in loads:
        full, owned, place = queue[0]
        fullest = max(fullest, full + load)
        if owned + 1 < room:
            heapq.heapreplace(queue, (full + load, owned + 1, place))
        else:
            heapq.heappop(queue)
    return fullest


def _without_hot(loads: Sequence[float], count: int) -> tuple[Sequence[float], int, float]:
    """The loads and consumers that are left when each hot partition has a consumer for itself."""
    fullest, first, rest = 0.0, 0, sum(loads)
    while count - first > 1 and first < len(loads) - 1:
        fair = rest / (count - first)
        if loads[first] <= fair * _HOT:
            break
        fullest = max(fullest, loads[first])
        rest -= loads[first]
        first += 1
    return loads[first:], count - first, fullest


def first_enough(rungs: Sequence[int], is_enough: Callable[[int], bool]) -> int | None:
    """The lowest count that is enough; None where none is. More are never worse."""
    low, high = 0, len(rungs)
    while low < high:
        middle = (low + high) // 2
        if is_enough(rungs[middle]):
            high = middle
        else:
            low = middle + 1
    return rungs[low] if low < len(rungs) else None
