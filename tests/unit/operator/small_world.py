"""A little world that follows an operator's steps: a Deployment, its pods, members that plan.

Rules:
- Members move partitions as `balance.plan` says, at once and without storage; what is checked here
  is what the operator decides. The simulator has real members.
- Time goes on in half seconds. All chance is in the dice.
- A lease of a process that was killed lasts for `LEASE_S`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from simulation.operator_cluster import Cluster, Pod
from tidegate import balance
from tidegate.balance import Plan
from tidegate.commands.rosters import STALE_S
from tidegate.model import (
    NO_ROSTER,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    Presence,
    Roster,
)
from tidegate_operator.decide import Memory, steps
from tidegate_operator.model import BreakLease, GroupKey, LedgerView, Observation, Steps, Wish

STEP_S = 0.5
LEASE_S = 15.0
START_S = 2.0
LIMIT_S = 90.0


@dataclass
class Member:
    """A process that has joined."""

    name: str
    pod_uid: str
    started_at: float
    is_leaving: bool = False
    # When its leases end, once it is dead.
    ends_at: float | None = None


@dataclass
class Tenure:
    owner: Member | None
    number: int = 0
    written_at: float = 0.0


@dataclass
class Weather:
    """How often things go wrong, as shares."""

    lost: float = 0.0
    late: float = 0.0
    stale: float = 0.0


@dataclass
class SmallOperator:
    """One operator: what it remembers, and what it may not know."""

    memory: Memory = field(default_factory=Memory)
    seen: Observation | None = None
    due_at: float = 0.0
    is_up: bool = True
    # It sees the cluster as it was when its watch fell silent.
    is_watch_silent: bool = False
    is_storage_down: bool = False


class SmallWorld:
    """See the module."""

    def __init__(self, partitions: int, pods: int, seed: int = 0) -> None:
        self.dice = Random(f"small world {seed}")
        self.now = 1000.0
        self.wish = Wish(min_replicas=0, max_replicas=12, replicas=pods)
        self.cluster = Cluster(pods, self.dice, START_S, self._asked_to_stop)
        self.tenures = {str(number): Tenure(None) for number in range(partitions)}
        self.members: dict[str, Member] = {}
        self.roster: Roster | None = None
        self.operators = [SmallOperator()]
        self.weather = Weather()
        self.moved: Counter[str] = Counter()
        self.roster_writes = self.cluster_writes = 0
        self.told_at: dict[str, float] = {}
        self.problems: list[str] = []
        self._late: list[tuple[float, Steps, str]] = []
        self._sized_by_hand_at = 0.0
        self._planned_for: object = None
        self._planned = Plan({}, {}, ())

    # --- what befalls it

    def kill(self, name: str) -> None:
        """The process of a pod dies; the pod stays."""
        pod = self.cluster.pods.get(name)
        if pod is not None and pod.running_since is not None:
            self._end(pod)

    def evict(self, name: str) -> None:
        pod = self.cluster.pods.get(name)
        if pod is not None and pod.running_since is not None:
            pod.phase = "Failed"
            self._end(pod)

    def vanish(self, name: str) -> None:
        """Its object is removed by force, and its process dies unreported."""
        pod = self.cluster.pods.get(name)
        if pod is not None:
            self._end(pod)
            self.cluster.vanish(name)

    def _end(self, pod: Pod) -> None:
        member = self.members.get(pod.name)
        if member is not None and member.ends_at is None:
            member.ends_at = self.now + LEASE_S
        self.cluster.ended(pod, self.now)

    def size_by_hand(self, replicas: int) -> None:
        """Somebody scales the Deployment itself."""
        self.cluster.scale(replicas, f"{self.cluster.version}")
        self._sized_by_hand_at = self.now

    def restart_operator(self) -> None:
        self.operators[0].memory = Memory()

    # --- what is seen

    def listing(self) -> Listing:
        return Listing(
            {partition: self._row(partition) for partition in self.tenures},
            {},
            {name: self._presence(member) for name, member in self.members.items()},
            self.roster,
            self.now,
        )

    def _row(self, partition: str) -> Ownership:
        tenure = self.tenures[partition]
        owner = tenure.owner
        return Ownership(
            partition,
            f"{partition}-{tenure.number}",
            LeaseState.LEASED if owner is not None else LeaseState.AVAILABLE,
            Owner(owner.name, f"{owner.started_at}") if owner is not None else None,
            tenure.number,
            "",
            tenure.written_at,
        )

    def _presence(self, member: Member) -> Presence:
        return Presence(
            member.name,
            "",
            LeaseState.LEASED,
            f"{member.started_at}",
            is_leaving=member.is_leaving,
            pod_uid=member.pod_uid,
            started_at=member.started_at,
        )

    def owners(self) -> dict[str, str]:
        return {p: t.owner.name for p, t in self.tenures.items() if t.owner is not None}

    # --- time

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / STEP_S)):
            self.step()

    def step(self) -> None:
        self.now += STEP_S
        self.cluster.control(self.now)
        for pod in list(self.cluster.pods.values()):
            self._kubelet(pod)
        self._leases_end()
        for name in self.dice.sample(sorted(self.members), len(self.members)):
            if name in self.members and self.dice.random() < 0.7:
                self._member_looks(self.members[name])
        for operator in self.operators:
            self._operator_looks(operator)
        due = [entry for entry in self._late if entry[0] <= self.now]
        for entry in due:
            self._late.remove(entry)
            self._carry_out(*entry[1:])

    def _kubelet(self, pod: Pod) -> None:
        member = self.members.get(pod.name)
        is_alive = member is not None and member.ends_at is None
        if pod.running_since is None:
            if pod.last_end is not None and (pod.is_deleting or pod.phase == "Failed"):
                if self.now - pod.last_end.ended > 2.0:
                    self.cluster.vanish(pod.name)
            elif pod.is_deleting:
                self.cluster.vanish(pod.name)
            elif pod.can_start and self.now >= pod.begins_at:
                self.cluster.began(pod, self.now)
        elif pod.is_deleting and not is_alive:
            self._end(pod)
        elif not is_alive and self.now - pod.running_since >= 1.0 and not pod.is_deleting:
            # A process that comes back in its pod finds its leases.
            fresh = Member(pod.name, pod.uid, pod.running_since)
            for tenure in self.tenures.values():
                if tenure.owner is member and member is not None:
                    tenure.owner, tenure.number = fresh, tenure.number + 1
            self.members[pod.name] = fresh
            self.cluster.became_ready(pod, is_ready=True)

    def _leases_end(self) -> None:
        for member in list(self.members.values()):
            if member.ends_at is not None and self.now >= member.ends_at:
                del self.members[member.name]
                for tenure in self.tenures.values():
                    if tenure.owner is member:
                        tenure.owner = None

    def _asked_to_stop(self, pod: Pod, why: str) -> None:
        member = self.members.get(pod.name)
        if member is None or member.ends_at is not None:
            return
        member.is_leaving = True
        held = [p for p, owner in self.owners().items() if owner == pod.name]
        leaving = self.roster.leaving if self.roster is not None else frozenset()
        takers = [m for m in self.members.values() if not m.is_leaving and m.name not in leaving]
        told_s = self.now - self.told_at.get(pod.name, self.now)
        is_by_hand = self.now - self._sized_by_hand_at < 2.0
        if why == "scaled" and not is_by_hand and held and takers and told_s < LIMIT_S:
            self.problems.append(f"{pod.name} was stopped with {held} in hand")

    # --- members

    def _member_looks(self, member: Member) -> None:
        if member.ends_at is not None:
            return
        plan, paused = self._plan(), self.roster or NO_ROSTER
        for partition, tenure in self.tenures.items():
            target = plan.assignment.get(partition)
            if tenure.owner is member and target != member.name:
                receiver = self.members.get(target or "")
                if receiver is not None and receiver.ends_at is None:
                    self._move(partition, receiver)
                elif paused.is_paused or partition in paused.paused:
                    self._move(partition, None)
            elif tenure.owner is None and target == member.name and not member.is_leaving:
                self._move(partition, member)
        if member.is_leaving:
            self._stop(member)

    def _plan(self) -> Plan:
        """What everybody plans now; made anew only where something has changed."""
        owners = tuple((t.owner.name if t.owner else "", t.number) for t in self.tenures.values())
        members = tuple((m.name, m.is_leaving) for m in self.members.values())
        is_stale = self.roster is None or self.now - self.roster.written_at > STALE_S
        key = owners, members, self.roster, is_stale
        if key != self._planned_for:
            snapshot = balance.snapshot_of(
                self.listing(), self.tenures, roster_stale_s=STALE_S, foreign_alive_s=180.0
            )
            self._planned_for, self._planned = key, balance.plan(snapshot)
        return self._planned

    def _stop(self, member: Member) -> None:
        """What nobody is there to take is let go; then the process ends."""
        others = [m for m in self.members.values() if m.ends_at is None and not m.is_leaving]
        held = [p for p, tenure in self.tenures.items() if tenure.owner is member]
        if held and others and self.dice.random() < 0.8:
            return
        for partition in held:
            self._move(partition, None)
        del self.members[member.name]

    def _move(self, partition: str, to: Member | None) -> None:
        tenure = self.tenures[partition]
        if to is not None:
            self.moved[partition] += 1
        tenure.owner, tenure.number, tenure.written_at = to, tenure.number + 1, self.now

    # --- operators

    def _operator_looks(self, operator: SmallOperator) -> None:
        if not operator.is_up or self.now < operator.due_at:
            return
        observed = self._observation(operator)
        found, operator.memory = steps(observed, operator.memory)
        operator.due_at = self.now + min(found.again_s, 1.0)
        assert observed.workload is not None
        version = observed.workload.resource_version
        chance = self.dice.random()
        if chance < self.weather.lost:
            return
        if chance < self.weather.lost + self.weather.late:
            self._late.append((self.now + self.dice.random() * 10.0, found, version))
            return
        self._carry_out(found, version)

    def _observation(self, operator: SmallOperator) -> Observation:
        is_stale = operator.is_watch_silent or self.dice.random() < self.weather.stale
        before = operator.seen
        view = LedgerView(self.listing(), self.now)
        if operator.is_storage_down and before is not None:
            assert before.ledger is not None
            view = before.ledger
        fresh = Observation(
            GroupKey("default", "home"),
            1,
            self.wish,
            self.cluster.workload(),
            self.cluster.facts(),
            view,
            self.now,
        )
        if is_stale and before is not None:
            return replace(before, ledger=view, now=self.now)
        operator.seen = fresh
        return fresh

    def _carry_out(self, found: Steps, version: str) -> None:
        if found.roster is not None:
            self._write_roster(found.roster)
        for step in found.breaks:
            self._break(step)
        for name, cost in found.deletion_costs.items():
            self.cluster.set_cost(name, cost)
            self.cluster_writes += 1
        if found.replicas is not None and self.cluster.scale(found.replicas, version):
            self.cluster_writes += 1

    def _write_roster(self, roster: Roster) -> None:
        etag = self.roster.etag if self.roster is not None else ""
        if roster.etag != etag:
            return
        self.roster_writes += 1
        self.roster = replace(
            roster, etag=f"{roster.generation}-{self.dice.random()}", written_at=self.now
        )
        before = self.told_at
        self.told_at = {name: before.get(name, self.now) for name in self.roster.leaving}

    def _break(self, step: BreakLease) -> None:
        tenure = self.tenures[step.partition]
        owner = tenure.owner
        if owner is None or step.etag != f"{step.partition}-{tenure.number}":
            return
        if owner.ends_at is None:
            self.problems.append(f"the lease of {owner.name}, who lives, was broken")
        tenure.owner = None
