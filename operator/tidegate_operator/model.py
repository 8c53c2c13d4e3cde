"""The nouns of the operator, frozen: what it has seen of a group, and what it wants to be done.

Rules: pure; no Kubernetes objects, only the facts in them that decide something. Times are seconds
since 1970: `server_time` is the storage service's clock, `now` the operator's, and what the kubelet
said is by its node's clock; they are never subtracted from one another without a reason in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from tidegate.model import Listing, MemberName, PartitionEnd, PartitionId, Roster
from tidegate.ports.lineage import FLAT, Lineage
from tidegate_operator.commands import KUBECTL, Commands
from tidegate_operator.pod_nouns import DriverNote, Role, SparkMarks
from tidegate_operator.scaling import Mode, Policy, Report, Standstill

STILL_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """A ConsumerGroup's place in the cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Running:
    """A container that runs, since when."""

    since: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A container that the kubelet has reported terminated: from when to when it ran."""

    began: float
    ended: float
    reason: str = ""
    exit_code: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """The consumer's container in a pod. A pod has only one of them at a time."""

    running: Running | None = None
    # Why it does not run: ContainerCreating, CrashLoopBackOff, ImagePullBackOff, …
    waiting: str = ""
    waiting_message: str = ""
    # Its last end, also while the next one runs or waits.
    last_end: Ended | None = None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod of the group. Its name is its member's name."""

    name: MemberName
    uid: str
    created_at: float
    # The pod template that it was made from: its ReplicaSet's hash.
    revision: str
    phase: str = "Pending"
    is_ready: bool = False
    is_deleting: bool = False
    is_scheduled: bool = False
    # Why it is not scheduled, as the scheduler says.
    unscheduled_message: str = ""
    container: ContainerFacts = ContainerFacts()
    deletion_cost: int | None = None
    # The uid of what controls it: its ReplicaSet; '' where nothing does.
    made_by: str = ""
    role: Role = Role.CONSUMER
    # Where it goes by its place and nothing else: the highest one first.
    place: int | None = None
    spark: SparkMarks | None = None
    # What Kubernetes calls it, where its member has another name.
    pod_name: str = ""

    @property
    def called(self) -> str:
        """In commands."""
        return self.pod_name or self.name


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """The Deployment of a group, as it stands."""

    resource_version: str
    replicas: int
    # The revision that new pods get; '' while that is not known.
    revision: str
    # Whether its controller has seen its newest spec.
    is_observed: bool = True
    # A failure that the controller reports, such as a quota: ReplicaFailure's message.
    failure: str = ""
    # Whether its ReplicaSets could be looked at, which say what revision pods are of.
    is_revision_known: bool = True
    # Whether its replicas have been right once; before that they say nothing.
    is_begun: bool = True


@dataclass(frozen=True, slots=True)
class SparkFacts:
    """What there is of a group on Spark beside its executors, which are its pods."""

    # Pods of the Deployment that are there, the newest first.
    drivers: tuple[PodFacts, ...] = ()
    # Of the newest driver that has one.
    note: DriverNote = field(default_factory=DriverNote)
    # StatefulSets of applications that have ended, whose driver's pod lives on: names and uids.
    left_behind: tuple[tuple[str, str], ...] = ()


class LedgerTrouble(StrEnum):
    """Why the ledger could not be listed."""

    UNREACHABLE = "LedgerUnreachable"
    DENIED = "LedgerDenied"
    MISSING = "LedgerMissing"
    INVALID = "LedgerInvalid"


# After this time without a good answer to a request, earlier answers of storage no longer count.
# Together with the tick of a settled group (5 s) and the status write, this is within 10 s.
SILENT_S = 3.0


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The newest listing, and when by the operator's clock it was asked for."""

    listing: Listing
    asked_at: float
    # The send time of the first request without an answer; None while storage answers.
    unanswered_since: float | None = None

    def is_of(self, now: float, within_s: float) -> bool:
        """Whether it was asked for no longer ago than that, and storage answers.

        Both times are of one clock. A listing of the future says that it was set back, and then
        nobody knows how old the listing is.
        """
        return 0.0 <= now - self.asked_at <= within_s and not is_silent(self.unanswered_since, now)


