"""Lengths of time as people write them in a file: 60s, 5m, 1h30m. Pure."""

from __future__ import annotations

import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h)"
_PARTS = re.compile(r"(?<![0-9])([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
# What a schema asks of such a text.
PATTERN = "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$"
LONGEST_TEXT = 32


class Duration(float):
    """Seconds that are written with their unit."""

    def __str__(self) -> str:
        return duration_text(self)


def seconds_of(text: str) -> Duration | None:
    """The seconds; None where the text is no length of time, or none at all."""
    if len(text) > LONGEST_TEXT or not re.fullmatch(f"(?:{_PART})+", text):
        return None
    found = sum(float(number) * _SECONDS[unit] for number, unit in _PARTS.findall(text))
    return Duration(found) if found > 0 else None


def duration_text(seconds: float) -> str:
    """90 -> '90s', 7200 -> '2h', 0.5 -> '500ms'."""
    for unit in ("h", "m"):
        if seconds >= 2 * _SECONDS[unit] and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    return f"{seconds:g}s"
