"""How many consumers a group would have, worked out from what its status says. Pure.

Rules:
- What decides is the operator's own `decide`, on a history that its own `looked` makes of looks at
  the group: as if it had been for some minutes as its status shows it now.
- A status tells what arrives as a sum: it is taken to be shared by all partitions that are read.
  For how long fewer have been enough it does not tell: so nothing is said to get smaller at once.
- What is to be known for an answer and is not there, is an answer too: None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.model import PartitionId
from tidegate_operator.scaling import (
    Decision,
    History,
    PartitionSample,
    Policy,
    Sample,
    decide,
    looked,
)
from tidegate_operator.scaling.nouns import Spell
from tidegate_operator.scaling.proven import Proven
from tidegate_operator.scaling.report import restored

# The looks that the history is made of, before now.
_LOOKS_S = (150.0, 120.0, 90.0, 60.0, 30.0, 10.0, 5.0, 0.0)
# Figures are looked for up to here, and as closely as this.
_MOST = 1e9
_CLOSE = 1.02

Said = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """A group as its status shows it."""

    # What an operator that begins reads from the status.
    begins: History
    # As it is looked at now; ends are those of `history_of`.
    sample: Sample
    policy: Policy
    # All that arrives in a second, and all that waits, where it is known.
    arriving: float | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class Turns:
    """From where on the number would be another one; None where it never would."""

    # What arrives and what a consumer handles is known.
    is_known: bool = False
    more_arriving: float | None = None
    more_lag: int | None = None
    fewer_arriving: float | None = None
    # More would be asked for by what arrives or waits already, if consumers were full; the operator
    # has not seen them full.
    is_only_estimated: bool = False


def standing_of(document: Said, policy: Policy, now: float) -> Standing | None:
    """None where the operator has not said enough of the group."""
    status = document.get("status") or {}
    said, replicas = status.get("scaling"), status.get("wanted", status.get("replicas"))
    if not said or replicas is None or not status.get("partitions"):
        return None
    spec = document.get("spec") or {}
    told = status.get("partitionStates") or _counted(status, spec)
    paused = set(spec.get("pausedPartitions") or ())
    partitions = {
        each["partition"]: PartitionSample(
            lag=each.get("lag"),
            behind_s=each.get("behindSeconds"),
            owner=each.get("owner"),
            is_paused=bool(spec.get("paused")) or each["partition"] in paused,
            is_begun=each.get("sequenceNumber") is not None,
        )
        for each in told
    }
    members = sum(bool(each.get("ready")) for each in status.get("members") or ())
    lags = [seen.lag for seen in partitions.values() if seen.lag is not None]
    standing = Standing(
        begins=restored(said, now)[0],
        sample=Sample(at=now, partitions=partitions, replicas=replicas, members=members),
        policy=policy,
        arriving=None,
        lag=sum(lags) if lags else None,
    )
    arriving, handling = said.get("arriving"), said.get("handling")
    return standing if arriving is None else _with_rates(standing, arriving, handling)


def _counted(status: Said, spec: Said) -> list[Said]:
    """The partitions that a status only counts, each with its share of what waits."""
    names = [str(number) for number in range(status["partitions"])]
    paused = set(spec.get("pausedPartitions") or ())
    read = [name for name in names if name not in paused]
    found: dict[PartitionId, dict[str, Any]] = {
        name: {"partition": name, "sequenceNumber": 0} for name in names
    }
    for place, name in enumerate(read):
        found[name]["owner"] = "somebody"
        if status.get("lag") is not None:
            share, odd = divmod(status["lag"], len(read))
            found[name]["lag"] = share + (place < odd)
            found[name]["behindSeconds"] = status["scaling"].get("behindSeconds", 0.0)
    return list(found.values())


def _with_rates(standing: Standing, arriving: float, handling: float | None) -> Standing:
    """The same where so much arrives and is handled, in each partition that is read as much."""
    rows = standing.sample.partitions
    read = max(sum(not seen.is_paused for seen in rows.values()), 1)
    changed = {
        partition: seen
        if seen.is_paused
        else replace(
            seen,
            arriving=arriving / read,
            handling=None if handling is None else handling / read,
        )
        for partition, seen in rows.items()
    }
    sample = replace(standing.sample, partitions=changed)
    return replace(standing, sample=sample, arriving=arriving)


def history_of(standing: Standing) -> History:
    """As if it had been looked at for some minutes in which nothing changed."""
    history, last = standing.begins, standing.sample
    for before_s in _LOOKS_S:
        after_s = _LOOKS_S[0] - before_s
        partitions = {
            partition: seen
            if seen.arriving is None or seen.lag is None
            else replace(seen, end=seen.lag + round(seen.arriving * after_s))
            for partition, seen in last.partitions.items()
        }
        sample = replace(last, at=last.at - before_s, partitions=partitions)
        history = looked(history, sample, standing.policy)
    return replace(history, shortage=None)


# --- what would be decided


def decision_of(standing: Standing, proven: Proven | None = None) -> Decision:
    """`proven`: what consumers have been seen to handle, where that is less than what arrives; so
    they have been seen to be full."""
    history, now = history_of(standing), standing.sample.at
    if proven is not None:
        costs = replace(history.costs, full_at=now)
        history = replace(history, costs=costs, proven=proven)
    decision = decide(history, standing.policy, now)
    if decision.shortage is None:
        return decision
    # It has been so for as long as the group has been as it is.
    history = replace(history, shortage=Spell(-math.inf, now))
    return decide(history, standing.policy, now)


def turns_of(standing: Standing) -> Turns:
    """From where on more would be asked for, or fewer would do; the other figures as they are."""
    replicas, turns = standing.sample.replicas, Turns()
    proven = history_of(standing).proven

    def wants_more(changed: Standing) -> bool:
        return decision_of(changed, proven).replicas > replicas

    def wants_as_many(changed: Standing) -> bool:
        calm = decision_of(changed).inputs.calm
        return calm is None or calm >= replicas

    if standing.begins.costs.per_member is not None and standing.arriving is not None:
        turns = Turns(
            is_known=True,
            more_arriving=_least(lambda rate: wants_more(_arriving(standing, rate))),
            fewer_arriving=_least(lambda rate: wants_as_many(_arriving(standing, rate))),
        )
    if standing.lag is not None:
        more = _least(lambda count: wants_more(_waiting(standing, count)))
        turns = replace(turns, more_lag=None if more is None else round(more))
    return turns


def _least(holds: Callable[[float], bool]) -> float | None:
    """The least figure from which on something holds; None where it never does."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, high * 4
        if high > _MOST:
            return None
    while high > max(low, 0.01) * _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _arriving(standing: Standing, rate: float) -> Standing:
    """The same where so much arrives, and is handled as it was."""
    told = [each.handling for each in standing.sample.partitions.values()]
    handling = sum(each for each in told if each is not None)
    share = handling / standing.arriving if standing.arriving else 1.0
    return _with_rates(standing, rate, rate * share)


def _waiting(standing: Standing, lag: float) -> Standing:
    """The same where so many events wait, as many in each partition."""
    rows = standing.sample.partitions
    read = sum(not seen.is_paused and seen.lag is not None for seen in rows.values())
    changed = {
        partition: replace(seen, lag=round(lag / read))
        if not seen.is_paused and seen.lag is not None
        else seen
        for partition, seen in rows.items()
    }
    return replace(standing, sample=replace(standing.sample, partitions=changed))
