"""How many pods a group shall have, round by round: what is seen goes into the history. Pure.

Rules:
- What a person, a pause or an autoscaler has decided is done; what would have been decided is said.
  Where nobody decides, the size is as it is, and after a pause as it was before it.
- What was asked for last counts as the size, also while pods still come or hand over: a step under
  way is not decided again. Where somebody else has made more of them, as many as there are count.
- An operator that begins goes on from what the status says, and then from what it sees. It makes
  nothing smaller but what was under way: what it is told may be older than the Deployment.
- Without a listing that is fresh a look is taken, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tidegate.model import MemberName, PartitionId, Presence
from tidegate_operator import lag as lags
from tidegate_operator.lag import GroupLag
from tidegate_operator.model import Observation, Wish
from tidegate_operator.rollout import holdings, is_live
from tidegate_operator.scaling import (
    History,
    Mode,
    PartitionSample,
    Policy,
    Report,
    Sample,
    Watch,
    decide,
    decided,
    looked,
)
from tidegate_operator.scaling.report import before_pause_in, restored
from tidegate_operator.scaling.standstill import watched

# Rounds follow one another as quickly as something happens; looks need not, least of all at a
# listing that was looked at already.
_LOOK_S, _SAME_LOOK_S = 0.4, 1.0
# A partition that nobody has taken for so long, although members live, is one that nobody can read.
_HALTED_S = 60.0


@dataclass(frozen=True, slots=True)
class Sizing:
    """What is remembered of a group's size."""

    history: History = field(default_factory=History)
    watch: Watch = field(default_factory=Watch)
    # How many were asked for last; None where that is not ours to say.
    asked: int | None = None
    # How many the Deployment had when fewer were asked for, until it has no more than that.
    lowering_from: int | None = None
    looked_at: float | None = None
    # When the listing was asked for that was looked at.
    looked_on: float | None = None
    report: Report | None = None
    # How many there were before a pause, until there are as many again, or something decides it.
    before_pause: int | None = None


def stands(observation: Observation, before_pause: int | None = None) -> int:
    """How many there shall be where nothing decides it anew."""
    wish, workload = observation.wish, observation.workload
    if wish.is_paused:
        return wish.paused_replicas
    if wish.replicas is not None:
        return wish.replicas
    if before_pause is not None:
        return before_pause
    if workload is None or not workload.is_begun:
        return wish.min_replicas
    if wish.is_left_as_it_is:
        return workload.replicas
    return min(max(workload.replicas, wish.min_replicas), wish.max_replicas)


def first_size(observation: Observation, report: Report | None) -> int | None:
    """The `spec.replicas` to write for an autoscaler; None if nothing must be written.

    With `mode: External` the operator writes the first number, because the API server refuses to
    read `/scale` without one, and an autoscaler reads before it writes.
    """
    wish, policy = observation.wish, observation.wish.scaling
    if policy is None or policy.mode is not Mode.EXTERNAL or wish.replicas is not None:
        return None
    if report is None and observation.workload is not None:
        return None  # how many there were before a pause is not known yet
    before_pause = report.before_pause if report is not None else None
    awake = replace(observation, wish=replace(wish, is_paused=False))
    size = stands(awake, before_pause)
    return min(max(size, wish.min_replicas), wish.max_replicas)


