"""How many homes this machine can have: measured, not guessed.

Rules: what is measured is a second of the work that everybody here does with a reading: it is
drawn, written, read and counted. What the demo takes in all was seen to be a number of times that
(TIMES, Spark included); and most of the machine is left to whoever uses it, at the liveliest hour.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from homes.habits import EVENING_TIMES, KINDS
from homes.world import Plan, World

# CPU of the whole demo for a reading, in units of what is measured here: docs/demo.md.
TIMES = 40.0
SHARE = 0.3
MOST, LEAST = 100_000, 200
_HOMES, _MEASURED_S = 500, 0.5
# Pages, hub and consumers keep so much of a home; the rest of the demo takes this besides.
_HOME_BYTES, _REST_BYTES = 8_000, 900 << 20


def measured_s() -> float:
    """CPU seconds that a reading takes."""
    world = World(Plan(_HOMES, 1, period_s=0.5), 0.0)
    counts: dict[tuple[str, str], int] = {}
    begun, at = time.process_time(), 0.0
    while time.process_time() - begun < _MEASURED_S:
        at += 0.1
        for each in world.say(at):
            reading = json.loads(each.body)
            key = (reading["home"], reading["kind"])
            counts[key] = counts.get(key, 0) + 1
    return (time.process_time() - begun) / world.truth.readings


def fitting(cores: int, free_bytes: int, reading_s: float, period_s: float = 60.0) -> int:
    """So many homes, as 1, 2 or 5 with zeros. Pure."""
    readings_s = len(KINDS) / period_s * EVENING_TIMES
    by_cpu = cores * SHARE / (readings_s * reading_s * TIMES)
    by_memory = max(free_bytes - _REST_BYTES, 0) / _HOME_BYTES
    most = max(min(by_cpu, by_memory, MOST), LEAST)
    found = LEAST
    for power in range(2, 6):
        for digit in (1, 2, 5):
            if LEAST <= digit * 10**power <= most:
                found = digit * 10**power
    return found


def free_bytes() -> int:
    """Memory that can be had: also what the system only keeps for later."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def measure() -> dict[str, float]:
    """What this machine has, and what fits it."""
    cores = len(os.sched_getaffinity(0))
    free = free_bytes()
    reading_s = measured_s()
    return {
        "cores": cores,
        "free_mb": free >> 20,
        "reading_us": round(reading_s * 1e6, 1),
        "homes": fitting(cores, free, reading_s),
    }
