"""A little world that follows an operator's steps: a Deployment, its pods, members that plan.

Rules:
- Members are those of `small_group`; what is checked here is what the operator decides. The
  simulator has real members.
- Time goes on in half seconds. All chance is in the dice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from simulation.operator_cluster import Cluster, Pod
from tidegate.model import Roster
from tidegate_operator.decide import Memory, steps
from tidegate_operator.lag import GroupLag
from tidegate_operator.model import BreakLease, GroupKey, LedgerView, Observation, Steps, Wish
from unit.operator.small_group import SmallGroup

STEP_S = 0.5
START_S = 2.0
LIMIT_S = 90.0


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
    lag: GroupLag | None = None
    seen: Observation | None = None
    due_at: float = 0.0
    is_up: bool = True
    # It sees the cluster as it was when its watch fell silent.
    is_watch_silent: bool = False
    is_storage_down: bool = False


class SmallWorld(SmallGroup):
    """See the module."""

    def __init__(self, partitions: int, pods: int, seed: int = 0, start_s: float = START_S) -> None:
        super().__init__(partitions, Random(f"small world {seed}"))
        self.wish = Wish(min_replicas=0, max_replicas=12, replicas=pods)
        self.cluster = Cluster(pods, self.dice, start_s, self._asked_to_stop)
        self.operators = [SmallOperator()]
        self.weather = Weather()
        self.roster_writes = self.cluster_writes = 0
        self.told_at: dict[str, float] = {}
        self.problems: list[str] = []
        self._late: list[tuple[float, Steps, str]] = []
        # Pods that a late write has marked to go first. Nothing can fence that: they hand over as
        # they stop, like any pod that somebody deletes.
        self._marked_late: set[str] = set()
        self._sized_by_hand_at = 0.0

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
        self.end(pod.name)
        self.cluster.ended(pod, self.now)

    def size_by_hand(self, replicas: int) -> None:
        """Somebody scales the Deployment itself."""
        self.cluster.scale(replicas, f"{self.cluster.version}")
        self._sized_by_hand_at = self.now

    def restart_operator(self) -> None:
        self.operators[0].memory, self.operators[0].lag = Memory(), None

    # --- time

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / STEP_S)):
            self.step()

    def step(self) -> None:
        self.now += STEP_S
        self.cluster.control(self.now)
        for pod in list(self.cluster.pods.values()):
            self._kubelet(pod)
        self.look()
        for operator in self.operators:
            self._operator_looks(operator)
        due = [entry for entry in self._late if entry[0] <= self.now]
        for entry in due:
            self._late.remove(entry)
            self._carry_out(*entry[1:])
            self._marked_late |= entry[1].deletion_costs.keys()

    def _kubelet(self, pod: Pod) -> None:
        is_alive = self.is_alive(pod.name)
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
            self.begin(pod.name, pod.uid, pod.running_since)
            self.cluster.became_ready(pod, is_ready=True)

    def _asked_to_stop(self, pod: Pod, why: str) -> None:
        if not self.is_alive(pod.name):
            return
        self.members[pod.name].is_leaving = True
        held = [p for p, owner in self.owners().items() if owner == pod.name]
        leaving = self.roster.leaving if self.roster is not None else ()
        takers = [m for m in self.members.values() if not m.is_leaving and m.name not in leaving]
        told_s = self.now - self.told_at.get(pod.name, self.now)
        is_excused = self.now - self._sized_by_hand_at < 2.0 or pod.name in self._marked_late
        if why == "scaled" and not is_excused and held and takers and told_s < LIMIT_S:
            self.problems.append(f"{pod.name} was stopped with {held} in hand")

    # --- operators

    def lag_of(self, operator: SmallOperator, observed: Observation) -> GroupLag | None:
        """None: its size is not decided by its lag."""
        return None

    def _operator_looks(self, operator: SmallOperator) -> None:
        if not operator.is_up or self.now < operator.due_at:
            return
        observed = self._observation(operator)
        operator.lag = self.lag_of(operator, observed)
        found, operator.memory = steps(observed, operator.memory, operator.lag)
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
