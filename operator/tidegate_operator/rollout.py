"""Who of the group's pods stays and who leaves: one rule for rollouts and for scale-in. Pure.

Rules:
- Pods that are too many leave. In a rollout that is one old pod for each new one, as soon as the
  new one's object is there; when the group shrinks it is the difference.
- First leave those who never came, then those of an old revision, then those who have been told
  already, then whom Kubernetes would take first in any case (not ready), and then those with the
  fewest and cheapest partitions. Nobody who is pinned leaves before somebody who is not.
- Who was chosen stays chosen, also where the listing is from before the roster that told them.
- Until the new pod has joined nothing is given away, and the choice is free: then whom Kubernetes
  would take first leaves before those who were told. Otherwise a pod whose probe got no answer for
  a moment would be ended beside the one that has handed over, and its partitions moved twice.
- Pods that the Deployment did not make count as members and are never victims.
- Pods that go by their place leave by it: of those of one revision the highest places, whatever
  they own, and the old ones from the highest place down.
- Pods are expected in the order in which they were made, so that in a rollout each partition moves
  once. Who has not been seen for `ABSENT_LIMIT_S` is expected no longer.
- Members whose pod is being deleted or has ended are leaving, and so are the dead: what they leave
  behind goes to others at once. They end before the members whose pods will be deleted later. In
  both groups the roster's order is kept. Members deal partitions out in this order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.model import Listing, MemberName, PartitionId, Roster
from tidegate_operator.model import Observation, PodFacts

ABSENT_LIMIT_S = 60.0
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Roles:
    """What becomes of each pod."""

    # Who shall be members in the end, the oldest first.
    expected: tuple[MemberName, ...]
    # Pods of the Deployment that shall go, the first to go first.
    victims: tuple[MemberName, ...]
    # All members that must hand over: victims that may come or are there, and members whose pods
    # end without the operator's doing. In the order in which they end.
    leaving: tuple[MemberName, ...]
    # Pods that were waited for long enough.
    given_up: frozenset[MemberName]
    # Live pods of the Deployment, and how many of them are of the revision that new pods get.
    live: int
    current: int

    @property
    def is_rolling(self) -> bool:
        """Whether pods of an old revision are still to be replaced."""
        return self.current < self.live


def is_live(pod: PodFacts) -> bool:
    """Whether a pod is there to stay, as far as Kubernetes is concerned."""
    return not pod.is_deleting and pod.phase not in _ENDED


def missed_since(
    before: Mapping[MemberName, float],
    pods: Collection[PodFacts],
    alive: Collection[MemberName],
    now: float,
) -> dict[MemberName, float]:
    """Since when, by the operator's clock, each pod that is no member has been missed."""
    return {
        pod.name: before.get(pod.name, now)
        for pod in pods
        if is_live(pod) and pod.name not in alive
    }


def roles_of(
    observation: Observation,
    listing: Listing,
    seen: Roster,
    wanted: int,
    missed: Mapping[MemberName, float],
    alive: Collection[MemberName],
    dead: Collection[MemberName],
    chosen: Collection[MemberName] = (),
) -> Roles:
    """Everybody's part. `seen` is the roster as it counts now; `chosen`: the last victims."""
    given_up = frozenset(
        name for name, since in missed.items() if observation.now - since >= ABSENT_LIMIT_S
    )
    live = sorted(filter(is_live, observation.pods), key=lambda pod: (pod.created_at, pod.name))
    ours = [pod for pod in live if pod.revision]
    revision = observation.workload.revision if observation.workload is not None else ""
    surplus = len(ours) - wanted
    if not revision and observation.workload is not None:
        # Which of them is new is not known: one that is there besides is of a rollout.
        surplus = min(surplus, observation.workload.replicas - wanted)
    first: list[PodFacts] = []
    if any(pod.place is not None for pod in ours):
        first = _by_place(ours, revision, wanted)
    elif surplus > 0:
        rank = _Rank(observation, listing, {*seen.leaving, *chosen}, revision, given_up)
        rank.has_begun = not _is_nothing_given(ours, revision, given_up, alive, surplus)
        first = sorted(ours, key=rank.of)[:surplus]
    victims = tuple(pod.name for pod in first)
    ending = {pod.name for pod in observation.pods if not is_live(pod)} & set(alive)
    # Who never came has nothing to hand over, and need not be told again and again.
    order = {name: turn for turn, name in enumerate((*seen.leaving, *victims))}
    first_to_end = sorted({*ending, *dead}, key=lambda name: (order.get(name, len(order)), name))
    leaving = dict.fromkeys(name for name in (*first_to_end, *victims) if name not in given_up)
    return Roles(
        expected=tuple(
            pod.name
            for pod in live
            if pod.name not in leaving and pod.name not in given_up and pod.name not in victims
        ),
        victims=victims,
        leaving=tuple(leaving),
        given_up=given_up,
        live=len(ours),
        current=sum(_is_current(pod, revision) for pod in ours),
    )


def _by_place(ours: Collection[PodFacts], revision: str, wanted: int) -> list[PodFacts]:
    """Those that are too many where nobody is chosen."""
    ordered = sorted(ours, key=lambda pod: (-(pod.place or 0), pod.name))
    over = [p for p in ordered if _is_current(p, revision) and (p.place or 0) >= wanted]
    old = [pod for pod in ordered if not _is_current(pod, revision)]
    surplus = len(ours) - len(over) - wanted
    return [*old[: max(surplus, 0)], *over]


def _is_nothing_given(
    ours: Collection[PodFacts],
    revision: str,
    given_up: Collection[MemberName],
    alive: Collection[MemberName],
    surplus: int,
) -> bool:
    """Whether in a rollout nobody has joined yet in the place of those who leave."""
    new = [pod for pod in ours if _is_current(pod, revision)]
    awaited = [pod for pod in new if pod.name not in alive and pod.name not in given_up]
    return len(new) < len(ours) and len(awaited) >= surplus


def _is_current(pod: PodFacts, revision: str) -> bool:
    """Whether it is of the revision that new pods get; of any, where that is not known."""
    return not revision or pod.revision == revision


class _Rank:
    """The order in which pods go."""

    def __init__(
        self,
        observation: Observation,
        listing: Listing,
        told: Collection[MemberName],
        revision: str,
        given_up: Collection[MemberName],
    ) -> None:
        self._listing = listing
        self._holdings = holdings(listing)
        self._told = told
        self._revision = revision
        self._given_up = given_up
        self._pinned = frozenset(observation.wish.pins.values())
        # Whether those who were told may have given something away already.
        self.has_begun = True

    def of(self, pod: PodFacts) -> tuple[object, ...]:
        count, load = self._owned(pod.name)
        return (
            pod.name not in self._given_up,
            _is_current(pod, self._revision),
            self.has_begun or pod.is_ready,
            pod.name not in self._told,
            pod.is_ready,
            pod.name in self._pinned,
            count,
            load,
            -pod.created_at,
            pod.name,
        )

    def _owned(self, name: MemberName) -> tuple[int, float]:
        owned = self._holdings.get(name, [])
        presence = self._listing.members.get(name)
        loads = presence.loads if presence is not None else {}
        return len(owned), sum(loads.get(partition, 0.0) for partition in owned)


def holdings(listing: Listing) -> dict[MemberName, list[PartitionId]]:
    """The partitions that each member holds, by the listing."""
    found: dict[MemberName, list[PartitionId]] = {}
    for row in listing.ownerships.values():
        if row.lease.is_held and not row.is_foreign and row.owner is not None:
            found.setdefault(row.owner.name, []).append(row.partition)
    return found
