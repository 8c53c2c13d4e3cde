"""The ids of the service's ranges, by which some processors name their leases. Pure.

Rules:
- A range that was split is told by its parts, each of which names all that it came from. So a lease
  of a range that is no more is known for what it is of, also by who comes only after the split.
- What was merged names what it came from as well, and does not say which keys were whose: of that
  nothing is concluded. What was seen while it was there stays known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.sources.cosmos.ranges import FeedRange, is_tiled


class RangeIds:
    """Of one container: the ids that are known, both ways."""

    def __init__(self) -> None:
        self._ranges: dict[str, FeedRange] = {}
        self._now: frozenset[str] = frozenset()

    def learn(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """The ranges as the service has them now."""
        rows = list(rows)
        now = {str(row["id"]): _range_of(row) for row in rows}
        self._ranges = {**_before(rows), **self._ranges, **now}
        self._now = frozenset(now)

    def range(self, id: str) -> FeedRange | None:
        return self._ranges.get(id)

    def id(self, range: FeedRange) -> str | None:
        """The id of a range: of the one that is there, or else of one that was."""
        found = [id for id, each in self._ranges.items() if each == range]
        return next((id for id in found if id in self._now), found[0] if found else None)

    def has_now(self, id: str) -> bool:
        """Whether there is such a range still."""
        return id in self._now


def _range_of(row: Mapping[str, Any]) -> FeedRange:
    return FeedRange(str(row["minInclusive"]), str(row["maxExclusive"]))


def _before(rows: list[Mapping[str, Any]]) -> dict[str, FeedRange]:
    """What the ranges came from by splits alone."""
    heirs: dict[str, list[FeedRange]] = {}
    for row in rows:
        for parent in row.get("parents") or ():
            heirs.setdefault(str(parent), []).append(_range_of(row))
    # Two that have the same heirs were merged, whatever else came before or after.
    counts = Counter(tuple(sorted(each)) for each in heirs.values())
    merged = {range for ranges, count in counts.items() if count > 1 for range in ranges}
    found: dict[str, FeedRange] = {}
    for id, ranges in heirs.items():
        whole = FeedRange(min(ranges).low, max(ranges).high)
        if len(ranges) > 1 and is_tiled(whole, ranges) and not merged & {*ranges}:
            found[id] = whole
    return found