def sized(
    sizing: Sizing,
    observation: Observation,
    lag: GroupLag | None,
    alive: Collection[MemberName],
    *,
    is_fresh: bool,
) -> tuple[Sizing, int]:
    """How many pods there shall be, and what to remember. `alive`: members of the listing."""
    policy, now = observation.wish.scaling, observation.now
    if policy is None or lag is None:
        return sizing, stands(observation)
    if sizing.looked_at is not None and sizing.looked_at > now:
        sizing = Sizing()  # the clock was set back: all that is remembered is of the future
    if sizing.looked_at is None:
        if not is_fresh:
            return sizing, stands(observation)
        history, asked = restored(observation.said, now)
        sizing = replace(sizing, history=history, asked=_goes_on(observation, asked))
        sizing = replace(sizing, lowering_from=_size(observation))
        sizing = replace(sizing, before_pause=before_pause_in(observation.said))
    sizing = _as_it_was(sizing, observation)
    instead = _instead(observation.wish, policy)
    is_ours = policy.mode is Mode.AUTO and not instead
    if not is_ours or observation.workload is None:
        sizing = replace(sizing, asked=None)
    sizing = _as_it_stands(sizing, observation)
    size = sizing.asked if sizing.asked is not None else _size(observation)
    asked_at = observation.ledger.asked_at if observation.ledger is not None else None
    every_s = _SAME_LOOK_S if asked_at == sizing.looked_on else _LOOK_S
    if sizing.looked_at is None or now - sizing.looked_at >= every_s:
        sample = sample_of(observation, lag, alive, size)
        history = looked(sizing.history, sample, policy)
        sizing = replace(sizing, history=history, looked_at=now, looked_on=asked_at)
        if is_fresh:
            decision = decide(history, policy, now)
            history = decided(history, decision, now, is_followed=is_ours)
            sizing = replace(
                sizing,
                history=history,
                asked=decision.replicas if is_ours else None,
                watch=_watched(sizing.watch, observation, sample, alive),
                report=Report(
                    policy,
                    history,
                    decision,
                    instead,
                    observation.wish.is_paused,
                    sizing.before_pause,
                ),
            )
    sizing = _as_it_is_lowered(sizing, observation)
    if is_ours and sizing.asked is not None:
        return sizing, sizing.asked
    return sizing, stands(observation, sizing.before_pause)


def _as_it_was(sizing: Sizing, observation: Observation) -> Sizing:
    """With how many there were before a pause, as long as that is to be known."""
    wish, count = observation.wish, _size(observation)
    before = sizing.before_pause
    if wish.is_paused:
        # One that was made paused begins with the fewest.
        before = max(count, wish.min_replicas) if before is None else before
    elif before == count or not wish.is_left_as_it_is:
        before = None
    return replace(sizing, before_pause=before)


def _as_it_stands(sizing: Sizing, observation: Observation) -> Sizing:
    """Without what was asked for, where somebody else has made the Deployment larger since."""
    asked, count = sizing.asked, _size(observation)
    if asked is None or count <= asked:
        return replace(sizing, lowering_from=None)
    is_ours = sizing.lowering_from is not None and count <= sizing.lowering_from
    return sizing if is_ours else replace(sizing, asked=None, lowering_from=None)


def _as_it_is_lowered(sizing: Sizing, observation: Observation) -> Sizing:
    asked, count = sizing.asked, _size(observation)
    if asked is None or count <= asked:
        return sizing
    return replace(sizing, lowering_from=max(count, sizing.lowering_from or 0))


def _goes_on(observation: Observation, asked: int | None) -> int | None:
    """What the operator before this one asked for last, as far as it may be gone on with."""
    workload = observation.workload
    if asked is None or workload is None or asked >= workload.replicas:
        return asked
    told = _leaving(observation)
    going = [pod for pod in observation.pods if pod.revision and pod.name in told]
    return asked if len(going) >= workload.replicas - asked else None


def with_watch(wish: Wish, watch: Watch) -> Wish:
    """The wish with what is done about partitions that stand still; a person's pins come first."""
    return replace(
        wish,
        pins={**watch.pins, **wish.pins},
        paused_partitions=wish.paused_partitions | watch.quarantined,
    )


