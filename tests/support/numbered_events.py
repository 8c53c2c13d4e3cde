"""Numbered events whose totals are known beforehand: what each says, and what the windows must say.

Every partition has the same events, `event(0)`, `event(1)`, …; their times are a little out of
order, and none is late. A handler counts them in WINDOWS, by key; `truth` has the totals.

Rules: pure, and complete in itself: the file is also laid beside the handler, which imports it.
"""

from __future__ import annotations

import json
from typing import Any

from tidegate.windows import TumblingWindows

WINDOWS = TumblingWindows(size_s=20, lateness_s=4, write_every_s=2)
_BEGIN_MS = 1_800_000_000_000
# An event a millisecond of event time, and each up to two seconds away from its turn.
_DISORDER_MS = 2_000
_STRIDE = 7_919
_KEYS = 10

Totals = dict[str, dict[str, int]]


def event(number: int) -> bytes:
    """The body of an event."""
    at_ms = _BEGIN_MS + number + number * _STRIDE % _DISORDER_MS
    return b'{"n":%d,"ms":%d,"key":"k%d"}' % (number, at_ms, number % _KEYS)


def count(windows: Any, body: dict[str, Any]) -> None:
    """Adds an event to its window. `windows` is what WINDOWS.of gives."""
    slot = windows.slot(body["ms"] / 1000, body["key"])
    if slot is None:
        raise ValueError(f"event {body['n']} came too late for its window")
    slot["count"] = slot.get("count", 0) + 1
    slot["sum"] = slot.get("sum", 0) + body["n"]


def truth(events: int) -> dict[str, Totals]:
    """The totals of a partition with so many events: by the window's name, then by key."""
    found: dict[str, Totals] = {}
    for number in range(events):
        said = json.loads(event(number))
        start = WINDOWS.start_of(said["ms"] / 1000)
        totals = found.setdefault(name_of(start), {})
        total = totals.setdefault(said["key"], {"count": 0, "sum": 0})
        total["count"] += 1
        total["sum"] += number
    return found


def name_of(start: float) -> str:
    """What a window's blob is called."""
    return f"{start:.0f}"
