"""A Deployment and its pods, as Kubernetes runs them: surge 1, none unavailable.

It stands for the Deployment controller, the ReplicaSets and the part of the kubelet that decides
when a container begins. What runs in the containers is told from outside.

Rules:
- A ReplicaSet that has too many pods takes first those that are not ready, then those with the
  lowest deletion cost, then the youngest.
- Replicas are written with the resource version that was seen, or not at all. Every change of a
  pod changes that version, since the Deployment's status counts pods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tidegate.model import MemberName
from tidegate_operator.model import ContainerFacts, Ended, PodFacts, Running, WorkloadFacts

_BACK_OFF_S, _BACK_OFF_MAX_S = 10.0, 300.0
# For how long a container must have run to be started again at once.
_WELL_S = 600.0


@dataclass
class Pod:
    """A pod and its one container."""

    name: MemberName
    uid: str
    created_at: float
    revision: str
    can_start: bool = True
    phase: str = "Pending"
    is_ready: bool = False
    is_deleting: bool = False
    running_since: float | None = None
    last_end: Ended | None = None
    restarts: int = 0
    back_off_s: float = 0.0
    begins_at: float = 0.0
    cost: int | None = None
    # Its readiness probe gets no answer until then, although its process is well.
    unheard_until: float = 0.0
    joined_at: float | None = None

    @property
    def is_active(self) -> bool:
        """Whether its ReplicaSet counts it."""
        return not self.is_deleting and self.phase in ("Pending", "Running")

    def facts(self) -> PodFacts:
        waiting = message = ""
        if self.running_since is None and self.phase in ("Pending", "Running"):
            waiting = "ContainerCreating" if self.can_start else "ImagePullBackOff"
            if self.back_off_s:
                waiting = "CrashLoopBackOff"
                message = f"back-off {self.back_off_s:g}s restarting failed container=consumer"
        running = Running(float(int(self.running_since))) if self.running_since else None
        return PodFacts(
            self.name,
            self.uid,
            self.created_at,
            self.revision,
            self.phase,
            self.is_ready,
            self.is_deleting,
            is_scheduled=True,
            container=ContainerFacts(running, waiting, message, self.last_end, self.restarts),
            deletion_cost=self.cost,
        )


class Cluster:
    """See the module. `stopped` is told of each pod that is asked to stop, and why."""

    def __init__(
        self, replicas: int, dice: Random, start_s: float, stopped: Callable[[Pod, str], None]
    ) -> None:
        self.replicas = self._sized_for = replicas
        self.revision = "r1"
        self.version = 1
        self.pods: dict[MemberName, Pod] = {}
        # Revisions whose image cannot be pulled.
        self.broken: set[str] = set()
        self._sets = {"r1": replicas}
        self._dice = dice
        self._start_s = start_s
        self._stopped = stopped
        self._why = "rolled"

    # --- what the API server offers

    def workload(self) -> WorkloadFacts:
        return WorkloadFacts(f"{self.version}", self.replicas, self.revision)

    def facts(self) -> tuple[PodFacts, ...]:
        return tuple(pod.facts() for pod in self.pods.values())

    def scale(self, replicas: int, version: str) -> bool:
        """Writes the replicas, if the Deployment is as it was seen."""
        if version != f"{self.version}":
            return False
        self.replicas = replicas
        self.version += 1
        return True

    def set_cost(self, name: MemberName, cost: int) -> None:
        if name in self.pods:
            self.pods[name].cost = cost

    def roll(self, revision: str) -> None:
        """Another pod template."""
        self.revision = revision
        self.version += 1

    def delete(self, name: MemberName) -> None:
        """By hand, by a drain, or by its ReplicaSet: it is asked to stop."""
        pod = self.pods[name]
        if not pod.is_deleting:
            pod.is_deleting = True
            self.version += 1
            self._stopped(pod, "deleted")

    def vanish(self, name: MemberName) -> None:
        """Its object is gone, whatever its container does."""
        del self.pods[name]
        self.version += 1

    # --- what the kubelet reports

    def began(self, pod: Pod, now: float) -> None:
        pod.running_since, pod.phase, pod.back_off_s = now, "Running", 0.0
        self.version += 1

    def became_ready(self, pod: Pod, *, is_ready: bool) -> None:
        if pod.is_ready != is_ready:
            pod.is_ready = is_ready
            self.version += 1

    def ended(self, pod: Pod, now: float) -> None:
        """Its container has ended. It is started again, unless the pod is to end."""
        since = pod.running_since if pod.running_since is not None else now
        pod.last_end = Ended(float(int(since)), float(int(now)), "Error", 137)
        pod.running_since, pod.is_ready = None, False
        self.version += 1
        if pod.is_deleting or pod.phase == "Failed":
            return
        if now - since < _WELL_S and pod.restarts:
            exponent = pod.restarts - 1
            pod.back_off_s = min(_BACK_OFF_S * 2.0**exponent, _BACK_OFF_MAX_S)
        pod.restarts += 1
        pod.begins_at = now + pod.back_off_s + self._start_s

    # --- the controllers

    def control(self, now: float) -> None:
        """One round of the Deployment controller and of the ReplicaSets."""
        self._sets.setdefault(self.revision, 0)
        self._why = "rolled"
        if self._sized_for != self.replicas:
            self._resize()
        elif any(count for revision, count in self._sets.items() if revision != self.revision):
            self._roll()
        elif self._sets[self.revision] != self.replicas:
            self._sets[self.revision] = self.replicas
        for revision, count in self._sets.items():
            self._replicate(revision, count, now)

    def _resize(self) -> None:
        self._why = "scaled"
        sets = self._sets
        active = [revision for revision, count in sets.items() if count]
        if len(active) <= 1:
            sets[active[0] if active else self.revision] = self.replicas
        else:
            # In proportion, as the controller does it in the middle of a rollout.
            allowed = self.replicas + (1 if self.replicas else 0)
            total, missing = sum(sets.values()), allowed - sum(sets.values())
            for revision in sorted(active, key=lambda name: -sets[name]):
                change = round(sets[revision] * missing / total)
                sets[revision] = max(sets[revision] + change, 0)
            largest = max(active, key=lambda name: sets[name])
            sets[largest] = max(sets[largest] + allowed - sum(sets.values()), 0)
        self._sized_for = self.replicas

    def _roll(self) -> None:
        sets, new = self._sets, self.revision
        total = sum(sets.values())
        if sets[new] < self.replicas:
            room = max(self.replicas + 1 - total, 0)
            sets[new] += min(room, self.replicas - sets[new])
        elif sets[new] > self.replicas:
            sets[new] = self.replicas
        ready = {
            revision: sum(
                pod.is_ready and pod.is_active and pod.revision == revision
                for pod in self.pods.values()
            )
            for revision in sets
        }
        spare = sum(sets.values()) - self.replicas - max(sets[new] - ready[new], 0)
        for revision in [name for name in sets if name != new]:
            unready = max(sets[revision] - ready[revision], 0)
            gone = min(unready, max(spare, 0))
            sets[revision] -= gone
            spare -= gone
        surplus = sum(ready.values()) - self.replicas
        for revision in [name for name in sets if name != new]:
            gone = min(sets[revision], max(surplus, 0), max(spare, 0))
            sets[revision] -= gone
            surplus -= gone
            spare -= gone

    def _replicate(self, revision: str, count: int, now: float) -> None:
        active = [pod for pod in self.pods.values() if pod.revision == revision and pod.is_active]
        for _ in range(count - len(active)):
            self._make(revision, now)
        active.sort(key=lambda pod: (pod.is_ready, pod.cost or 0, -pod.created_at))
        for pod in active[: max(len(active) - count, 0)]:
            pod.is_deleting = True
            self.version += 1
            self._stopped(pod, self._why)

    def _make(self, revision: str, now: float) -> None:
        name = f"{self._dice.choice('abcxyz')}{self._dice.randrange(10**6):06}"
        pod = Pod(name, f"uid-{name}", now, revision, can_start=revision not in self.broken)
        pod.begins_at = now + self._start_s * (0.5 + self._dice.random())
        self.pods[name] = pod
        self.version += 1

    def make_by_hand(self, name: MemberName, now: float) -> None:
        """A pod that no ReplicaSet made."""
        self.pods[name] = Pod(name, f"uid-{name}", now, "", begins_at=now + self._start_s)
