"""What is believed of a look at a group: figures that cannot be are left out, and it is said so.

Rules: pure.
- What is below 0, or is no number, is not known. A partition's handler works all the time at most.
- A lag or an end that rises by more than could have arrived is not believed before it is said once
  more, and not only seen once more. Neither is an end that goes back: that takes a while.
- Rates of a partition whose position stands still although it is said to be handled are not
  believed: whoever says so is stuck.
- What is not believed is not known. So it never makes the group smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tidegate.model import NO_SEQUENCE, PartitionId
from tidegate_operator.scaling.nouns import PartitionSample, Sample

# So many events a second may come to a partition out of nothing, and so many times as many as came
# to it before.
_SUDDEN, _TIMES = 20_000.0, 100.0
# Looks are never closer than this, whatever their clock says.
_CLOSEST_S = 2.0
# A position that stands for so long is not being handled.
_STILL_S = 30.0
_FASTEST = 1e8
# An end that went back is that of a partition that was made anew when it has stood for so long.
_ANEW_S = 10.0
_DOUBTS_TOLD = 3


@dataclass(frozen=True, slots=True)
class Known:
    """What was seen of a partition so far, for judging the next look."""

    at: float
    lag: int | None = None
    end: int | None = None
    arriving: float = 0.0
    # What was not believed in the last look.
    doubted_lag: int | None = None
    doubted_end: int | None = None
    # When what was not believed was said.
    doubted_at: float = 0.0
    # Where it is handled up to, and since when it stands there.
    handled: int | None = None
    still_since: float = 0.0


Knowledge = Mapping[PartitionId, Known]


def believed(sample: Sample, before: Knowledge) -> tuple[Sample, Knowledge, tuple[str, ...]]:
    """The look without what cannot be, what is known from now on, and the doubts in words."""
    partitions: dict[PartitionId, PartitionSample] = {}
    known: dict[PartitionId, Known] = {}
    doubts: list[str] = []
    for partition, seen in sample.partitions.items():
        look = _Look(partition, before.get(partition), sample.at)
        partitions[partition] = look.judge(seen)
        known[partition] = look.known
        doubts += look.doubts
    said = doubts[:_DOUBTS_TOLD]
    if len(doubts) > _DOUBTS_TOLD:
        said.append(f"and {len(doubts) - _DOUBTS_TOLD} more")
    return (
        replace(sample, partitions=MappingProxyType(partitions)),
        MappingProxyType(known),
        tuple(said),
    )


class _Look:
    """One partition in one look."""

    def __init__(self, partition: PartitionId, before: Known | None, at: float) -> None:
        self._partition = partition
        self._before = before
        self._at = self._said_at = at
        # What `Known` is made of in the end: of each partition in each look it is made but once.
        self._known_end: int | None = None
        self._known_lag: int | None = None
        self._doubted_end: int | None = None
        self._doubted_lag: int | None = None
        self._doubted_at = 0.0
        self.known = Known(at, still_since=at)
        self.doubts: list[str] = []

    def judge(self, seen: PartitionSample) -> PartitionSample:
        self._said_at = seen.end_at if seen.end_at is not None else self._at
        arriving, handling = (
            self._rate(seen.arriving, "arriving"),
            self._rate(seen.handling, "handling"),
        )
        busy, behind_s = self._share(seen.busy, "busy"), self._number(seen.behind_s, "wait")
        utilization = self._share(seen.utilization, "utilization")
        lag = self._count(seen.lag)
        still_since = self._still_since(seen)
        if handling and self._at - still_since >= _STILL_S and (lag or 0) > 0:
            self._doubt(f"handles {handling:g} events/s, and stands at {seen.handled}")
            handling = busy = utilization = None
        rate = arriving if arriving is not None else self._before.arriving if self._before else 0.0
        end, is_doubted = self._end(seen.end)
        lag = None if is_doubted else self._lag(lag)
        behind_s = behind_s if lag is not None else None
        self.known = Known(
            self._at,
            self._known_lag,
            self._known_end,
            rate,
            self._doubted_lag,
            self._doubted_end,
            self._doubted_at,
            seen.handled,
            still_since,
        )
        found = (lag, behind_s, arriving, handling, busy, utilization, end)
        if found == (
            seen.lag,
            seen.behind_s,
            seen.arriving,
            seen.handling,
            seen.busy,
            seen.utilization,
            seen.end,
        ):
            return seen
        return replace(
            seen,
            lag=lag,
            behind_s=behind_s,
            arriving=arriving,
            handling=handling,
            busy=busy,
            utilization=utilization,
            end=end,
        )

    def _still_since(self, seen: PartitionSample) -> float:
        before = self._before
        is_still = before is not None and seen.handled is not None
        if before is not None and is_still and before.handled == seen.handled:
            return before.still_since
        return self._at

    def _end(self, end: int | None) -> tuple[int | None, bool]:
        """The end, and whether it cannot be."""
        before = self._before
        last = before.end if before is not None else None
        if end is not None and end < NO_SEQUENCE:
            self._doubt(f"ends at {end}")
            self._known_end = last
            return None, True
        if end is None or last is None or before is None or 0 <= end - last <= self._most():
            self._known_end = end if end is not None else last
            return end, False
        doubted = before.doubted_end
        is_like = doubted is not None and 0 <= end - doubted <= self._most()
        if is_like and self._said_at - before.doubted_at >= (_ANEW_S if end < last else _CLOSEST_S):
            self._known_end = end
            return end, False
        self._doubt(f"ended at {last}, and now at {end}")
        self._known_end, self._doubted_end = last, end
        self._doubted_at = before.doubted_at if is_like else self._said_at
        return None, True

    def _lag(self, lag: int | None) -> int | None:
        before = self._before
        last = before.lag if before is not None else None
        if lag is None or last is None or before is None:
            self._known_lag = lag if lag is not None else last
            return lag
        most, doubted = self._most(), before.doubted_lag
        is_like = doubted is not None and abs(lag - doubted) <= most
        is_said_again = is_like and self._said_at - before.doubted_at >= _CLOSEST_S
        if lag - last <= most or is_said_again:
            self._known_lag = lag
            return lag
        self._doubt(f"has {lag} waiting at once, after {last}")
        self._known_lag, self._doubted_lag = last, lag
        self._doubted_at = before.doubted_at if is_like else self._said_at
        return None

    def _most(self) -> float:
        """How many may have come since the look before this one."""
        before = self._before
        if before is None:
            return math.inf
        return max(_SUDDEN, before.arriving * _TIMES) * max(self._at - before.at, _CLOSEST_S)

    def _count(self, lag: int | None) -> int | None:
        if lag is not None and (lag < 0 or not math.isfinite(lag)):
            self._doubt(f"has {lag} waiting")
            return None
        return lag

    def _number(self, value: float | None, name: str) -> float | None:
        if value is None or (math.isfinite(value) and value >= 0):
            return value
        self._doubt(f"says {name} {value:g}")
        return None

    def _rate(self, value: float | None, name: str) -> float | None:
        found = self._number(value, name)
        if found is not None and found > _FASTEST:
            self._doubt(f"says {name} {found:g}/s")
            return None
        return found

    def _share(self, value: float | None, name: str) -> float | None:
        found = self._number(value, name)
        return None if found is None else min(found, 1.0)

    def _doubt(self, text: str) -> None:
        self.doubts.append(f"partition {self._partition} {text}")
