"""What a soak has found, as a table for people. Rules: pure; it says what the results say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slopes import Slope

_UNITS = {"memory_mb": "memory, MB", "ledger_kb": "KB of blobs"}


@dataclass(frozen=True, slots=True)
class Judged:
    """The slope of one figure, and what it may be; None where it is shown alone."""

    role: str
    figure: str
    slope: Slope
    limit: float | None

    @property
    def verdict(self) -> str:
        return "not judged" if self.limit is None else self.slope.verdict(self.limit)


def rows_of(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """One of each slope."""
    rows: list[tuple[str, ...]] = []
    for each in found["slopes"]:
        limit = "-" if each["limit"] is None else f"{each['limit']:g}"
        rows.append((
            each["role"],
            _UNITS.get(each["figure"], each["figure"]),
            f"{each['mean']:.1f}",
            f"{each['per_hour']:+.2f}",
            f"{each['low']:+.2f} to {each['high']:+.2f}",
            limit,
            f"{each['samples']} of {each['lives']}",
            each["verdict"],
        ))  # fmt: skip
    return rows


HEAD = ("what", "figure", "mean", "an hour", "95 %", "limit", "samples of lives", "verdict")


def told_of(found: Mapping[str, Any]) -> str:
    """All of it."""
    rows = [HEAD, *rows_of(found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    totals = found["totals"]
    lines = [
        f"{found['minutes']} minutes, {found['stood_still_minutes']} of them standing still; "
        f"{found['kills']} kills, {found['rollouts']} rollouts, {totals['sent']} events",
        *(
            f"{group}: {its['handled']} handled, {its['lost']} lost, {its['again']} again, "
            f"{its['out_of_order']} out of order, {its['wrong_totals']} wrong totals"
            for group, its in totals.items()
            if group != "sent"
        ),
        f"left: {found['left']}",
    ]
    return "\n".join([table, "", *lines])
