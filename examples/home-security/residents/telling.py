"""What a page is told of a home's minutes and quarters of an hour, as short texts. Pure.

Rules: a row has the same fields for a minute as for a quarter, in the order of FIELDS, without
their names. What an older slice does not have is null. Texts are made once and are sent to every
page of the home; who compares two of them compares what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.slices.reading import Row

FIELDS = ("kind", "count", "alarms", "total", "least", "most", "last", "last_at", "alarm_at")
QUARTER_S = 900
# Of so long ago minutes are told one by one; before that, quarters of an hour.
MINUTES_S = 3_600

_KIND, _COUNT, _ALARMS, _TOTAL, _LEAST, _MOST, _LAST, _LAST_AT, _ALARM_AT = range(len(FIELDS))

# The rows of a home in some stretch of time.
Told = list[list[Any]]


def quarter_of(at: float) -> int:
    """When the quarter of an hour began in which a time is."""
    return int(at) // QUARTER_S * QUARTER_S


def told(rows: Iterable[Row]) -> Told:
    """The rows of a minute."""
    found: Told = [[row.get(name) for name in FIELDS] for row in rows]
    for row in found:
        for summand in (_COUNT, _ALARMS, _TOTAL):
            row[summand] = row[summand] or 0
    return found


def text_of(rows: Told) -> str:
    return json.dumps(rows, separators=(",", ":"))


def summed(parts: Iterable[Told]) -> Told:
    """The rows of several stretches as one."""
    found: dict[str, list[Any]] = {}
    for part in parts:
        for row in part:
            before = found.get(row[_KIND])
            found[row[_KIND]] = list(row) if before is None else _both(before, row)
    return [found[kind] for kind in sorted(found)]


def _both(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    later = other if (other[_LAST_AT] or 0) >= (one[_LAST_AT] or 0) else one
    return [
        one[_KIND],
        one[_COUNT] + other[_COUNT],
        one[_ALARMS] + other[_ALARMS],
        one[_TOTAL] + other[_TOTAL],
        _of(min, one[_LEAST], other[_LEAST]),
        _of(max, one[_MOST], other[_MOST]),
        later[_LAST],
        _of(max, one[_LAST_AT], other[_LAST_AT]),
        _of(max, one[_ALARM_AT], other[_ALARM_AT]),
    ]


def _of(choose: Any, *values: Any) -> Any:
    return choose((value for value in values if value is not None), default=None)
