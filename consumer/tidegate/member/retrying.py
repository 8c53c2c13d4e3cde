"""How long to wait before a partition that could not be read is tried again. Pure.

Rules:
- Each wait is twice the last. What passes by itself is tried again within 5 s: its reader has been
  patient before it said so. What does not, such as a consumer group that does not exist, is tried
  again within 30 s, so that reading goes on soon after a person has fixed it.
- Waits are spread by name and by count, so that partitions that failed together do not come back in
  one wave.
"""

from __future__ import annotations

import re
from zlib import crc32

FIRST_S = 1.0
MOST_PASSING_S = 5.0
MOST_FATAL_S = 30.0
_MOST_DOUBLINGS = 10
_COMPARED = 500
_WITH_DIGIT = re.compile("[0-9]")


def retry_pause_s(name: str, failures: int, *, is_fatal: bool) -> float:
    """The wait after so many failures in a row (from 1); up to a quarter of it is taken away."""
    most = MOST_FATAL_S if is_fatal else MOST_PASSING_S
    longest = min(FIRST_S * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), most)
    spread = crc32(f"{name}/{failures}".encode(errors="replace")) / 2**32
    return longest * (1.0 - spread / 4)


def cause_of(message: str) -> str:
    """What two messages of the same failure share: all but places, times and tracking ids."""
    words = message[:_COMPARED].split()
    return " ".join(word for word in words if not _WITH_DIGIT.search(word))
