"""What is remembered of a group from look to look, for deciding its size: frozen, and bounded.

Rules:
- Pure. `looked` takes in a look, `decided` a decision; neither changes what it is given.
- Everything is learnt from looks. After a restart nothing is known, and so nothing is made smaller
  before it has been watched for as long as it takes.
- Of how many would have been enough only what can still be the largest is kept, however long a step
  down has to be waited for: each entry is of fewer than the one before, so they are few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tidegate.model import PartitionId
from tidegate_operator.scaling import trials as trying
from tidegate_operator.scaling.nouns import Decision, Policy, Sample, Spell
from tidegate_operator.scaling.proven import Proven, proven_of
from tidegate_operator.scaling.rates import (
    BACKLOG_S,
    Arrivals,
    Costs,
    Flow,
    Unsettled,
    arrivals_of,
    costs_of,
    flow_of,
    full_share,
    unsettled_of,
    works_of,
)
from tidegate_operator.scaling.rising import is_rising
from tidegate_operator.scaling.trials import Look, Trials
from tidegate_operator.scaling.trust import Knowledge, believed

RECORDS_KEPT = 10
# A partition that gets more than a consumer can handle is bound after this time. It is no longer
# bound when it gets less for the same time, or when its backlog is gone.
BOUND_AFTER_S = 15.0
# The same decision with other words is not recorded again before this.
_SAME_FOR_S = 300.0
# A longer pause between two looks is one in which nobody watched.
_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """A decision, and when it was made."""

    at: float
    decision: Decision
    # How many were asked for before.
    before: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many were enough at a time."""

    at: float
    count: int


@dataclass(frozen=True, slots=True)
class Late:
    """Since when an event has waited for longer than it should, and how many waited then."""

    since: float
    lag: int


@dataclass(frozen=True, slots=True)
class History:
    """See the module."""

    # The last look, without what was not believed of it; None before the first.
    sample: Sample | None = None
    known: Knowledge = field(default_factory=lambda: MappingProxyType({}))
    doubts: tuple[str, ...] = ()
    arrivals: Mapping[PartitionId, Arrivals] = field(default_factory=lambda: MappingProxyType({}))
    flow: Flow = field(default_factory=Flow)
    costs: Costs = field(default_factory=Costs)
    proven: Proven = field(default_factory=Proven)
    # Until when nothing is learnt from consumers that have let go of partitions, or taken some.
    unsettled: Unsettled = field(default_factory=lambda: MappingProxyType({}))
    trials: Trials = field(default_factory=Trials)
    look: Look | None = None
    # How many looks there were at the lag of each partition, up to 2.
    looks: Mapping[PartitionId, int] = field(default_factory=lambda: MappingProxyType({}))
    # Since when the lag of all partitions has been known; since when that of none; and since when
    # that of some that could be read has not been.
    known_since: float | None = None
    unknown_since: float | None = None
    some_unknown_since: float | None = None
    # For how long each partition has got more than one consumer can handle of it.
    bound: Mapping[PartitionId, Spell] = field(default_factory=lambda: MappingProxyType({}))
    # As it was with the last decision.
    shortage: Spell | None = None
    late: Late | None = None
    # When an end rose last while nobody read, and when it was worth looking again soon.
    arrived_at: float | None = None
    rising_at: float | None = None
    # Since when it has been, look by look.
    rising_since: float | None = None
    # Since when it has been watched how many would do, and the most of them by time.
    watched_since: float | None = None
    wanted: tuple[Wanted, ...] = ()
    records: tuple[Record, ...] = ()


def looked(history: History, sample: Sample, policy: Policy) -> History:
    """With one look more."""
    before = history.sample
    if before is not None and sample.at <= before.at:
        return history
    sample, known, doubts = believed(sample, history.known)
    seconds = sample.at - before.at if before is not None else 0.0
    is_cost_known = history.costs.event_s is not None
    unsettled = unsettled_of(history.unsettled, before, sample, is_cost_known=is_cost_known)
    works = works_of(sample, without=unsettled.keys())
    costs = costs_of(history.costs, works, sample.at, seconds)
    arrivals = {
        partition: arrivals_of(history.arrivals.get(partition, Arrivals()), seen, sample.at)
        for partition, seen in sample.partitions.items()
    }
    handling = sum(seen.handling or 0.0 for seen in sample.partitions.values())
    look = Look(
        sample.at, sample.members, handling, full_share(works), costs.event_s, costs.per_member
    )
    rises = is_rising(arrivals, before, sample)
    is_known, is_unknown = _is_known(sample), _is_unknown(sample)
    trials = trying.calmed(history.trials, sample.at, policy.stable_s)
    return replace(
        history,
        sample=sample,
        known=known,
        doubts=doubts,
        arrivals=MappingProxyType(arrivals),
        flow=flow_of(history.flow, _coming(sample, arrivals), sample.at),
        costs=costs,
        proven=proven_of(history.proven, sample),
        unsettled=unsettled,
        trials=trying.watched(trials, look),
        look=look,
        looks=MappingProxyType(
            {
                partition: min(history.looks.get(partition, 0) + (seen.lag is not None), 2)
                for partition, seen in sample.partitions.items()
            }
        ),
        watched_since=None if seconds > _PAUSE_S else history.watched_since,
        known_since=_since(history.known_since, sample.at, is_so=is_known),
        unknown_since=_since(history.unknown_since, sample.at, is_so=is_unknown),
        some_unknown_since=_since(
            history.some_unknown_since, sample.at, is_so=_is_some_unknown(sample)
        ),
        bound=_bound(history, sample, arrivals, costs),
        arrived_at=_arrived_at(history, sample),
        rising_at=sample.at if rises else history.rising_at,
        rising_since=_since(history.rising_since, sample.at, is_so=rises),
        late=_late(history, sample, policy),
    )


