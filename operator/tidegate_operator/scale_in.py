"""When the Deployment shrinks: never before its victims were told and are seen empty. Pure.

Rules:
- It shrinks only where the roster that stands names the victims as leaving, is one that this
  operator has touched, and their pods have the deletion cost that makes Kubernetes take just them.
- Victims must hold nothing, and want nothing. A lease that has expired counts as held while its
  owner lives, for it can be renewed. Where nobody is left to give to they cannot hand
  over before they are asked to stop: then they are asked to.
- All that delays it for `hand_over_limit_s` and 30 s at most. Then it goes on, and says so: the pod
  still hands over when it is asked to stop.
- Kubernetes takes pods that are not ready before those that are marked: it waits for these, too.
- Pods that go by their place need no mark, and none goes in their stead.
- In the middle of a rollout it waits, because Kubernetes would take some of the new pods as well,
  unless the rollout does not get on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.model import LeaseState, Listing, MemberName
from tidegate_operator.facts import DELETION_COST
from tidegate_operator.model import Observation, PodFacts
from tidegate_operator.rollout import Roles, holdings, is_live

PATIENCE_S = 30.0
# The kubelet's own patience with a rollout, and so ours.
ROLLOUT_LIMIT_S = 600.0
# Kubernetes takes the pod with the lowest cost first; pods without one count as 0.
VICTIM_COST = -1000


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it may shrink, and what there is to say."""

    may_shrink: bool
    doing: str


def verdict(
    observation: Observation,
    listing: Listing,
    roles: Roles,
    alive: Collection[MemberName],
    told: Mapping[MemberName, float],
    *,
    wanted: int,
) -> Verdict:
    """`told`: since when, by the operator's clock, each victim has been told that it leaves."""
    victims, workload = roles.victims, observation.workload
    assert workload is not None
    if roles.live < workload.replicas and not workload.failure:
        return Verdict(False, "not all of its pods are there to choose from")
    if not victims:
        return Verdict(True, "")
    names = ", ".join(victims)
    if any(name not in told for name in victims):
        return Verdict(False, f"{names} will leave: the roster that says so is not yet written")
    waited_s = observation.now - max(told[name] for name in victims)
    if roles.is_rolling and wanted and not _is_stuck(observation, roles, waited_s):
        return Verdict(False, f"{names} will leave once the rollout is over")
    obstacle = _obstacle(observation, listing, roles, alive)
    limit_s = observation.wish.hand_over_limit_s + PATIENCE_S
    if obstacle and waited_s >= limit_s:
        return Verdict(
            True, f"{names} must go after {limit_s:g} s all the same, although {obstacle}"
        )
    if obstacle:
        return Verdict(False, f"{names} will leave, but {obstacle}")
    return Verdict(True, f"{names} have handed over and leave")


def deletion_costs(pods: Collection[PodFacts], victims: Collection[MemberName]) -> dict[str, int]:
    """The costs that are to change: of victims, and of those who are victims no longer."""
    costs: dict[str, int] = {}
    for pod in pods:
        if not pod.revision or not is_live(pod) or pod.place is not None:
            continue
        if pod.name in victims and pod.deletion_cost != VICTIM_COST:
            costs[pod.name] = VICTIM_COST
        elif pod.name not in victims and pod.deletion_cost == VICTIM_COST:
            costs[pod.name] = 0
    return costs


def _is_stuck(observation: Observation, roles: Roles, waited_s: float) -> bool:
    """Whether the new pods do not come."""
    workload = observation.workload
    assert workload is not None
    is_any_given_up = any(
        pod.name in roles.given_up and pod.revision == workload.revision for pod in observation.pods
    )
    return is_any_given_up or bool(workload.failure) or waited_s >= ROLLOUT_LIMIT_S


def _obstacle(
    observation: Observation,
    listing: Listing,
    roles: Roles,
    alive: Collection[MemberName],
) -> str:
    """What speaks against it for now; '' where nothing does."""
    full = _full(observation, listing, roles, alive)
    if full:
        text = ", ".join(f"{name} ({count} partitions)" for name, count in full.items())
        return f"this has not been handed over: {text}; its handlers may be slow or hang"
    live = [pod for pod in observation.pods if pod.revision and is_live(pod) and pod.place is None]
    unmarked = {pod.name for pod in live if pod.deletion_cost != VICTIM_COST}
    if unmarked & set(roles.victims):
        return f"their pods do not have the annotation {DELETION_COST} yet"
    unready = [pod.name for pod in live if not pod.is_ready and pod.name not in roles.victims]
    if unready and any(pod.is_ready for pod in live if pod.name in roles.victims):
        return f"Kubernetes would take {', '.join(unready)} first, which is not ready"
    return ""


def _full(
    observation: Observation,
    listing: Listing,
    roles: Roles,
    alive: Collection[MemberName],
) -> dict[MemberName, int]:
    """The victims that still have something to give, and somebody to give it to."""
    members = listing.members
    takers = [
        name
        for name in alive
        if name not in roles.leaving and name in members and not members[name].is_leaving
    ]
    if not takers and not observation.wish.is_paused:
        return {}
    owned, lapsed = holdings(listing), _lapsed(listing)
    held = {name: len(owned.get(name, ())) + lapsed[name] for name in roles.victims}
    wanting = {name for name in roles.victims if name in members and members[name].wants}
    return {name: count for name, count in held.items() if count or name in wanting}


def _lapsed(listing: Listing) -> Counter[MemberName]:
    """The number of expired leases of each living member. It can renew them until others take them,
    and does so when storage answers again."""
    members = listing.members
    return Counter(
        row.owner.name
        for row in listing.ownerships.values()
        if row.lease is LeaseState.EXPIRED
        and row.owner is not None
        and row.owner.name in members
        and members[row.owner.name].is_alive
        and members[row.owner.name].incarnation == row.owner.incarnation
    )
