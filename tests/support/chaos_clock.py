"""Clocks that are wrong: laid into pods as sitecustomize.py, it gives each pod clocks of its own.

Its day is up to five minutes off, and its seconds are up to a tenth too short or too long, by the
name of its member. `time.true_time` is the machine's clock, for who measures.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from typing import Any

_drawn = zlib.crc32(os.environ.get("TIDEGATE_MEMBER", "").encode())
RATE = 0.9 + 0.2 * (_drawn % 1000) / 999
OFFSET_S = -300.0 + 600.0 * (_drawn // 1000 % 1000) / 999


def skewed(clock: Callable[[], float], offset_s: float) -> Callable[[], float]:
    begun = clock()
    return lambda: begun + offset_s + (clock() - begun) * RATE


def skew() -> None:
    found: Any = time
    found.true_time = time.time
    found.time = skewed(time.time, OFFSET_S)
    found.monotonic = skewed(time.monotonic, 0.0)
    found.time_ns = lambda: int(found.time() * 1e9)
    found.monotonic_ns = lambda: int(found.monotonic() * 1e9)


# Imported by its own name it leaves clocks alone.
if __name__ == "sitecustomize":
    skew()
