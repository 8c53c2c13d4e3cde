"""How many consumers a group needs, by its objective. Pure.

Rules:
- A partition needs what arrives in it, with some room, and what it takes to handle what waits in
  it in time; what comes while new consumers start counts as waiting. It never needs more than can
  be handled of one partition: beyond that no number of consumers is of use.
- Partitions are dealt to so many consumers; that is enough where the fullest can handle its part.
- What calls for more is further off than what is then asked for, and what would do with fewer is
  lower still: so a group between two sizes stays as it is.
- Arrivals call for more when they would make events wait for half of the objective by the time at
  which new consumers work; and fewer are enough where nothing of the last minutes would have waited
  for a good third of it. What wavers by less than an objective levels out changes nothing.
- Only what is clear calls at once: see rising.py.
- An objective is out of reach if events have waited for half a minute, and the maximum of
  consumers is too few for them. A burst of some seconds does not count, and neither does an
  estimate while no event waits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.model import PartitionId
from tidegate_operator.scaling.history import BOUND_AFTER_S, History
from tidegate_operator.scaling.ladder import first_enough, heaviest, rungs_within
from tidegate_operator.scaling.nouns import PartitionSample, Policy, Sample, Spell
from tidegate_operator.scaling.rates import BACKLOG_S, lasting
from tidegate_operator.scaling.rising import ABOVE, WAITS_S, is_higher, is_step, rising, told

# What is on its way and does not wait.
_ON_ITS_WAY_S = 2.0
_SEEN_WHOLE_S = 6.0
# Events wait for this time before an objective is out of reach. It is in reach again when the
# maximum of consumers has been enough for the same time, or when no event waits any more.
SHORT_S = 30.0
# How far back what arrives counts for fewer, by how long these must have been enough.
_LOOKS_BACK, _LEAST_BACK_S = 2 / 3, 10.0


@dataclass(frozen=True, slots=True)
class Room:
    """How much of what consumers can do, and of the time that there is, is used."""

    share: float
    time: float


# What is asked for, what calls for more, and what allows for fewer.
ASKED = Room(0.9, 0.5)
CALLS = Room(0.95, 0.5)
CALM = Room(0.85, 0.35)
# What is clearly too much, whatever waits.
CLEAR = Room(ABOVE, math.inf)


@dataclass(frozen=True, slots=True)
class Need:
    """What a group needs, as far as it is known."""

    # The number that is to be asked for, if it is to grow now, and whether it is.
    asked: int
    calls: bool
    # Whether it is for what waits, rather than for what arrives.
    is_for_backlog: bool
    # The number that would do if nothing else came; None where that cannot be said.
    calm: int | None
    # Whether as many as there may be are enough.
    is_reachable: bool
    # Whether more waits than is on its way.
    waits: bool


def need_of(history: History, sample: Sample, policy: Policy, least: int, most: int) -> Need | None:
    """None where it is not known what a consumer can handle, and the objective wants that."""
    per_member, per_partition = history.costs.per_member, history.costs.per_partition
    by_rate = None
    if per_member is not None and per_partition is not None:
        by_rate = _Reckoning(history, sample, policy, per_member, per_partition).need(least, most)
    if policy.lag_per_replica is None:
        return by_rate
    by_count = _by_count(sample, policy.lag_per_replica, least, most)
    if by_rate is None or by_rate.calm is None or by_count.calm is None:
        return by_count
    # Fewer than what arrives takes would be undone at once.
    return replace(by_count, calm=max(by_count.calm, by_rate.calm))


def bound_partitions(history: History, now: float) -> tuple[PartitionId, ...]:
    """Partitions that alone get more than one consumer can handle of them."""
    return tuple(
        partition for partition, spell in history.bound.items() if spell.lasts(now, BOUND_AFTER_S)
    )


def shortage_of(history: History, sample: Sample, need: Need | None, now: float) -> Spell | None:
    """For how long as many consumers as there may be have been too few for what waits."""
    before = history.shortage
    if before is not None and before.is_over(now, SHORT_S):
        before = None
    if need is None:
        return None
    if not need.waits:
        # A first look cannot tell what waits.
        is_known = all(history.looks.get(partition, 0) >= 2 for partition in counting(sample))
        return None if is_known else before
    if need.is_reachable:
        return before
    return Spell(before.since if before is not None else now, now)


def counting(sample: Sample) -> dict[PartitionId, PartitionSample]:
    """Partitions that more consumers can help: not those that nobody reads, or nobody can."""
    return {
        partition: seen
        for partition, seen in sample.partitions.items()
        if not seen.is_stuck and not seen.is_paused
    }


def rungs_of(sample: Sample, least: int, most: int) -> tuple[int, ...]:
    """The counts that may be chosen, and are worth it."""
    partitions = len(sample.partitions)
    return rungs_within(partitions, least, most) if partitions else tuple(sorted({least, most}))


def _by_count(sample: Sample, each: int, least: int, most: int) -> Need:
    """So many events for each consumer."""
    lag = sum(seen.lag or 0 for seen in counting(sample).values())
    rungs = rungs_of(sample, least, most)

    def number(lag: float) -> int:
        found = first_enough(rungs, lambda count: count * each >= lag)
        return rungs[-1] if found is None else found

    is_reachable = rungs[-1] * each >= lag
    asked = number(lag)
    return Need(asked, asked > sample.replicas, True, number(lag / 0.9), is_reachable, lag > 0)


class _Reckoning:
    """One group at one time."""

    def __init__(
        self,
        history: History,
        sample: Sample,
        policy: Policy,
        per_member: float,
        per_partition: float,
    ) -> None:
        self._policy = policy
        self._sample = sample
        self._rows = counting(sample)
        self._rates = {
            partition: (history.arrivals[partition].rate or 0.0) for partition in self._rows
        }
        # What owners say is an average, and goes on for a while after a burst.
        self._slow = {p: max(self._rates[p], seen.arriving or 0.0) for p, seen in
                      self._rows.items()}  # fmt: skip
        # What has risen within seconds is asked for whole, and not bit by bit.
        arrivals = {partition: history.arrivals[partition] for partition in self._rows}
        self._told = told(arrivals, self._rows)
        self._rising = rising(arrivals, self._told)
        self._flow = history.flow
        # More have just been asked for: how far it rises is not known before it has been seen for
        # as long as rates are taken over.
        step = history.trials.step
        self._is_rising_on = step is not None and sample.at - step.asked_at <= _SEEN_WHOLE_S
        self._is_higher = is_higher(arrivals, self._told, history.flow, history.rising_since)
        self._per_member = per_member
        self._per_partition = per_partition
        self._start_s = history.trials.start_left_s(sample.at)
        self._known_twice = history.looks
        # Whether what a consumer can handle was seen, and not only worked out.
        self._is_seen_full = history.costs.full_at is not None
        self._proven = history.proven

    def need(self, least: int, most: int) -> Need:
        rungs = rungs_of(self._sample, least, most)
        replicas = self._sample.replicas
        demanded = self._demanded()
        calls, is_for_backlog = self._calls(demanded, replicas)
        loads = self._loads(ASKED, self._rising, grows=True)
        enough = first_enough(rungs, lambda count: self._is_enough(loads, count))
        # More than the first that is no fuller than as many as there may be helps nobody.
        fullest = heaviest(loads, rungs[-1]) * 1.001
        asked = enough or first_enough(rungs, lambda count: heaviest(loads, count) <= fullest)
        calm_loads = self._loads(CALM, self._calm(), grows=False)
        calm = first_enough(rungs, lambda count: self._is_enough(calm_loads, count))
        loads = self._loads(CALLS, demanded, grows=False)
        return Need(
            asked=asked or rungs[-1],
            calls=calls,
            is_for_backlog=is_for_backlog,
            calm=calm if calm is not None else rungs[-1],
            is_reachable=self._is_enough(loads, rungs[-1]) and not self._are_bound(demanded),
            waits=self._all_waiting() > 0 and self._is_pressed(),
        )

    def _are_bound(self, demanded: Mapping[PartitionId, float]) -> bool:
        """Most partitions get more than can be handled of one."""
        bound = sum(rate > self._per_partition for rate in demanded.values())
        return bound > 0 and 2 * bound >= len(demanded)

    def _calls(self, demanded: Mapping[PartitionId, float], replicas: int) -> tuple[bool, bool]:
        """Whether so many are too few, and whether that is for what waits."""
        if self._is_rising_on and not self._is_enough(self._clear(self._rising), replicas):
            return True, False
        if self._is_higher:
            return False, False
        backlog = self._loads(CALLS, {}, grows=True)
        if not self._is_enough(backlog, replicas):
            return True, True
        if self._is_clear(replicas):
            return True, False
        arriving = self._loads(CALLS, demanded, grows=self._policy.within_s is None)
        if self._is_enough(arriving, replicas):
            return False, False
        # As long as nothing waits they may well keep up, where no consumer was ever full; and
        # they do where they have.
        is_proven = self._proven.is_enough(replicas, sum(demanded.values()), self._sample.at)
        return (self._is_seen_full and not is_proven) or self._is_pressed(), False

    def _demanded(self) -> Mapping[PartitionId, float]:
        """What arrives in each partition, as far as more are needed for it."""
        if self._policy.within_s is None:
            return self._rates
        start_s = min(self._start_s, self._limit_s / 2)
        wait_s, rate = self._limit_s * CALLS.time, sum(self._rates.values())
        return _dealt(lasting(self._flow, wait_s, rate, start_s), self._rates)

    def _calm(self) -> Mapping[PartitionId, float]:
        """What fewer would have had to handle."""
        if self._policy.within_s is None:
            return self._slow
        # Who wants to be rid of consumers sooner looks back less far.
        over_s = max(self._policy.stable_s * _LOOKS_BACK, _LEAST_BACK_S)
        return _dealt(lasting(self._flow, self._limit_s * CALM.time, over_s=over_s), self._told)

    def _is_clear(self, replicas: int) -> bool:
        """Whether it is clear at once that so many are too few."""
        can = replicas * self._per_member
        return (
            sum(seen.lag or 0 for seen in self._rows.values()) >= can * WAITS_S
            and not self._is_enough(self._clear(self._told), replicas)
            and is_step(self._flow, sum(self._told.values()))
        )

    def _clear(self, rates: Mapping[PartitionId, float]) -> list[float]:
        """What each partition clearly needs, whatever waits in it."""
        return self._loads(CLEAR, rates, grows=False)

    def _is_pressed(self) -> bool:
        can = min(self._sample.members, self._sample.replicas) * self._per_member
        return self._all_waiting() >= can * min(BACKLOG_S, self._limit_s / 4)

    def _all_waiting(self) -> float:
        return sum(self._waiting(p, seen) for p, seen in self._rows.items())

    def _is_enough(self, loads: Sequence[float], count: int) -> bool:
        return heaviest(loads, count) <= self._per_member * 1.001

    @property
    def _limit_s(self) -> float:
        return self._policy.within_s or self._policy.drain_within_s or 60.0

    def _loads(self, room: Room, rates: Mapping[PartitionId, float], *, grows: bool) -> list[float]:
        """What each partition needs, the most first."""
        found = []
        for partition, seen in self._rows.items():
            rate = rates.get(partition, 0.0)
            waiting = self._waiting(partition, seen)
            if grows:
                waiting += self._growth(partition, seen)
            if self._policy.within_s is not None:
                load = max(rate / room.share, waiting / (self._limit_s * room.time))
            else:
                load = rate / room.share + waiting / (self._limit_s * min(room.time * 1.6, 1.2))
            found.append(min(load, self._per_partition))
        return sorted(found, reverse=True)

    def _waiting(self, partition: PartitionId, seen: PartitionSample) -> float:
        if seen.lag is None or self._known_twice.get(partition, 0) < 2:
            return 0.0
        on_its_way_s = min(_ON_ITS_WAY_S, self._limit_s / 4)
        return max(seen.lag - self._slow[partition] * on_its_way_s, 0.0)

    def _growth(self, partition: PartitionId, seen: PartitionSample) -> float:
        """What comes to wait while new consumers start."""
        is_told = seen.handling is not None or seen.owner is None
        if seen.lag is None or not is_told:
            return 0.0
        start_s = min(self._start_s, self._limit_s / 2)
        return max(self._rates[partition] - (seen.handling or 0.0), 0.0) * start_s


def _dealt(rate: float, shares: Mapping[PartitionId, float]) -> dict[PartitionId, float]:
    """A rate in all, dealt to partitions as these have it."""
    total = sum(shares.values())
    if total <= 0:
        return dict.fromkeys(shares, rate / max(len(shares), 1))
    return {partition: rate * share / total for partition, share in shares.items()}
