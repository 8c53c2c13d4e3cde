"""Why there are to be so many consumers, in words for people. Pure.

Rules: one sentence or two, with the figures that decided it, and none that they contradict. The
bound that keeps the group from its objective comes first, with its remedy; doubted figures, last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.group_file.durations import duration_text
from tidegate_operator.scaling.history import History
from tidegate_operator.scaling.nouns import Bound, Decision, Inputs, Policy, Reason
from tidegate_operator.wording import capital, counted, partitions_text

# Figures are rounded: a smaller difference is none.
_ALIKE = 1.01


def message(decision: Decision, history: History, policy: Policy, now: float) -> str:
    """Without a full stop at its end."""
    text = _Saying(decision, history, policy, now)
    first, *others = filter(None, (text.what_stops(), text.why(), text.doubts()))
    return ". ".join((first, *map(capital, others)))


def objective_text(policy: Policy) -> str:
    if policy.within_s is not None:
        return f"no event is to wait longer than {duration_text(policy.within_s)}"
    if policy.drain_within_s is not None:
        return f"what waits is to be handled within {duration_text(policy.drain_within_s)}"
    return f"{policy.lag_per_replica} waiting events for each consumer"


def rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


class _Saying:
    """See the module."""

    def __init__(self, decision: Decision, history: History, policy: Policy, now: float) -> None:
        self._decision = decision
        self._inputs: Inputs = decision.inputs
        self._history = history
        self._policy = policy
        self._now = now

    def why(self) -> str:
        texts: Mapping[Reason, Callable[[], str]] = {
            Reason.ARRIVALS: self._arrivals,
            Reason.BACKLOG: lambda: f"{self._waits()} and {self._arrives()}, {self._handles()}",
            Reason.WOKEN: lambda: f"{self._waits()} and nobody reads",
            Reason.BEGINNING: lambda: (
                "partitions without a checkpoint are to be given one, so "
                "that what comes to them is not passed over"
            ),
            Reason.FLOOR: lambda: f"scaling.cron wants at least {self._inputs.least} now",
            Reason.FALLBACK: self._fallback,
            Reason.FEWER: self._fewer,
            Reason.IDLE: lambda: (
                "nothing waits and nothing comes"
                if not self._inputs.replicas
                else f"nothing has waited or come for {duration_text(self._policy.idle_s)}"
            ),
            Reason.NO_GAIN: self._no_gain,
            Reason.DOWNSTREAM: self._no_gain,
            Reason.ENOUGH: self._enough,
            Reason.HELD: lambda: f"{self._waits()} and {self._arrives()}, {self._handles()}",
            Reason.WAITING: self._waiting,
            Reason.UNKNOWN: self._unknown,
            Reason.LEARNING: lambda: "it is not known yet what one consumer handles",
            Reason.BOUNDS: lambda: f"scaling allows {self._inputs.least} to {self._policy.max}",
        }
        return texts[self._decision.reason]()

    def _arrives(self) -> str:
        rate = self._inputs.arriving
        return "arrivals are not known" if rate is None else f"{rate_text(rate)} events/s arrive"

    def _handles(self) -> str:
        rate = self._inputs.per_member
        if rate is None:
            return "what one consumer handles is not known yet"
        return f"one consumer handles {rate_text(rate)}/s"

    @property
    def _can(self) -> float | None:
        """What all consumers can handle."""
        rate = self._inputs.per_member
        return None if rate is None else rate * self._inputs.replicas

    def _are_too_few(self) -> bool:
        """Whether more arrives than they can handle, as far as that is known."""
        rate, can = self._inputs.arriving, self._can
        return rate is not None and can is not None and rate > can * _ALIKE

    def _arrivals(self) -> str:
        text = f"{self._arrives()}, {self._handles()}"
        if self._can is None or self._are_too_few():
            return text
        replicas = self._inputs.replicas
        who = "it" if replicas == 1 else f"the fullest of {replicas}"
        return f"{text}: {who} has too little room left"

    def _enough(self) -> str:
        inputs, policy = self._inputs, self._policy
        consumers = counted(inputs.replicas, "consumer")
        are = "is" if inputs.replicas == 1 else "are"
        if policy.lag_per_replica is not None:
            text = f"{self._waits()}, and {policy.lag_per_replica:,} are allowed for each consumer"
            if (inputs.lag or 0) > policy.lag_per_replica * inputs.replicas:
                return f"{text}: there are as many as there may be"
            return f"{text}: {consumers} {are} enough"
        if inputs.arriving is None or inputs.per_member is None:
            return f"{self._arrives()}, {self._handles()}: the number stays"
        if not self._are_too_few():
            return f"{self._arrives()}, {self._handles()}: {consumers} {are} enough"
        if inputs.is_proven:
            have = "has" if inputs.replicas == 1 else "have"
            return f"{self._arrives()}, and {consumers} {have} handled as much while nothing waited"
        handle = f"{consumers} {'handles' if inputs.replicas == 1 else 'handle'}"
        text = f"{self._arrives()}, and {handle} {rate_text(self._can or 0.0)}/s"
        if inputs.replicas >= inputs.most:
            return f"{text}: there are as many as there may be"
        return f"{text}: there will be more if that lasts. The objective: {objective_text(policy)}"

    def _waits(self) -> str:
        lag, behind_s = self._inputs.lag, self._inputs.behind_s
        if lag is None:
            return "events wait"
        oldest = "" if not behind_s else f" (the oldest for {behind_s:.0f} s)"
        return f"{lag:,} events wait{oldest}"

    def _fewer(self) -> str:
        count = self._decision.replicas
        has = f"{count} {'has' if count == 1 else 'have'} been enough for {self._stable(count)}"
        rate, each = self._inputs.arriving, self._inputs.per_member
        if self._policy.lag_per_replica is not None:
            return f"{self._waits()}: {has}"
        if rate is not None and each is not None and rate > count * each * _ALIKE:
            return f"{self._arrives()}: {has}"
        return f"{self._arrives()}, {self._handles()}: {has}"

    def _stable(self, count: int) -> str:
        return duration_text(self._history.trials.stable_s(self._policy.stable_s, count))

    def _waiting(self) -> str:
        calm = self._inputs.calm
        window = self._stable(calm) if calm else duration_text(self._policy.idle_s)
        count = "none" if not calm else str(calm)
        rate, each = self._inputs.arriving, self._inputs.per_member
        if rate is not None and each is not None and rate > (calm or 0) * each * _ALIKE and calm:
            return f"{self._arrives()}, {self._handles()}: fewer must have been enough for {window}"
        return (
            f"{self._arrives()}: by what came lately {count} would do, and must have done so for "
            f"{window}"
        )

    def _unknown(self) -> str:
        known, partitions = self._inputs.known, self._inputs.partitions
        if not partitions:
            return "its partitions are not known yet: the number stays"
        if not known:
            return f"the lag has not been known for {self._unknown_for()}: the number stays"
        return f"the lag of {partitions - known} of {counted(partitions, 'partition')} is not " \
            "known: the number does not fall"  # fmt: skip

    def _fallback(self) -> str:
        some_since = self._history.some_unknown_since
        if self._history.unknown_since is None and some_since is not None:
            known, partitions = self._inputs.known, self._inputs.partitions
            what = f"the lag of {partitions - known} of {counted(partitions, 'partition')}"
            return f"{what} has not been known for {self._now - some_since:.0f} s, and nobody " \
                "reads: somebody has to"  # fmt: skip
        unknown = f"the lag has not been known for {self._unknown_for()}"
        if self._policy.fallback is None:
            return f"{unknown}, and nobody reads: somebody has to"
        return f"{unknown}: scaling.fallback says how many there are to be then"

    def _unknown_for(self) -> str:
        since = self._history.unknown_since
        return f"{self._now - since:.0f} s" if since is not None else "a while"

    def _no_gain(self) -> str:
        ceiling = self._history.trials.ceiling
        if ceiling is None:
            return "the last step gained nothing"
        before, after = ceiling.handled
        text = (
            f"{ceiling.tried} consumers handled {rate_text(after)} events/s, as about "
            f"{ceiling.count} would, and {rate_text(before)}/s before the step"
        )
        slower = ": each event costs more now, so what comes after the group is slower"
        left = max(ceiling.until - self._now, 0.0)
        return f"{text}{slower if ceiling.is_downstream else ''}; not tried again for {left:.0f} s"

    def what_stops(self) -> str:
        decision, policy, inputs = self._decision, self._policy, self._inputs
        if decision.bound is None:
            return ""
        if decision.bound is Bound.PARTITION:
            most = self._history.costs.per_partition or 0.0
            parts = decision.bound_partitions
            rates = [self._history.arrivals[p].rate or 0.0 for p in parts]
            gets = f"gets {rate_text(max(rates))} events/s"
            if max(rates) <= most:
                gets = "has got more than one consumer handles"
            return (
                f"{partitions_text(parts)} alone {gets}, and one consumer handles "
                f"{rate_text(most)}/s of it: more consumers do not help. Use more keys or more "
                "partitions, or a faster handler"
            )
        reach = f"the objective, {objective_text(policy)}, cannot be reached"
        if decision.bound is Bound.MAX:
            return f"{reach} with scaling.max: {policy.max}: raise it"
        if decision.bound is Bound.PARTITIONS:
            return (
                f"{reach} with {counted(inputs.partitions, 'partition')}, of which each has one "
                "reader: make the handler faster, or give the hub more partitions"
            )
        text = f"{reach}, and more than {counted(inputs.most, 'consumer')} were of no use"
        if decision.bound is Bound.DOWNSTREAM:
            return f"{text}: make what the handlers write to faster, or lower scaling.max"
        return f"{text}: look at what the handlers wait for"

    def doubts(self) -> str:
        doubts = self._inputs.doubts
        return f"not believed: {', '.join(doubts)}" if doubts else ""