def decided(
    history: History, decision: Decision, now: float, *, is_followed: bool = True
) -> History:
    """With what was decided on the last look."""
    sample = history.sample
    before = sample.replicas if sample is not None else decision.replicas
    records = _recorded(history.records, decision, before, now)
    history = replace(history, records=records, shortage=decision.shortage)
    if is_followed and decision.replicas != before:
        trials = trying.asked(history.trials, before, decision.replicas, now, history.look)
        history = replace(history, trials=trials, late=None)
    calm = decision.inputs.calm
    # Where something is not known, as many are needed as there are.
    is_known = history.known_since is not None
    count = calm if calm is not None and is_known else max(before, decision.replicas)
    if decision.replicas > before:
        # Who is asked for now is needed now, and not gone again before as long as after any need.
        count = max(count, decision.replicas)
    since = history.watched_since if history.watched_since is not None else now
    kept = tuple(each for each in history.wanted if each.count > count)
    return replace(history, wanted=(*kept, Wanted(now, count)), watched_since=since)


def most_wanted(history: History, now: float, over_s: float) -> int | None:
    """The most that were needed lately; None where it was not watched for so long."""
    if history.watched_since is None or now - history.watched_since < over_s:
        return None
    return max((each.count for each in history.wanted if each.at >= now - over_s), default=None)


def _recorded(
    records: tuple[Record, ...], decision: Decision, before: int, now: float
) -> tuple[Record, ...]:
    """With a decision that says something new; one that goes on saying the same is renewed."""
    last = records[-1] if records else None
    if last is not None and (last.before, last.decision.replicas, last.decision.reason) == (
        before,
        decision.replicas,
        decision.reason,
    ):
        # Said already, and not followed, or still being so.
        return (*records[:-1], Record(last.at, decision, before))
    if last is not None and decision.replicas == before == last.decision.replicas:
        if now - last.at < _SAME_FOR_S:
            return records
    if last is not None and last.before == last.decision.replicas:
        # That it stayed as it was is not worth the place of what was decided.
        records = records[:-1]
    return (*records, Record(now, decision, before))[-RECORDS_KEPT:]


def _since(before: float | None, at: float, *, is_so: bool) -> float | None:
    if not is_so:
        return None
    return before if before is not None else at


def _is_known(sample: Sample) -> bool:
    rows = sample.partitions.values()
    return bool(rows) and all(seen.lag is not None for seen in rows if not seen.is_paused)


def _is_unknown(sample: Sample) -> bool:
    rows = [seen for seen in sample.partitions.values() if not seen.is_paused]
    return all(seen.lag is None for seen in rows) and not (sample.partitions and not rows)


def _is_some_unknown(sample: Sample) -> bool:
    rows = sample.partitions.values()
    return any(seen.lag is None and not seen.is_paused and not seen.is_stuck for seen in rows)


def _bound(
    history: History,
    sample: Sample,
    arrivals: Mapping[PartitionId, Arrivals],
    costs: Costs,
) -> Mapping[PartitionId, Spell]:
    """A partition is bound where its owner does nothing but handle it, and it still grows."""
    most, at = costs.per_partition, sample.at
    found: dict[PartitionId, Spell] = {}
    for partition, seen in sample.partitions.items():
        rate, before = arrivals[partition].rate, history.bound.get(partition)
        if most is None or rate is None or seen.is_stuck or not seen.lag:
            continue
        if seen.lag < BACKLOG_S * most:
            continue
        if rate > most:
            found[partition] = Spell(before.since if before is not None else at, at)
        elif before is not None and not before.is_over(at, BOUND_AFTER_S):
            # A rate that wavers around the limit does not make the condition flap.
            found[partition] = before
    # Where most are, it is not for one of them.
    return MappingProxyType(found if 2 * len(found) < len(sample.partitions) else {})


def _coming(sample: Sample, arrivals: Mapping[PartitionId, Arrivals]) -> float:
    """What arrives in partitions that more consumers can help."""
    return sum(
        arrivals[partition].rate or 0.0
        for partition, seen in sample.partitions.items()
        if not seen.is_stuck and not seen.is_paused
    )


def _arrived_at(history: History, sample: Sample) -> float | None:
    before = history.sample
    if before is None:
        return history.arrived_at
    for partition, seen in sample.partitions.items():
        last = before.partitions.get(partition)
        if last is not None and last.end is not None and seen.end is not None:
            if seen.end > last.end and not seen.is_paused:
                return sample.at
    return history.arrived_at


def _late(history: History, sample: Sample, policy: Policy) -> Late | None:
    """Asked anew with each change of the size."""
    waits = [
        seen.behind_s
        for seen in sample.partitions.values()
        if seen.behind_s is not None and seen.lag and not seen.is_stuck and not seen.is_paused
    ]
    limit_s = policy.within_s
    if limit_s is None or not waits or max(waits) <= limit_s:
        return None
    lag = sum(seen.lag or 0 for seen in sample.partitions.values() if not seen.is_stuck)
    return history.late or Late(sample.at, lag)
