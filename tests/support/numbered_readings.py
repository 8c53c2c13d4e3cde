"""Numbered readings of homes whose aggregates are known beforehand.

`reading(partition, number, begin_s)` is what an event says; `truth(partition, events, begin_s)` are
the rows that the example's activity must have then, by the start of the minute and by home.

Rules: pure. The times are near those at which the events are sent, a little out of order; some
readings cannot be used, and count nowhere. What is true is worked out here from the texts alone,
without a line of what is tested.
"""

from __future__ import annotations

import json
from typing import Any

from tidegate.sending.sensors import KINDS

# As many seconds of the homes' clocks between two events of a partition.
EACH_S = 0.01
_HOMES = 200
_STRIDE = 7_919
_DISORDER_MS = 2_000

Rows = dict[int, dict[str, list[dict[str, Any]]]]


def reading(partition: int, number: int, begin_s: float) -> bytes:
    """The body of an event."""
    at = begin_s + number * EACH_S + (number * _STRIDE % _DISORDER_MS) / 1000
    home = f"home-{partition}-{(number * _STRIDE + number // _HOMES) % _HOMES:03}"
    said = {
        "home": None if number % 211 == 0 else home,
        "kind": KINDS[number // 7 % len(KINDS)].name,
        "value": number * _STRIDE % 199 - 50,
        "alarm": number % 61 == 0,
        "at": round(at, 3),
    }
    return json.dumps(said, separators=(",", ":")).encode()


def truth(partition: int, events: int, begin_s: float) -> Rows:
    """The rows of a partition that has so many events."""
    found: dict[int, dict[str, dict[str, dict[str, Any]]]] = {}
    for number in range(events):
        said = json.loads(reading(partition, number, begin_s))
        if said["home"] is None:
            continue
        homes = found.setdefault(int(said["at"]) // 60 * 60, {})
        row = homes.setdefault(said["home"], {}).setdefault(said["kind"], _new(said["kind"]))
        _count(row, said)
    return {
        minute: {home: [kinds[kind] for kind in sorted(kinds)] for home, kinds in homes.items()}
        for minute, homes in found.items()
    }


def _new(kind: str) -> dict[str, Any]:
    return {
        **{"kind": kind, "count": 0, "alarms": 0, "total": 0},
        **{"least": None, "most": None, "last": None, "alarm_at": None, "last_at": 0},
    }


def _count(row: dict[str, Any], said: dict[str, Any]) -> None:
    value = said["value"]
    row["count"] += 1
    row["total"] += value
    row["least"] = value if row["least"] is None else min(row["least"], value)
    row["most"] = value if row["most"] is None else max(row["most"], value)
    row["last"] = value
    at_ms = int(said["at"] * 1000)
    row["last_at"] = max(row["last_at"], at_ms)
    if said["alarm"]:
        row["alarms"] += 1
        row["alarm_at"] = max(row["alarm_at"] or 0, at_ms)
