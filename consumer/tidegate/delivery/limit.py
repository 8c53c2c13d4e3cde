"""How many plain calls run at once, so that others of the process get the interpreter. Pure.

    limit = START
    limit = limit_after(limit, Watched(late_s=(0.004, 0.006, 0.005), cpu=0.97, waiting=14))   # 1

Python runs one thread at a time. Threads that compute take turns, and whoever waits for a socket
again and again, such as the event loop and the renewal of leases, queues behind all of them each
time. A thread that only sleeps wakes up late if that queue is long.

Rules:
- Threads that wait for others, or compute outside the interpreter, leave the queue empty: then as
  many run as want to.
- Where the queue is never empty, more threads do not handle more. A few are enough.
- A process that hardly uses the processor has no such queue, however late its threads wake up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low, quantiles

# The switch interval: a thread gives up the interpreter after this time if another one waits.
SWITCH_S = 0.001
START = 2
# A call that is shorter keeps others waiting for two switches at the most, and needs no turn.
SHORT_S = 2 * SWITCH_S
# In a quarter of the looks the interpreter was free.
_FREE_S = SWITCH_S / 2
# In half of them it took longer than this to get it.
_LATE_S = 3 * SWITCH_S
_IDLE_CPU = 0.1
# Fewer looks are too few to judge.
FEWEST = 3


@dataclass(frozen=True, slots=True)
class Watched:
    """A moment of the process: how late a thread that sleeps woke up each time, the share of a
    core that was used, and how many calls wait for their turn."""

    late_s: Sequence[float]
    cpu: float
    waiting: int


def limit_after(limit: int, watched: Watched) -> int:
    """The number of calls that may run at once from now on."""
    if len(watched.late_s) < FEWEST:
        return limit
    is_idle = watched.cpu < _IDLE_CPU
    if not is_idle and median_low(watched.late_s) > _LATE_S:
        return max(limit // 2, 1)
    is_free = quantiles(watched.late_s, n=4)[0] < _FREE_S
    return limit * 2 if watched.waiting and (is_idle or is_free) else limit


def share(limit: int, wanting: int) -> float:
    """The share of the target that a call gets while `wanting` calls run or wait: each has a turn
    within the target."""
    return min(limit / wanting, 1.0) if wanting else 1.0
