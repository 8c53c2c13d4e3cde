"""Ours in the comparison: the product's own decision on figures as members announce them.

Rules: what decides is tidegate_operator.scaling, unchanged. Members announce every 2 s, rates over
the last 10 s and arrivals by the ends of the last 15 s as consumer/tidegate/ops/meter.py does, and
the operator looks every 2 s: what it sees is up to 4 s old. Of a group that sleeps it asks the hub
every 3 s, which a look sees within 4 s. Where it cannot list the ledger it knows nothing; where the
hub's management does not answer, members still know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from scaling_fleet import Tidegate
from scaling_world import Outage, World
from tidegate.ops.arriving import End, arriving
from tidegate_operator.scaling import (
    History,
    PartitionSample,
    Policy,
    Sample,
    decide,
    decided,
    looked,
)

LOOK_S = 2
RATE_LOOKS, ARRIVING_S = 5, 15
HUB_EVERY_S = 4


@dataclass(frozen=True, slots=True)
class _Told:
    """What had come together at a look."""

    at: int
    positions: tuple[float, ...]
    busy_s: tuple[float, ...]


class Ours:
    """The operator's look, every 2 s."""

    def __init__(self, world: World, fleet: Tidegate, within_s: float) -> None:
        trace = world.trace
        self._world, self._fleet = world, fleet
        self._policy = Policy(min=trace.least, max=trace.most, within_s=within_s)
        self._history = History()
        self._told: deque[_Told] = deque(maxlen=RATE_LOOKS + 1)
        self._rows: Mapping[str, PartitionSample] = {}
        # The end of each partition that was told last, and when that was.
        self._ends = [(0, 0)] * len(world.partitions)

    def wanted(self, now: int) -> int:
        if now % LOOK_S:
            return self._fleet.wanted
        rows, self._rows = self._rows, self._announced(now)
        if not rows:
            return self._fleet.wanted
        if self._world.trace.is_out(Outage.STORAGE, now):
            rows = dict.fromkeys(rows, PartitionSample())
        fleet = self._fleet
        members = len(fleet.joined(now))
        sample = Sample(float(now), rows, fleet.wanted, members, fleet.is_settled(now))
        history = looked(self._history, sample, self._policy)
        decision = decide(history, self._policy, float(now))
        self._history = decided(history, decision, float(now))
        return decision.replicas

    def _announced(self, now: int) -> dict[str, PartitionSample]:
        """What can be known at the next look of how things are now."""
        world, fleet = self._world, self._fleet
        self._told.append(_Told(now, tuple(world.positions), tuple(world.busy_s)))
        if not fleet.wanted and now % HUB_EVERY_S == 0:
            if not world.trace.is_out(Outage.HUB, now):
                self._ends = [(now, int(came[now])) for came in world.trace.arrived]
        return {
            f"{p:03d}": self._read(p, now)
            if owner is not None and owner.joins_at <= now and fleet.ready_at[p] <= now
            else self._unread(p)
            for p, owner in enumerate(fleet.owners)
        }

    def _read(self, p: int, now: int) -> PartitionSample:
        world, since = self._world, self._fleet.ready_at[p]
        owner = self._fleet.owners[p]
        first = next((told for told in self._told if told.at >= since), self._told[-1])
        last = self._told[-1]
        span = last.at - first.at
        came, opened = world.trace.arrived[p], max(now - ARRIVING_S, since)
        ends = [End(at, int(came[at])) for at in range(opened, now + 1)]
        end, handled = int(came[now]), int(world.positions[p])
        self._ends[p] = (now, end)
        return PartitionSample(
            lag=max(end - handled, 0),
            behind_s=world.waits[p],
            arriving=arriving(ends) or 0.0,
            handling=(last.positions[p] - first.positions[p]) / span if span else 0.0,
            busy=(last.busy_s[p] - first.busy_s[p]) / span if span else 0.0,
            owner=owner.name if owner is not None else None,
            end=end,
            end_at=float(now),
            handled=handled,
        )

    def _unread(self, p: int) -> PartitionSample:
        """Nobody reads it: from its checkpoint to where it was last known to end."""
        at, end = self._ends[p]
        lag = max(end - int(self._world.stored[p]), 0)
        return PartitionSample(lag=lag, end=end, end_at=float(at))
