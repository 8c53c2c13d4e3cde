"""What the status and its conditions are told from: a group as it looks now, worked out once. Pure.

Rules: a pod that is going, or has run its course, is not counted. A partition that is paused is
nobody's, and is missed by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidegate.model import Listing, MemberName, PartitionId, Presence
from tidegate.ports import lost_position
from tidegate_operator import lag as lags
from tidegate_operator import sizing
from tidegate_operator.commands import Commands
from tidegate_operator.lag import GroupLag
from tidegate_operator.model import GroupKey, Observation, PodFacts, Steps, Wish
from tidegate_operator.rollout import is_live

# A partition that is being taken over has nobody for a second or two. So long is too long.
UNOWNED_LIMIT_S = 15.0


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as it looks now."""

    observation: Observation
    steps: Steps
    lag: GroupLag
    # None where there is none, or it is too old to say how things are.
    listing: Listing | None
    # How many pods are wanted in the end, and those that there are.
    wanted: int
    pods: tuple[PodFacts, ...]
    # Those that hold executors.
    drivers: tuple[PodFacts, ...]
    partitions: tuple[PartitionId, ...]
    owners: Mapping[PartitionId, MemberName]
    paused: frozenset[PartitionId]

    @property
    def key(self) -> GroupKey:
        return self.observation.key

    @property
    def commands(self) -> Commands:
        return self.observation.commands

    @property
    def wish(self) -> Wish:
        return self.observation.wish

    @property
    def now(self) -> float:
        return self.observation.now

    @property
    def ready(self) -> int:
        """Pods of the Deployment that have joined; those made by hand are nobody's wish."""
        return sum(pod.is_ready for pod in self.pods if pod.revision)

    @property
    def unlisted(self) -> tuple[MemberName, ...]:
        """Pods that have joined, and that the listing does not know: it is from before that, or
        they do not write that they live."""
        if self.listing is None:
            return ()
        members, roster = self.listing.members, self.listing.roster
        gone = self.steps.leaving.union(roster.leaving if roster is not None else ())
        alive = {name for name, presence in members.items() if presence.is_alive}
        ready = (pod.name for pod in self.pods if pod.is_ready and pod.revision)
        return tuple(name for name in ready if name not in alive | gone)

    @property
    def unowned(self) -> tuple[PartitionId, ...]:
        """What nobody reads, though somebody should."""
        since = self.lag.unowned_since
        return tuple(partition for partition in self.partitions if partition in since)

    @property
    def long_unowned(self) -> tuple[PartitionId, ...]:
        """What nobody has read for longer than a take-over takes."""
        since = self.lag.unowned_since
        return tuple(p for p in self.unowned if self.now - since[p] > UNOWNED_LIMIT_S)

    @property
    def unread(self) -> Mapping[PartitionId, Presence]:
        """The partitions that their owners report as unreadable, with these owners."""
        return lags.unreadable_partitions(self.listing, self.owners)

    @property
    def lost(self) -> Mapping[str, str]:
        """Words on positions that mean nothing to the source any more, and whose words they are: of
        a member, or of the source on a partition that nobody owns."""
        told = {each.name: lost_position(each.trouble) for each in self.unread.values()}
        ends = self.observation.ends
        of_source = ends.lost if ends is not None else {}
        told |= {p: words for p, words in of_source.items() if p not in self.owners}
        return {whose: words for whose, words in told.items() if words}


def view_of(observation: Observation, steps: Steps, lag: GroupLag) -> GroupView:
    """The group as it looks now."""
    listing = lags.listing_of(observation)
    partitions = tuple(lag.partitions)
    owners = lags.owners_of(listing, partitions) if listing is not None else {}
    return GroupView(
        observation=observation,
        steps=steps,
        lag=lag,
        listing=listing,
        wanted=steps.wanted if steps.wanted is not None else sizing.stands(observation),
        pods=_standing(observation.pods),
        drivers=_standing(observation.spark.drivers) if observation.spark is not None else (),
        partitions=partitions,
        owners=owners,
        paused=lags.paused_partitions(observation),
    )


def _standing(pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    return tuple(pod for pod in sorted(pods, key=lambda pod: pod.name) if is_live(pod))