def is_silent(unanswered_since: float | None, now: float) -> bool:
    """Whether storage has left a request without an answer for too long."""
    return unanswered_since is not None and now - unanswered_since >= SILENT_S


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that the operator tried for this group and could not do; for a condition."""

    reason: str  # one CamelCase word
    message: str  # what happened, to what, what to do
    since: float


@dataclass(frozen=True, slots=True)
class Ends:
    """What the source itself said of its partitions, when no member lives to say it."""

    # None for a partition whose question failed: its lag is unknown, and only its.
    partitions: Mapping[PartitionId, PartitionEnd | None]
    # The first sequence number that each still has.
    begins: Mapping[PartitionId, int] = field(default_factory=lambda: MappingProxyType({}))
    # The source's own partitions, where the ledger has a say in which there are.
    known: tuple[PartitionId, ...] = ()
    # Whose stored position means nothing to the source any more, in its words.
    lost: Mapping[PartitionId, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants of the size and the reading, apart from how pods are made."""

    min_replicas: int = 1
    max_replicas: int = 1
    # Set by hand, by `kubectl scale` or by an autoscaler; None leaves it to the operator.
    replicas: int | None = None
    is_paused: bool = False
    # How many pods are kept while it is paused.
    paused_replicas: int = 0
    pins: Mapping[PartitionId, MemberName] = field(default_factory=lambda: MappingProxyType({}))
    paused_partitions: frozenset[PartitionId] = frozenset()
    # How the group keeps its leases, as its ledger settings say.
    lease_s: float = 15.0
    hand_over_limit_s: float = 60.0
    # How its size is decided, where nothing above has decided it already.
    scaling: Policy | None = None
    # A partition whose position stands for so long while events come is stuck.
    still_limit_s: float = STILL_LIMIT_S

    @property
    def is_left_as_it_is(self) -> bool:
        """Whether nothing decides the size: neither a number nor the operator."""
        policy = self.scaling
        return self.replicas is None and policy is not None and policy.mode is not Mode.AUTO


@dataclass(frozen=True, slots=True)
class Observation:
    """All that is known of a group at one moment."""

    key: GroupKey
    generation: int
    wish: Wish
    workload: WorkloadFacts | None
    pods: tuple[PodFacts, ...]
    # None until the ledger has been listed once.
    ledger: LedgerView | None
    now: float
    ends: Ends | None = None
    # What stands in the way: of the ledger, the source, the manifests, secrets.
    failures: tuple[Failure, ...] = ()
    is_deleting: bool = False
    # What the resource says of its scaling: what an operator that has just begun goes on from.
    said: Mapping[str, Any] | None = None
    # Of the engine `spark` alone.
    spark: SparkFacts | None = None
    # Pods that were the group's and are gone since the last round, and whose container had ended.
    gone: tuple[PodFacts, ...] = ()
    # How partitions come and go.
    lineage: Lineage = FLAT
    # What people can type where the group runs.
    commands: Commands = KUBECTL

    @property
    def listing(self) -> Listing | None:
        return self.ledger.listing if self.ledger is not None else None

    @property
    def holders(self) -> tuple[PodFacts, ...]:
        """The pods whose processes hold leases: consumers, or the driver of executors."""
        return self.pods if self.spark is None else self.spark.drivers

    @property
    def knows_revision(self) -> bool:
        """Whether it can be told which pods are new. Before the first pod there is none to tell."""
        workload = self.workload
        if workload is None:
            return True
        has_pods = any(pod.revision for pod in self.pods)
        return workload.is_revision_known and (bool(workload.revision) or not has_pods)


@dataclass(frozen=True, slots=True)
class BreakLease:
    """Ends the lease of a member that is confirmed dead (rule 9), of the tenure that was seen."""

    partition: PartitionId
    etag: str
    member: MemberName
    why: str


@dataclass(frozen=True, slots=True)
class Steps:
    """What is to be done for a group now. Steps of one kind may be empty; none waits for another.

    The replicas are written only with the resource version that was seen, the roster only with the
    ETag that was seen (rule 10).
    """

    # The pods that are wanted in the end, and what is written now on the way there. None leaves
    # the Deployment's replicas as they are.
    wanted: int | None = None
    replicas: int | None = None
    # None leaves the roster as it is.
    roster: Roster | None = None
    breaks: tuple[BreakLease, ...] = ()
    # Pods whose deletion cost is to change: the one that shall go first has the lowest.
    deletion_costs: Mapping[MemberName, int] = field(default_factory=lambda: MappingProxyType({}))
    # Members that hand over before their pod goes, and why; for the status and for Events.
    leaving: frozenset[MemberName] = frozenset()
    # When to look again at the latest, in seconds from now.
    again_s: float = 5.0
    # Nothing is on its way: a look at the members alone says enough.
    is_settled: bool = True
    # What is going on, in words for people; '' when nothing is.
    doing: str = ""
    # Why there are to be so many, and what was decided before; None where it is not decided.
    scaling: Report | None = None
    # Partitions that are not read on although somebody owns them, and what is done about each.
    standing: tuple[Standstill, ...] = ()
