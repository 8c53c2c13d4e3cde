"""How many consumers a group shall have: `decide(history, policy, now) -> Decision`. Pure.

Rules, the first that says something counts:
- Bounds come before everything; a floor by cron raises the lower one.
- What is not known makes nothing smaller. Where nothing is known for long, there are as many as
  `fallback` says, if those are more; and somebody reads, if nobody did.
- More at once, in one jump, and no more than are of use.
- A step that gained nothing is undone, and remembered.
- Fewer only where fewer have been enough for a while, all is known, and nothing is on its way.
- None only where nothing waits and nothing has come for a while, and every partition has a
  checkpoint: what comes then is not passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidegate_operator.scaling import words
from tidegate_operator.scaling.floors import floor_of
from tidegate_operator.scaling.history import History, most_wanted
from tidegate_operator.scaling.need import (
    SHORT_S,
    bound_partitions,
    counting,
    need_of,
    rungs_of,
    shortage_of,
)
from tidegate_operator.scaling.nouns import Bound, Decision, Inputs, Policy, Reason, Sample
from tidegate_operator.scaling.trials import Ceiling

# An objective that is not kept although there should be enough: so long, and it is one more.
_LATE_S = 30.0
# The part of the time for which fewer must have been enough that is waited for still fewer.
_MOMENT = 1 / 3
_FOR_FEWER = frozenset((Reason.FEWER, Reason.WAITING, Reason.IDLE))
_Found = tuple[int, Reason]


def decide(history: History, policy: Policy, now: float) -> Decision:
    """How many there shall be, by the last look."""
    sample = history.sample
    if sample is None:
        return Decision(policy.min, Reason.LEARNING, "nothing has been seen of the group yet")
    return _Deciding(history, sample, policy, now).decide()


class _Deciding:
    """One decision."""

    def __init__(self, history: History, sample: Sample, policy: Policy, now: float) -> None:
        self._history = history
        self._sample = sample
        self._policy = policy
        self._now = now
        self._floor = floor_of(policy.floors, now)
        partitions = len(sample.partitions)
        self._most = max(min(policy.max, partitions or policy.max), policy.min)
        self._least = max(policy.min, min(self._floor, self._most))
        self._ceiling = self._standing(history.trials.ceiling)
        self._useful = max(
            min(self._most, self._ceiling.count if self._ceiling else self._most), self._least, 1
        )
        self._need = need_of(history, sample, policy, max(self._least, 1), self._useful)
        self._bound = bound_partitions(history, now)
        self._shortage = shortage_of(history, sample, self._need, now)

    def decide(self) -> Decision:
        rules: tuple[Callable[[], _Found | None], ...] = (
            self._within_bounds,
            self._unknown,
            self._asleep,
            self._useless,
            self._more,
            self._late,
            self._fewer,
        )
        count, reason = next(
            (found for rule in rules if (found := rule()) is not None),
            (self._sample.replicas, Reason.ENOUGH),
        )
        if reason in _FOR_FEWER:
            # Fewer would do: the objective is in reach.
            self._shortage = None
        stops = self._what_stops()
        if reason is Reason.ENOUGH and stops is not None:
            reason = Reason.HELD
        decision = Decision(count, reason, "", self._inputs(), stops, self._bound, self._shortage)
        return replace(decision, message=words.message(decision, self._history, self._policy,
                                                       self._now))  # fmt: skip

    # --- the rules

    def _within_bounds(self) -> _Found | None:
        replicas = self._sample.replicas
        if replicas < self._least:
            is_floor = self._least > self._policy.min
            need = self._need
            count = max(self._least, need.asked if need is not None and need.calls else 0)
            return count, Reason.FLOOR if is_floor else Reason.BOUNDS
        # Partitions that are not known yet must not make it smaller.
        if replicas > max(self._policy.max, self._least):
            return max(self._policy.max, self._least), Reason.BOUNDS
        return None

    def _unknown(self) -> _Found | None:
        since = self._history.unknown_since
        if since is None:
            return None
        replicas, wanted = self._sample.replicas, self._policy.fallback
        if self._now - since < self._policy.fallback_after_s:
            return replicas, Reason.UNKNOWN
        count = min(max(wanted or 0, self._least), self._most)
        if wanted is not None and count >= replicas:
            return max(count, 1), Reason.FALLBACK
        # Who reads can tell more than who only asks.
        return (replicas, Reason.UNKNOWN) if replicas else (1, Reason.FALLBACK)

    def _asleep(self) -> _Found | None:
        """Out of nothing."""
        sample = self._sample
        if sample.replicas > 0:
            return None
        rows = counting(sample).values()
        if not all(seen.is_begun for seen in rows):
            return 1, Reason.BEGINNING
        arrived_at = self._history.arrived_at
        has_arrived = arrived_at is not None and arrived_at == sample.at
        if not has_arrived and not any(seen.lag for seen in rows):
            return self._still_asleep()
        return max(self._need.asked if self._need is not None else 1, 1), Reason.WOKEN

    def _still_asleep(self) -> _Found:
        history = self._history
        since = history.some_unknown_since
        if since is not None and self._now - since >= self._policy.fallback_after_s:
            # Something may wait there, and who reads can tell.
            return 1, Reason.FALLBACK
        return 0, Reason.IDLE if history.known_since is not None else Reason.UNKNOWN

    def _useless(self) -> _Found | None:
        ceiling, replicas = self._ceiling, self._sample.replicas
        if ceiling is None or replicas <= self._useful or replicas != ceiling.tried:
            return None
        # Whose lag is not known may need them.
        if not self._is_known_for_all():
            return None
        return self._useful, Reason.DOWNSTREAM if ceiling.is_downstream else Reason.NO_GAIN

    def _more(self) -> _Found | None:
        need, replicas = self._need, self._sample.replicas
        if need is None or need.asked <= replicas or not need.calls:
            return None
        count = need.asked
        if self._is_slower():
            # Whether more help where each event has come to cost more, a smaller step shows.
            count = min(count, self._next(replicas * 2 - 1))
        return count, Reason.BACKLOG if need.is_for_backlog else Reason.ARRIVALS

    def _late(self) -> _Found | None:
        """The objective is not kept, although there should be enough: what is known is wrong."""
        history, replicas = self._history, self._sample.replicas
        late = history.late
        if late is None or self._bound or replicas >= self._useful:
            return None
        lag = sum(seen.lag or 0 for seen in counting(self._sample).values())
        has_settled = history.trials.step is None and self._sample.members >= replicas
        wait_s = _LATE_S + history.trials.start_s
        if not has_settled or self._now - late.since < wait_s or lag < late.lag:
            return None
        return self._next(replicas), Reason.BACKLOG

    def _fewer(self) -> _Found | None:
        sample, policy, history = self._sample, self._policy, self._history
        calm = self._calm()
        if calm is None or calm >= sample.replicas:
            return None
        if history.known_since is None or not self._is_known_for_all():
            return sample.replicas, Reason.UNKNOWN
        idle_s = max(policy.idle_s, policy.stable_s)
        if calm == 0 and self._least == 0 and self._has_been(0, idle_s):
            return 0, Reason.IDLE
        most = self._enough()
        lowest = max(self._least, 1)
        if most is not None and self._need is not None and self._need.asked > most:
            # What has just begun to come would undo it.
            return sample.replicas, Reason.WAITING
        if most is None or not sample.is_settled or max(most, calm, lowest) >= sample.replicas:
            is_least = sample.replicas <= lowest and calm < sample.replicas
            return sample.replicas, Reason.ENOUGH if is_least and calm else Reason.WAITING
        return max(most, calm, lowest), Reason.FEWER

    # --- what they ask

    def _calm(self) -> int | None:
        """How many would do; None where that is not known."""
        rows = counting(self._sample)
        rates = [self._history.arrivals[p].rate for p in rows]
        is_idle = bool(rows) and not any(seen.lag for seen in rows.values()) and not any(rates)
        is_idle = is_idle and all(seen.lag is not None for seen in rows.values())
        if is_idle and all(seen.is_begun for seen in rows.values()):
            return self._least
        if self._need is None:
            return self._least if is_idle else None
        return self._need.calm

    def _enough(self) -> int | None:
        """How many have been enough for as long as it takes; None where none have."""
        stable_s, trials = self._policy.stable_s, self._history.trials
        count = self._enough_for(stable_s)
        if count is not None and trials.stable_s(stable_s, count) <= stable_s:
            return count
        return self._enough_for(stable_s * trials.patience)

    def _enough_for(self, over_s: float) -> int | None:
        """What would do with still fewer in a moment is done in one step then."""
        moment_s = self._policy.stable_s * _MOMENT
        most = most_wanted(self._history, self._now, over_s)
        soon = most_wanted(self._history, self._now, over_s - moment_s)
        since = most_wanted(self._history, self._now, over_s + 2 * moment_s)
        is_falling = soon != most and (since is None or since >= self._sample.replicas)
        return None if is_falling else most

    def _has_been(self, count: int, over_s: float) -> bool:
        most = most_wanted(self._history, self._now, over_s)
        return most is not None and most <= count and self._sample.is_settled

    def _is_known_for_all(self) -> bool:
        """Also of those that nobody can read for now: their readers may be back at any time."""
        rows = self._sample.partitions.values()
        return all(seen.lag is not None for seen in rows if not seen.is_paused)

    def _is_slower(self) -> bool:
        costs = self._history.costs
        if costs.event_s is None or costs.usual_event_s is None:
            return False
        return costs.event_s >= 2 * costs.usual_event_s and self._sample.replicas > 0

    def _next(self, above: int) -> int:
        """The next count that is of use."""
        rungs = rungs_of(self._sample, max(self._least, 1), self._useful)
        return next((rung for rung in rungs if rung > above), self._useful)

    def _standing(self, ceiling: Ceiling | None) -> Ceiling | None:
        return ceiling if ceiling is not None and self._now < ceiling.until else None

    def _what_stops(self) -> Bound | None:
        shortage = self._shortage
        is_short = shortage is not None and shortage.lasts(self._now, SHORT_S)
        if not is_short and not self._bound:
            return None
        if self._ceiling is not None and self._useful < self._most:
            return Bound.DOWNSTREAM if self._ceiling.is_downstream else Bound.NO_GAIN
        if self._bound:
            return Bound.PARTITION
        if self._policy.max < len(self._sample.partitions):
            return Bound.MAX
        return Bound.PARTITIONS

    def _inputs(self) -> Inputs:
        sample, history = self._sample, self._history
        rows = sample.partitions
        lags = [seen.lag for seen in rows.values() if seen.lag is not None]
        waits = [s.behind_s for s in counting(sample).values() if s.behind_s is not None and s.lag]
        rates = list(_known_rates(history))
        told = [seen.handling for seen in rows.values() if seen.handling is not None]
        return Inputs(
            replicas=sample.replicas,
            members=sample.members,
            arriving=sum(rates) if rates else None,
            handling=sum(told) if told else None,
            lag=sum(lags) if lags else None,
            behind_s=max(waits) if waits else None,
            known=len(lags),
            partitions=len(rows),
            per_member=history.costs.per_member,
            is_proven=self._is_proven(sum(rates)),
            start_s=history.trials.start_s,
            needed=self._need.asked if self._need is not None else None,
            calm=self._calm(),
            least=self._least,
            most=self._useful,
            doubts=history.doubts,
        )

    def _is_proven(self, rate: float) -> bool:
        return self._history.proven.is_enough(self._sample.replicas, rate, self._now)


def _known_rates(history: History) -> Iterator[float]:
    for each in history.arrivals.values():
        if each.rate is not None:
            yield each.rate
