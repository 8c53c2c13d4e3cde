"""Feed ranges: what a partition of a Cosmos container is. Pure.

Rules:
- A range is of effective partition keys, from `low` on and below `high`, in upper-case
  hexadecimal; `""` is the least and `FF` is above all. A partition is called `{low}-{high}`, in
  lower case, since it is part of a blob's name.
- Keys are compared as the texts that they are, which is their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tidegate.model import PartitionId

_ID = re.compile(r"([0-9a-f]*)-([0-9a-f]+)")


@dataclass(frozen=True, slots=True, order=True)
class FeedRange:
    """See the module."""

    low: str
    high: str

    @property
    def id(self) -> PartitionId:
        return f"{self.low}-{self.high}".lower()

    @property
    def wire(self) -> dict[str, Any]:
        """As it stands in the service's and the SDK's JSON."""
        return {
            "min": self.low,
            "max": self.high,
            "isMinInclusive": True,
            "isMaxInclusive": False,
        }

    def meets(self, other: FeedRange) -> bool:
        """Whether they have keys in common."""
        return self.low < other.high and other.low < self.high

    def holds(self, other: FeedRange) -> bool:
        """Whether all keys of the other are in this one."""
        return self.low <= other.low and other.high <= self.high

    def common(self, other: FeedRange) -> FeedRange:
        """The keys that both have, where they meet."""
        return FeedRange(max(self.low, other.low), min(self.high, other.high))


WHOLE = FeedRange("", "FF")


@lru_cache(maxsize=8192)
def range_of(partition: PartitionId) -> FeedRange | None:
    """The range that a partition's name says; None where it says none."""
    found = _ID.fullmatch(partition)
    if found is None:
        return None
    low, high = found.group(1).upper(), found.group(2).upper()
    return FeedRange(low, high) if low < high else None


def range_of_wire(said: dict[str, Any]) -> FeedRange:
    """The range of the service's JSON, which begins with `min` or `minInclusive`."""
    low, high = said.get("min", said.get("minInclusive")), said.get("max", said.get("maxExclusive"))
    return FeedRange(str(low).upper(), str(high).upper())


def gaps(whole: FeedRange, ranges: Iterable[FeedRange]) -> list[FeedRange]:
    """What of a range none of the others has, in order."""
    found: list[FeedRange] = []
    low = whole.low
    for each in sorted(ranges):
        if each.high <= low or each.low >= whole.high:
            continue
        if each.low > low:
            found.append(FeedRange(low, each.low))
        low = max(low, each.high)
    if low < whole.high:
        found.append(FeedRange(low, whole.high))
    return found


def is_tiled(whole: FeedRange, ranges: Iterable[FeedRange]) -> bool:
    """Whether the ranges cover the whole, and no two of them meet."""
    ordered = sorted(each for each in ranges if each.meets(whole))
    overlap = any(a.high > b.low for a, b in pairwise(ordered))
    return not overlap and not gaps(whole, ordered)
