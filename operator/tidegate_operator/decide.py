"""What is to be done for a group: `steps(observation, memory) -> (Steps, Memory)`. Pure.

Rules:
- Rule 10. Without a listing that is fresh nothing is changed. The roster is written with the ETag
  that was seen, and once at the beginning of each leadership, so that what an earlier leader still
  has under way is refused. The Deployment shrinks only after members have been told.
- Everything that matters is in what is observed. The memory holds times, and what need not be
  asked for twice; a leader that begins with none comes to the same end.
- Where it is not known which pods are new no pod is taken for one or the other.
- When nothing goes on nothing is written.
- A group that is being deleted is let go: Kubernetes ends its pods, and they hand over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tidegate.balance.listed import alive_members
from tidegate.model import Listing, MemberName, PartitionId, Roster
from tidegate_operator import breaks, roster, scale_in, sizing
from tidegate_operator.breaks import Death
from tidegate_operator.lag import GroupLag
from tidegate_operator.model import BreakLease, LedgerView, Observation, Steps
from tidegate_operator.rollout import Roles, missed_since, roles_of
from tidegate_operator.sizing import Sizing

# A listing that was asked for longer ago decides nothing.
LISTING_OLD_S = 15.0
# How soon to look again: while something is to follow, while somebody is waited for, and at all.
_SOON_S, _WAITING_S, _SETTLED_S = 0.5, 1.0, 5.0
# While the size is decided here, and somebody reads: members say how far they are so often. For a
# moment after more has begun to wait they say it twice as often.
_SIZING_S, _RISING_S, _MOMENT_S = 2.0, 1.0, 4.0
# While a group sleeps: what comes to it wakes its round, and so does whatever is changed of it.
_ASLEEP_S = 60.0


@dataclass(frozen=True, slots=True)
class Memory:
    """What one leader remembers of a group from one decision to the next."""

    # The ETag of the first roster that it saw: as long as that one stands it has not touched it.
    first_etag: str | None = None
    # When the listing was asked for on which it last wrote the roster.
    wrote_on: float | None = None
    # Who was to leave as it decided last.
    chosen: tuple[MemberName, ...] = ()
    missed: Mapping[MemberName, float] = field(default_factory=lambda: MappingProxyType({}))
    told: Mapping[MemberName, float] = field(default_factory=lambda: MappingProxyType({}))
    # By pod.
    deaths: Mapping[str, Death] = field(default_factory=lambda: MappingProxyType({}))
    # Tenures whose break was asked for, and when the listing was that showed them.
    broken: Mapping[tuple[PartitionId, str], float] = field(
        default_factory=lambda: MappingProxyType({})
    )
    sizing: Sizing = field(default_factory=Sizing)


def steps(
    observation: Observation, memory: Memory, lag: GroupLag | None = None
) -> tuple[Steps, Memory]:
    """What is to be done now, and what to remember until the next time. Without a lag the size
    stays as it is."""
    if observation.is_deleting:
        return Steps(), memory
    lease_s, now = observation.wish.lease_s, observation.now
    found = breaks.deaths(observation.holders, observation.gone, memory.deaths, lease_s, now)
    memory = replace(memory, deaths=found)
    view = observation.ledger
    is_fresh = view is not None and view.is_of(now, LISTING_OLD_S)
    alive = alive_members(view.listing) if view is not None else frozenset()
    known, count = sizing.sized(memory.sizing, observation, lag, alive, is_fresh=is_fresh)
    memory = replace(memory, sizing=known)
    if view is None or not is_fresh:
        return _without_ledger(observation, known, count), memory
    return _Round(observation, view, memory, count).decide()


def _without_ledger(observation: Observation, known: Sizing, count: int) -> Steps:
    """There is a group to begin with, but nothing is changed."""
    return Steps(
        wanted=count,
        replicas=count if observation.workload is None else None,
        doing="the ledger cannot be listed: until it can, replicas, roster and leases stay as they "
        "are",
        scaling=known.report,
        standing=known.watch.standing,
    )


class _Round:
    """One decision, on a listing that is fresh."""

    def __init__(
        self, observation: Observation, view: LedgerView, memory: Memory, wanted: int
    ) -> None:
        self._observation = observation
        self._asked_at = view.asked_at
        self._listing: Listing = view.listing
        self._alive = alive_members(view.listing)
        self._seen = roster.standing(view.listing)
        self._wanted = wanted
        first_etag = self._seen.etag if memory.first_etag is None else memory.first_etag
        missed = missed_since(memory.missed, observation.pods, self._alive, observation.now)
        self._memory = replace(memory, first_etag=first_etag, missed=missed)

    def decide(self) -> tuple[Steps, Memory]:
        observation, listing = self._observation, self._listing
        if not observation.knows_revision:
            return self._without_revision()
        deaths = self._memory.deaths
        dead = breaks.dead_members(listing, deaths).keys() & self._alive
        roles = roles_of(
            observation,
            listing,
            self._seen,
            self._wanted,
            self._memory.missed,
            self._alive,
            dead,
            self._memory.chosen,
        )
        self._memory = replace(self._memory, chosen=roles.victims)
        watch = self._memory.sizing.watch
        wish = roster.intended(
            listing, sizing.with_watch(observation.wish, watch), roles.expected, roles.leaving
        )
        is_touched = self._seen.etag != self._memory.first_etag
        is_said = is_touched and roster.is_said(self._seen, wish, self._alive)
        is_under_way = roster.is_under_way(wish, self._alive)
        written = self._written(wish, is_said=is_said, is_under_way=is_under_way)
        broken = self._breaks(breaks.breaks(listing, deaths))
        replicas, doing = self._replicas(roles, is_touched=is_touched)
        told = self._memory.told
        is_soon = not is_said or bool(broken) or set(roles.victims) > told.keys()
        return (
            Steps(
                wanted=self._wanted,
                replicas=replicas,
                roster=written,
                breaks=broken,
                deletion_costs=scale_in.deletion_costs(observation.pods, roles.victims),
                leaving=frozenset(roles.leaving),
                again_s=_SOON_S if is_soon else _WAITING_S if is_under_way else self._later(),
                is_settled=not (is_soon or is_under_way),
                doing=self._doing(roles, doing),
                scaling=self._memory.sizing.report,
                standing=self._memory.sizing.watch.standing,
            ),
            self._memory,
        )

    def _without_revision(self) -> tuple[Steps, Memory]:
        """Nobody is told to leave, and nobody who was told is called back: it may be any of them.

        Growing and the leases of the dead do not hang on it.
        """
        broken = self._breaks(breaks.breaks(self._listing, self._memory.deaths))
        workload = self._observation.workload
        is_growing = workload is not None and self._wanted > workload.replicas
        return (
            Steps(
                wanted=self._wanted,
                replicas=self._wanted if is_growing else None,
                breaks=broken,
                again_s=_SOON_S if broken else self._later(),
                is_settled=False,
                doing="it is not known which pods are of the newest revision: until it is, nobody "
                "is told to leave and nothing shrinks",
                scaling=self._memory.sizing.report,
                standing=self._memory.sizing.watch.standing,
            ),
            self._memory,
        )

    def _written(self, wish: Roster, *, is_said: bool, is_under_way: bool) -> Roster | None:
        """The roster to write, if there is one; once for each listing."""
        is_due = is_under_way and roster.is_growing_stale(self._listing)
        if (is_said and not is_due) or self._memory.wrote_on == self._asked_at:
            return None
        if roster.is_unreadable(self._listing):
            return None
        self._memory = replace(self._memory, wrote_on=self._asked_at)
        return wish

    def _breaks(self, found: tuple[BreakLease, ...]) -> tuple[BreakLease, ...]:
        """Those that were not asked for on this listing already."""
        before, asked_at = self._memory.broken, self._asked_at
        keys = [(step.partition, step.etag) for step in found]
        new = tuple(
            step for step, key in zip(found, keys, strict=True) if before.get(key) != asked_at
        )
        self._memory = replace(self._memory, broken=dict.fromkeys(keys, asked_at))
        return new

    def _replicas(self, roles: Roles, *, is_touched: bool) -> tuple[int | None, str]:
        """The replicas to write, and what there is to say of those who are too many."""
        observation, now = self._observation, self._observation.now
        leaving = self._seen.leaving if is_touched else ()
        told = {name: self._memory.told.get(name, now) for name in roles.victims if name in leaving}
        self._memory = replace(self._memory, told=told)
        workload = observation.workload
        if workload is None:
            return self._wanted, ""
        if self._wanted > workload.replicas:
            return self._wanted, f"growing from {workload.replicas} to {self._wanted} pods"
        if self._wanted == workload.replicas:
            return None, ""
        may = scale_in.verdict(
            observation, self._listing, roles, self._alive, told, wanted=self._wanted
        )
        doing = f"shrinking from {workload.replicas} to {self._wanted} pods"
        return (
            self._wanted if may.may_shrink else None,
            f"{doing}: {may.doing}" if may.doing else doing,
        )

    def _later(self) -> float:
        report = self._memory.sizing.report
        if self._sleeps():
            # What woke this round so soon after a look that it took none would be slept through.
            is_put_off = self._memory.sizing.looked_at != self._observation.now
            return _WAITING_S if is_put_off else _ASLEEP_S
        if report is None or not report.is_followed or not self._alive:
            return _SETTLED_S
        rising_at = report.history.rising_at
        is_rising = rising_at is not None and self._observation.now - rising_at <= _MOMENT_S
        return _RISING_S if is_rising else _SIZING_S

    def _sleeps(self) -> bool:
        """Whether nobody reads, nobody is to, and all that is to be known is known."""
        report, observation = self._memory.sizing.report, self._observation
        if report is None or not report.wakes_by_lag or report.policy.floors:
            return False
        is_nobody = not (self._wanted or self._alive or observation.pods)
        return is_nobody and report.history.known_since is not None

    def _doing(self, roles: Roles, size: str) -> str:
        """What goes on, in words."""
        report = self._memory.sizing.report
        if size and report is not None and report.is_followed:
            size = f"{size}: {report.decision.message}"
        said = [size] if size else []
        if roster.is_unreadable(self._listing):
            said.append("the roster cannot be read: delete its blob, and it is written anew")
        if roles.is_rolling and roles.live:
            said.append(f"rolling out: {roles.current} of {roles.live} pods are new")
        absent = [name for name in roles.expected if name not in self._alive]
        if absent:
            said.append(f"waiting for {', '.join(absent)} to join")
        return "; ".join(said)
