"""A world whose members are pods of a Deployment, and whose operator is the real one.

Rules:
- Members, storage and hub are those of every world, and the checkers P1 to P8 judge them. What
  befalls this world is said by `OperatorScript`, and judged besides by `operator_checks`.
- A pod's container is a process. It is ready when it has joined; it is asked to stop when its pod
  is deleted, and killed when it has not stopped in the grace period.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from simulation.operator_cluster import Cluster, Pod
from simulation.operator_loop import OperatorLoop
from simulation.operator_script import OperatorScript, acts_of
from simulation.process import Process
from simulation.script import RosterFacts
from simulation.world import World
from tidegate.balance.listed import alive_members
from tidegate.model import Listing, MemberName
from tidegate.ports import List
from tidegate.settings import MemberSettings
from tidegate_operator.lag import GroupLag
from tidegate_operator.model import Observation, Steps, Wish

_TICK_S = 0.25
_GRACE_S = 45.0
# From the last report of the kubelet until the object is gone.
_REMOVED_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """A pod was asked to stop, and what it then held."""

    at: float
    name: MemberName
    why: str
    held: tuple[str, ...]
    has_takers: bool
    # For how long the roster had said that it leaves.
    told_s: float


@dataclass
class Office:
    """The operators of a world, as the world knows its operator."""

    loops: list[OperatorLoop]
    facts: RosterFacts | None = None
    is_dead: bool = False
    wrote_at: float = 0.0

    def heard_until(self) -> float:
        return self.wrote_at


@dataclass
class Ending:
    """A pod that is being deleted: until when its process may live, when it ended."""

    kill_at: float
    ended_at: float | None = None


@dataclass
class Journal:
    """What befell the cluster, for the checks."""

    stopped: list[Stopped] = field(default_factory=list)
    scaled: list[tuple[float, str, int]] = field(default_factory=list)


class OperatorWorld(World):
    """See the module."""

    def __init__(self, script: OperatorScript) -> None:
        super().__init__(script.base)
        self.operator_script = script
        self.wish = Wish(
            min_replicas=0,
            max_replicas=64,
            replicas=script.pods,
            lease_s=script.base.lease_s,
            hand_over_limit_s=script.base.hand_over_limit_s,
        )
        self.api_lost, self.api_late = script.api_lost, script.api_late
        self.cluster = Cluster(script.pods, self.dice, script.start_s, self._asked_to_stop)
        self.journal = Journal()
        self.loops = [OperatorLoop(self, number) for number in range(2)]
        self.office = Office(self.loops)
        self.operator = self.office  # type: ignore[assignment]
        self._endings: dict[MemberName, Ending] = {}
        self._told: dict[MemberName, float] = {}
        self._etag = ""
        self._sized_by_hand_at = -10.0
        self._starting: Pod | None = None
        acts = acts_of(self)
        self.clock.at(0.0, self.loops[0].start)
        self.clock.at(0.0, self._tick)
        for at, name, number in script.befalls:
            self.clock.at(at, acts[name], number)
        self.clock.at(script.base.quiet_from, self._make_well)

    # --- what befalls it

    def _make_well(self) -> None:
        """From here on there is one operator that sees everything."""
        self.api_lost = self.api_late = 0.0
        self.loops[1].stop()
        if self.operator_script.befalls:
            self.loops[0].start()
        self.wish = replace(self.wish, is_paused=False, replicas=self.wish.replicas or 1)
        if self.operator_script.rolls_at_end or self.cluster.revision in self.cluster.broken:
            self.cluster.roll("r9")

    def size_by_hand(self, replicas: int) -> None:
        self.cluster.scale(replicas, f"{self.cluster.version}")
        self._sized_by_hand_at = self.clock.now

    def scale(self, who: str, replicas: int, version: str) -> None:
        """An operator's write."""
        if self.cluster.scale(replicas, version):
            self.journal.scaled.append((self.clock.now, who, replicas))
            self.office.wrote_at = self.clock.now

    # --- what operators look at and decide; see operator_sizing for worlds with a lag

    def observed(
        self, loop: OperatorLoop, made: Observation
    ) -> tuple[Observation, GroupLag | None]:
        return made, None

    def has_decided(self, loop: OperatorLoop, observed: Observation, found: Steps) -> None:
        """A loop has come to this."""

    @property
    def wanted(self) -> int | None:
        """How many pods there are to be in the end."""
        return self.wish.replicas

    def kill_process(self, pod: Pod) -> None:
        process = self._process(pod)
        if process is not None:
            process.kill()
            self.clock.after(self.dice.random(), self.hub.cut, process.who)

    # --- the kubelet

    def settings_of(self, name: MemberName, weight: float) -> MemberSettings:
        made = super().settings_of(name, weight)
        pod = self._starting
        if pod is None or pod.name != name:
            return made
        return replace(made, pod_uid=pod.uid, started_at=round(self.clock.now, 3))

    def _process(self, pod: Pod) -> Process | None:
        process = self.processes.get(pod.name)
        return None if process is None or process.is_dead else process

    def _tick(self) -> None:
        now = self.clock.now
        self.cluster.control(now)
        listing = self.listing()
        for pod in list(self.cluster.pods.values()):
            self._kubelet(pod, listing, now)
        roster = listing.roster
        if roster is not None and roster.etag != self._etag:
            self._etag, before = roster.etag, self._told
            self._told = {name: before.get(name, now) for name in roster.leaving}
            self.office.wrote_at = now
        self.clock.after(_TICK_S, self._tick)

    def listing(self) -> Listing:
        found = self.ledger.perform_at(List(), self.clock.now)
        assert isinstance(found, Listing)
        return found

    def _kubelet(self, pod: Pod, listing: Listing, now: float) -> None:
        process = self._process(pod)
        if pod.running_since is not None and process is None:
            self.cluster.ended(pod, now)
        ending, probed_s = self._endings.get(pod.name), self.operator_script.probed_s
        if pod.running_since is not None:
            presence = listing.members.get(pod.name)
            if presence is None or not presence.is_alive:
                pod.joined_at = None
            elif pod.joined_at is None:
                pod.joined_at = now
            is_ready = pod.joined_at is not None and now >= pod.joined_at + probed_s
            self.cluster.became_ready(pod, is_ready=is_ready and now >= pod.unheard_until)
            if ending is not None and now >= ending.kill_at:
                self.kill_process(pod)
        elif pod.is_deleting or pod.phase == "Failed":
            ended_at = pod.last_end.ended if pod.last_end is not None else now - 10.0
            if now > ended_at + _REMOVED_AFTER_S:
                self.cluster.vanish(pod.name)
        elif pod.can_start and now >= pod.begins_at:
            self._begin(pod, now)

    def _begin(self, pod: Pod, now: float) -> None:
        before = self.processes.get(pod.name)
        self._starting = pod
        # What a process wrote to its pod's scratch volume is there for the next one.
        self.start(pod.name, before.remembered if before is not None else ())
        self._starting = None
        self.cluster.began(pod, now)

    def _asked_to_stop(self, pod: Pod, why: str) -> None:
        now, listing = self.clock.now, self.listing()
        self._endings[pod.name] = Ending(now + _GRACE_S)
        process = self._process(pod)
        # A lease that another has only just acquired still names its last owner.
        tenures = process.member.tenures if process is not None else {}
        held = tuple(
            row.partition
            for row in listing.ownerships.values()
            if row.lease.is_held
            and row.owner is not None
            and row.owner.name == pod.name
            and row.partition in tenures
        )
        leaving = listing.roster.leaving if listing.roster is not None else ()
        takers = alive_members(listing) - {*leaving, pod.name}
        is_by_hand = now - self._sized_by_hand_at < 1.0
        told_s = now - self._told.get(pod.name, now)
        how = "by hand" if is_by_hand else why
        self.journal.stopped.append(Stopped(now, pod.name, how, held, bool(takers), told_s))
        if process is not None:
            self._stop(process)

    def _stop(self, process: Process) -> None:
        late_s = self.operator_script.stopped_s
        if not late_s:
            process.stop()
        else:
            self.clock.after(late_s * self.dice.random(), process.stop)

    # --- the end

    def _settled_at(self) -> float | None:
        loop = self.loops[0]
        if loop.found.doing or not loop.found.is_settled:
            return None
        return super()._settled_at()
