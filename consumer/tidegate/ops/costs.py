"""What each of our partitions costs in the long run: the loads that the member announces.

Rules:
- Pure. A load is the handler time that a partition takes in a second: events that arrive in a
  second × seconds for one event, at most 1, since calls for one partition never overlap.
- It is what arrives that counts, not what is handled. Who catches up is busy all the time, and
  that says nothing of what the partition will cost once it has caught up.
- Everything is averaged over about a minute. A partition that has just come is measured for as
  long before anything is said of it; until then it has the load that it came with.
- A slow member must not pass for heavy partitions: they would be exchanged for ever and be as slow
  wherever its like is. So an event is taken to cost what it does in the whole group, and only what
  exceeds a factor of `_PACE` is the partition's own.
- A batch that fails again and again says nothing: its partition keeps the load that it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidegate.model import Listing, MemberName, PartitionId

SMOOTH_S = 60.0
WARM_UP_S = 60.0
# A look after a longer pause than this (a process that stood still) counts as one after it.
_STEP_S = 10.0
# Members of one group differ by this factor in how fast they are, and nobody is to be blamed.
_PACE = 2.0


@dataclass(frozen=True, slots=True)
class Work:
    """What is counted of a partition since it was opened."""

    opened_at: float
    events: int  # that are handled
    busy_s: float  # that the handler worked
    arriving: float | None  # events a second; None while it is not known


@dataclass(slots=True)
class _Means:
    """Averages by time, of rates a second: the youngest count the most."""

    weight: float = 0.0
    arriving: float = 0.0
    handling: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0  # that were measured

    def add(self, seconds: float, arriving: float, handling: float, busy: float) -> None:
        seconds = min(seconds, _STEP_S)
        part = -math.expm1(-seconds / SMOOTH_S)
        self.seconds += seconds
        self.weight += part * (1 - self.weight)
        # As if these rates had held for ever before: a young average is not pulled towards 0.
        part /= self.weight
        self.arriving += part * (arriving - self.arriving)
        self.handling += part * (handling - self.handling)
        self.busy += part * (busy - self.busy)


@dataclass(slots=True)
class _Track:
    """A partition of ours."""

    at: float
    last: Work
    means: _Means

    def look(self, work: Work, now: float) -> None:
        seconds = now - self.at
        is_known = work.arriving is not None and work.opened_at == self.last.opened_at
        if is_known and work.arriving is not None and seconds > 0:
            handling = (work.events - self.last.events) / seconds
            busy = (work.busy_s - self.last.busy_s) / seconds
            self.means.add(seconds, work.arriving, max(handling, 0.0), max(busy, 0.0))
        self.at, self.last = now, work


class Costs:
    """Of the partitions of the member `name`."""

    def __init__(self, name: MemberName) -> None:
        self._name = name
        self._tracks: dict[PartitionId, _Track] = {}
        self._others = _Means()
        self._looked_at: float | None = None

    def loads(
        self, works: Mapping[PartitionId, Work], listing: Listing | None, now: float
    ) -> tuple[tuple[PartitionId, float], ...]:
        """The loads that are known; to be asked for every few seconds.

        `works` has all partitions of ours that do not fail, `listing` what the others say.
        """
        for partition in self._tracks.keys() - works.keys():
            del self._tracks[partition]
        for partition, work in works.items():
            track = self._tracks.get(partition)
            if track is None:
                self._tracks[partition] = _Track(now, work, _Means())
            else:
                track.look(work, now)
        self._look_at_others(listing, now)
        pace = self._pace()
        found = ((id, _load(track.means, pace)) for id, track in self._tracks.items())
        return tuple((id, load) for id, load in found if load is not None)

    def _look_at_others(self, listing: Listing | None, now: float) -> None:
        if self._looked_at is not None and listing is not None and now > self._looked_at:
            told = [
                figures
                for name, presence in listing.members.items()
                if name != self._name and presence.is_alive
                for figures in presence.figures.values()
            ]
            busy, handling = (sum(each.busy for each in told), sum(f.handling for f in told))
            self._others.add(now - self._looked_at, 0.0, handling, busy)
        self._looked_at = now

    def _pace(self) -> float:
        """Seconds that the handler takes for an event, in the whole group."""
        means = [self._others, *(track.means for track in self._tracks.values())]
        return _per_event(means)


def _per_event(means: Iterable[_Means]) -> float:
    several = list(means)
    handling = math.fsum(each.handling for each in several)
    return math.fsum(each.busy for each in several) / handling if handling else 0.0


def _load(means: _Means, pace: float) -> float | None:
    if means.seconds < WARM_UP_S:
        return None
    if not means.handling:
        # Nothing comes and nothing is done, or else the first call has not ended yet.
        return None if means.arriving or means.busy else 0.0
    own = _beyond_pace(means.busy / means.handling / pace) if pace else 1.0
    return min(means.arriving * pace * own, 1.0)


def _beyond_pace(ratio: float) -> float:
    """How much more an event costs than others; 1 for what may be the member's doing."""
    if ratio > _PACE:
        return ratio / _PACE
    return min(ratio * _PACE, 1.0)