def sample_of(
    observation: Observation, lag: GroupLag, alive: Collection[MemberName], replicas: int
) -> Sample:
    """The group in one look."""
    listing = lags.listing_of(observation)
    told = lags.told_figures(observation)
    paused = _paused(observation)
    partitions: dict[str, PartitionSample] = {}
    for partition, known in lag.partitions.items():
        owner = lags.owner_of(listing, partition) if listing is not None else None
        presence = listing.members.get(owner) if listing is not None and owner else None
        figures, end = told.get(partition), lag.ends.get(partition)
        partitions[partition] = PartitionSample(
            lag=known.lag.events,
            behind_s=known.lag.behind_s,
            arriving=figures.arriving if figures is not None else None,
            handling=figures.handling if figures is not None else None,
            busy=figures.busy if figures is not None else None,
            utilization=figures.utilization if figures is not None else None,
            owner=owner,
            end=end.sequence if end is not None else None,
            end_at=end.known_at if end is not None else None,
            handled=known.handled,
            is_stuck=_is_halted(observation, lag, partition, alive)
            or (presence is not None and _is_stuck(presence, partition)),
            is_unread=presence is not None and partition in presence.unread,
            is_paused=partition in paused,
            is_begun=listing is None or partition in listing.checkpoints,
        )
    leaving = _leaving(observation)
    members = [name for name in alive if name not in leaving]
    return Sample(
        at=observation.now,
        partitions=partitions,
        replicas=replicas,
        members=len(members),
        is_settled=_is_settled(observation, lag, members, replicas),
    )


def _paused(observation: Observation) -> frozenset[PartitionId]:
    """Those that nobody is to read. A pause of all ends with the wish, before the roster says so:
    what waits then is to be seen at once."""
    wish, listing = observation.wish, observation.listing
    if wish.is_paused:
        return lags.paused_partitions(observation)
    roster = listing.roster if listing is not None else None
    return wish.paused_partitions | (roster.paused if roster is not None else frozenset())


def _is_stuck(presence: Presence, partition: str) -> bool:
    return partition in presence.stuck or partition in presence.declines


def _is_halted(
    observation: Observation, lag: GroupLag, partition: str, alive: Collection[MemberName]
) -> bool:
    since = lag.unowned_since.get(partition)
    return bool(alive) and since is not None and observation.now - since > _HALTED_S


def _leaving(observation: Observation) -> frozenset[MemberName]:
    listing = observation.listing
    if listing is None:
        return frozenset()
    roster = listing.roster
    marked = roster.leaving if roster is not None else ()
    leaving = (name for name, each in listing.members.items() if each.is_leaving)
    return frozenset((*marked, *leaving))


def _is_settled(
    observation: Observation, lag: GroupLag, members: Collection[MemberName], replicas: int
) -> bool:
    """Whether nothing is on its way."""
    workload = observation.workload
    ours = [pod for pod in observation.pods if pod.revision]
    return (
        workload is not None
        and observation.knows_revision
        and workload.replicas == replicas == len(ours)
        and len(members) >= replicas
        and all(_is_halted(observation, lag, p, members) for p in lag.unowned_since)
        and all(is_live(pod) and pod.is_ready for pod in ours)
        and all(pod.revision == workload.revision for pod in ours if workload.revision)
    )


def _size(observation: Observation) -> int:
    """How many there are, as far as the Deployment goes."""
    return observation.workload.replicas if observation.workload is not None else 0


def _instead(wish: Wish, policy: Policy) -> str:
    """What decides the size in the place of what is decided here, in words; '' where nothing."""
    if wish.is_paused:
        return "the group is paused"
    if wish.replicas is not None:
        return f"spec.replicas says {wish.replicas}"
    if policy.mode is Mode.EXTERNAL:
        return "scaling.mode is External: an autoscaler writes spec.replicas"
    return ""


def _watched(
    watch: Watch, observation: Observation, sample: Sample, alive: Collection[MemberName]
) -> Watch:
    listing = observation.listing
    if listing is None:
        return watch
    leaving = _leaving(observation)
    owned = holdings(listing)
    takers: Mapping[MemberName, int] = {
        name: len(owned.get(name, ())) for name in alive if name not in leaving
    }
    wish = observation.wish
    return watched(watch, sample, takers, frozenset(wish.pins), wish.still_limit_s)
