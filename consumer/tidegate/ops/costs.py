"""What each of our partitions costs in the long run: the loads that the member announces.

Rules:
- Pure. A load is the handler time that a partition takes in a second: events that arrive in a
  second × seconds for one event, at most 1, since calls for one partition never overlap.
- What arrives counts, not what is handled. Who catches up is busy all the time, which says nothing
  of what the partition will cost once that is done.
- Rates are averaged over two minutes. A partition of which no load is known is measured for as
  long before anything is said of it. The average of one that comes with a load goes on from there,
  as it would have where it came from: else what has moved could not be compared, while the rate
  changes for all, with what has not.
- A slow member must not pass for heavy partitions: they would be exchanged for ever, since each is
  as slow as the others where it is. So an event is taken to cost what it usually does in the group.
  What all partitions of a member have in common is the member's doing, unless one that came
  here costs what it did elsewhere. What is left is a partition's own where it is plain to see.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from tidegate.model import Figures, Listing, MemberName, PartitionId

SMOOTH_S = 120.0
# Events that come in one burst every two minutes are measured in the middle and at the edges.
WARM_UP_S = 120.0
# A look after a longer pause than this (a process that stood still) counts as one after it.
_STEP_S = 10.0
# So much faster or slower than the others a member may be, and it is known for what it is.
_PACE_MOST = 4.0
# Figures that are rounded: where the handler does less than this, they say little of its pace.
_BUSY_LEAST, _HANDLING_LEAST = 0.005, 0.5
# Loads are rounded as well.
_LOAD_LEAST = 0.05


@dataclass(frozen=True, slots=True)
class Work:
    """What is counted of a partition since it was opened."""

    opened_at: float
    events: int  # that are handled
    busy_s: float  # that the handler worked
    # Events a second. None: it is not known, or a batch fails, which says nothing of the cost.
    arriving: float | None


class Mean:
    """An average by time: the youngest counts the most."""

    def __init__(self) -> None:
        self.value = 0.0
        self._weight = 0.0

    def add(self, value: float, seconds: float) -> None:
        part = -math.expm1(-seconds / SMOOTH_S)
        self._weight += part * (1 - self._weight)
        # What was before the first look is not known, so it does not count as 0.
        self.value += part / self._weight * (value - self.value)


class _Track:
    """A partition of ours."""

    def __init__(self, work: Work, known: float | None, now: float) -> None:
        self._at, self._last = now, work
        # The load that it came with, where that was known.
        self._known = known
        # What an event was taken to cost while there were others here to compare it with.
        self._compared_s: float | None = None
        self._measured_s = 0.0
        self._arriving, self._handling, self._busy = Mean(), Mean(), Mean()

    def look(self, work: Work, now: float) -> None:
        before, seconds = self._last, now - self._at
        self._last, self._at = work, now
        if work.arriving is None or work.opened_at != before.opened_at or seconds <= 0:
            return
        step = min(seconds, _STEP_S)
        self._measured_s += step
        self._arriving.add(work.arriving, step)
        self._handling.add((work.events - before.events) / seconds, step)
        self._busy.add((work.busy_s - before.busy_s) / seconds, step)

    @property
    def event_s(self) -> float | None:
        """Seconds that the handler takes for an event, where that can be said."""
        return self._busy.value / self._handling.value if self._handling.value else None

    def compared(self, event_s: float) -> None:
        """There are others here, and beside them an event is taken to cost this."""
        self._compared_s = event_s

    def taken_before_s(self, *, is_alone: bool) -> float | None:
        """What an event was taken to cost where the partition came from, or had company."""
        if is_alone and self._compared_s:
            return self._compared_s
        arriving, known = self._arriving.value, self._known or 0.0
        return known / arriving if arriving and known >= _LOAD_LEAST else None

    def load(self, event_s: float | None) -> float | None:
        """The load at so many seconds for an event; None where it cannot be said yet."""
        if self._measured_s < WARM_UP_S and self._known is None:
            return None
        if event_s is None:
            # Nothing comes and nothing is done, or else the first call has not ended yet.
            if self._arriving.value or self._busy.value or self._measured_s < WARM_UP_S:
                return None
            return 0.0
        before = math.exp(-self._measured_s / SMOOTH_S)
        here = min(self._arriving.value * event_s, 1.0)
        return here if self._known is None else here + before * (self._known - here)


class Costs:
    """Of the partitions of the member `name`."""

    def __init__(self, name: MemberName) -> None:
        self._name = name
        self._tracks: dict[PartitionId, _Track] = {}
        self._usual = Mean()
        self._looked_at: float | None = None

    def loads(
        self, works: Mapping[PartitionId, Work], listing: Listing | None, now: float
    ) -> tuple[tuple[PartitionId, float], ...]:
        """The loads that are known; to be asked for every few seconds.

        `works` has all partitions of ours, `listing` what the others say.
        """
        for partition in self._tracks.keys() - works.keys():
            del self._tracks[partition]
        for partition, work in works.items():
            if partition in self._tracks:
                self._tracks[partition].look(work, now)
            else:
                self._tracks[partition] = _Track(work, _stated(listing, partition), now)
        taken = self._taken(listing, now)
        found = ((p, track.load(taken.get(p))) for p, track in self._tracks.items())
        return tuple((partition, load) for partition, load in found if load is not None)

    def _taken(self, listing: Listing | None, now: float) -> dict[PartitionId, float]:
        """What an event of each partition is taken to cost."""
        tracks = self._tracks
        ours = {p: s for p, track in tracks.items() if (s := track.event_s) is not None}
        is_alone = len(ours) == 1
        before = {p: s for p in ours if (s := tracks[p].taken_before_s(is_alone=is_alone))}
        taken = event_costs(ours, before, self._usual_event_s(list(ours.values()), listing, now))
        if not is_alone:
            for partition, event_s in taken.items():
                tracks[partition].compared(event_s)
        return taken

    def _usual_event_s(self, ours: Sequence[float], listing: Listing | None, now: float) -> float:
        """What an event costs in the group, as a rule; 0 where nobody can tell."""
        told = [*ours, *_told(listing, self._name)]
        if told and self._looked_at is not None and now > self._looked_at:
            self._usual.add(median_low(told), min(now - self._looked_at, _STEP_S))
        self._looked_at = now
        return self._usual.value


def _told(listing: Listing | None, name: MemberName) -> list[float]:
    """Seconds for an event, as the others tell of their partitions."""
    members = listing.members.values() if listing is not None else ()
    return [
        figures.busy / figures.handling
        for presence in members
        if presence.is_alive and presence.name != name
        for figures in presence.figures.values()
        if _says_pace(figures)
    ]


def _says_pace(figures: Figures) -> bool:
    return figures.busy >= _BUSY_LEAST and figures.handling >= _HANDLING_LEAST


def _stated(listing: Listing | None, partition: PartitionId) -> float | None:
    """The load of a partition that has just come, as it was elsewhere, where that is known."""
    members = listing.members.values() if listing is not None else ()
    stated = [load for each in members if (load := each.loads.get(partition)) is not None]
    return max(stated, default=None)


def event_costs(
    ours: Mapping[PartitionId, float], before: Mapping[PartitionId, float], usual: float
) -> dict[PartitionId, float]:
    """What an event of each partition is taken to cost, of what it takes this member.

    `before` is what some were taken to cost elsewhere, and `usual` what one does in the group.
    """
    if not usual:
        return dict(ours)
    ratios = {partition: event_s / usual for partition, event_s in ours.items()}
    signs = [*ratios.values(), *(ours[p] / event_s for p, event_s in before.items())]
    # A single partition may be here just because its events cost so much.
    pace = _in_common(signs) if len(signs) > 1 else 1.0
    return {partition: usual * _own(ratio / pace) for partition, ratio in ratios.items()}


def _in_common(ratios: Sequence[float]) -> float:
    """By how much the member is slower than others."""
    common = min(max(1.0, min(ratios)), max(ratios))
    return min(max(common, 1 / _PACE_MOST), _PACE_MOST)


def _own(ratio: float) -> float:
    """By how much an event costs more or less than usual: all of it from a factor of 4 on, and
    nothing up to a factor of 2."""
    if ratio <= 0:
        return 0.0
    powers = math.log2(ratio)
    plain = min(max(2 * (abs(powers) - 1), 0.0), abs(powers))
    return math.pow(2.0, math.copysign(plain, powers))
