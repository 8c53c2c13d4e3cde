"""Why there are to be so many consumers, in words for people. Pure.

Rules: one sentence or two, with the figures that decided it; what keeps the objective from being
kept is said, and so is what was not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.group_file.durations import duration_text
from tidegate_operator.scaling.history import History
from tidegate_operator.scaling.nouns import Bound, Decision, Inputs, Policy, Reason
from tidegate_operator.wording import counted, partitions_text


def message(decision: Decision, history: History, policy: Policy, now: float) -> str:
    """Without a full stop at its end."""
    saying = _Saying(decision, history, policy, now)
    parts = [saying.why(), saying.what_stops(), saying.doubts()]
    return "; ".join(part for part in parts if part)


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
            Reason.ARRIVALS: lambda: f"{self._arrives()}, {self._handles()}",
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
            Reason.ENOUGH: lambda: f"{self._arrives()}, {self._handles()}: that is enough",
            Reason.HELD: lambda: f"{self._arrives()}, {self._handles()}",
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

    def _waits(self) -> str:
        lag, behind_s = self._inputs.lag, self._inputs.behind_s
        if lag is None:
            return "events wait"
        oldest = "" if not behind_s else f" (the oldest for {behind_s:.0f} s)"
        return f"{lag:,} events wait{oldest}"

    def _fewer(self) -> str:
        count = self._decision.replicas
        has = f"{count} {'has' if count == 1 else 'have'} been enough"
        return f"{self._arrives()}, {self._handles()}: {has} for {self._stable(count)}"

    def _stable(self, count: int) -> str:
        return duration_text(self._history.trials.stable_s(self._policy.stable_s, count))

    def _waiting(self) -> str:
        calm = self._inputs.calm
        window = self._stable(calm) if calm else duration_text(self._policy.idle_s)
        count = "none" if not calm else str(calm)
        return f"{self._arrives()}: {count} would do, and must have done so for {window}"

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
            f"{ceiling.tried} consumers handled {rate_text(after)} events/s, and "
            f"{rate_text(before)}/s before there were so many"
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
            return (
                f"{partitions_text(parts)} alone gets {rate_text(max(rates))} events/s, and one "
                f"consumer handles {rate_text(most)}/s of it: more consumers do not help. Use more "
                "keys or more partitions, or a faster handler"
            )
        reach = f"the objective, {objective_text(policy)}, cannot be reached"
        if decision.bound is Bound.MAX:
            return f"{reach} with scaling.max: {policy.max}: raise it"
        if decision.bound is Bound.PARTITIONS:
            return (
                f"{reach} with {counted(inputs.partitions, 'partition')}, of which each has one "
                "reader: make the handler faster, or give the hub more partitions"
            )
        return f"{reach}, and more than {inputs.most} consumers were of no use"

    def doubts(self) -> str:
        doubts = self._inputs.doubts
        return f"not believed: {', '.join(doubts)}" if doubts else ""
