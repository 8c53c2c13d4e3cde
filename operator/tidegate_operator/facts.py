"""The facts in Kubernetes objects that decide something, read from their JSON. Pure.

Rules: tolerant: what is missing is not there yet, and what cannot be read counts as missing. The
times are those that the API server and the kubelet wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.spark.standing import ANNOTATION
from tidegate_operator.drift import is_unborn
from tidegate_operator.engines.inputs import GROUP_LABEL, ROLE_LABEL
from tidegate_operator.model import (
    ContainerFacts,
    Ended,
    GroupKey,
    PodFacts,
    Running,
    WorkloadFacts,
)
from tidegate_operator.pod_nouns import Role, SparkMarks

Document = Mapping[str, Any]

REVISION_LABEL = "pod-template-hash"
REVISION_NUMBER = "deployment.kubernetes.io/revision"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
# What Spark writes on its executors.
APPLICATION_LABEL, NUMBER_LABEL = "spark-app-selector", "spark-exec-id"
# The number of an executor that its driver has not given one yet.
_NO_NUMBER = "EXECID"


def group_of(document: Document) -> GroupKey | None:
    """The group that an object of ours, or a pod, says it is of."""
    metadata = document.get("metadata") or {}
    name = (metadata.get("labels") or {}).get(GROUP_LABEL)
    namespace = metadata.get("namespace")
    return GroupKey(namespace, name) if namespace and name else None


def key_of(document: Document) -> GroupKey:
    """The key of a ConsumerGroup itself."""
    metadata = document["metadata"]
    return GroupKey(metadata["namespace"], metadata["name"])


def seconds_of(text: Any) -> float | None:
    """A time of Kubernetes, such as 2026-11-18T17:35:55Z."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def controller_of(document: Document, what: str = "uid") -> str:
    """The uid of what controls an object, or its name; '' where nothing does."""
    owners = document["metadata"].get("ownerReferences") or ()
    return next((str(owner.get(what, "")) for owner in owners if owner.get("controller")), "")


def pod_facts(pod: Document) -> PodFacts:
    metadata, status = pod["metadata"], pod.get("status") or {}
    role = role_of(pod)
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled", {})
    return PodFacts(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        created_at=seconds_of(metadata.get("creationTimestamp")) or 0.0,
        revision=(metadata.get("labels") or {}).get(REVISION_LABEL, ""),
        phase=status.get("phase", "Pending"),
        is_ready=conditions.get("Ready", {}).get("status") == "True",
        is_deleting=bool(metadata.get("deletionTimestamp")),
        is_scheduled=bool((pod.get("spec") or {}).get("nodeName")),
        unscheduled_message=(
            scheduled.get("message", "") if scheduled.get("status") == "False" else ""
        ),
        container=_container(status, role),
        deletion_cost=_whole((metadata.get("annotations") or {}).get(DELETION_COST)),
        made_by=controller_of(pod),
        role=role,
        # Pods of a StatefulSet are numbered, and the highest number goes first.
        place=_whole(metadata["name"].rpartition("-")[2]) if role is Role.EXECUTOR else None,
        spark=_marks(pod) if role is not Role.CONSUMER else None,
    )


def role_of(pod: Document) -> Role:
    """What a pod is, as the label says that the operator puts on it."""
    said = (pod["metadata"].get("labels") or {}).get(ROLE_LABEL)
    return Role(said) if said in tuple(Role) else Role.CONSUMER


def _marks(pod: Document) -> SparkMarks:
    metadata = pod["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return SparkMarks(
        labels.get(APPLICATION_LABEL, ""),
        labels.get(NUMBER_LABEL, "").replace(_NO_NUMBER, ""),
        controller_of(pod, "name"),
        annotations.get(ANNOTATION, ""),
    )


def _container(status: Document, role: Role) -> ContainerFacts:
    """Of the container that is ours: it is called by its pod's role."""
    found = [each for each in status.get("containerStatuses") or () if each["name"] == role]
    if not found:
        return ContainerFacts()
    (container, *_) = found
    state = container.get("state") or {}
    running, waiting = state.get("running"), state.get("waiting") or {}
    ended = state.get("terminated") or (container.get("lastState") or {}).get("terminated")
    since = seconds_of(running.get("startedAt")) if running is not None else None
    return ContainerFacts(
        running=Running(since or 0.0) if running is not None else None,
        waiting=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        last_end=_end(ended),
        restarts=_whole(container.get("restartCount")) or 0,
    )


def _end(ended: Document | None) -> Ended | None:
    """An end that says when it began and ended; without that it confirms nothing."""
    if ended is None:
        return None
    began, at = seconds_of(ended.get("startedAt")), seconds_of(ended.get("finishedAt"))
    if began is None or at is None:
        return None
    return Ended(
        began,
        at,
        ended.get("reason", ""),
        _whole(ended.get("exitCode")) or 0,
        ended.get("message", ""),
    )


def workload_facts(deployment: Document, revision: str) -> WorkloadFacts:
    """`revision` is that of its newest ReplicaSet, which the Deployment itself does not name."""
    metadata, status = deployment["metadata"], deployment.get("status") or {}
    failures = [
        str(each.get("message") or each.get("reason") or "")
        for each in status.get("conditions") or ()
        if each.get("type") == "ReplicaFailure" and each.get("status") == "True"
    ]
    replicas = (deployment.get("spec") or {}).get("replicas")
    return WorkloadFacts(
        resource_version=metadata["resourceVersion"],
        replicas=1 if replicas is None else int(replicas),
        revision=revision,
        is_observed=(status.get("observedGeneration") or 0) >= (metadata.get("generation") or 0),
        failure=failures[0] if failures else "",
        is_begun=not is_unborn(deployment),
    )


def workload_signs(deployment: Document) -> tuple[object, ...]:
    """What of a Deployment, when it changes, is worth a look; its progress is told by its pods."""
    metadata, facts = deployment["metadata"], workload_facts(deployment, "")
    number = revision_number(deployment)
    generation = metadata.get("generation")
    return metadata.get("uid"), generation, number, facts.is_observed, facts.failure


def group_signs(document: Document) -> tuple[object, ...]:
    """The same of a ConsumerGroup: its status is our own."""
    metadata = document["metadata"]
    names = ("uid", "generation", "deletionTimestamp", "finalizers")
    return tuple(metadata.get(name) for name in names)


def revision_number(document: Document) -> str:
    """Which revision a Deployment is at, or a ReplicaSet is."""
    return str((document["metadata"].get("annotations") or {}).get(REVISION_NUMBER, ""))


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    """Those with the group's label, as they were listed."""

    # The Deployment, and the number of its revision.
    of: tuple[str, str]
    # What new pods get; '' where that is not known yet.
    revision: str
    ours: frozenset[str]
    # Somebody else's, and those of pods whose ReplicaSet is not there.
    others: frozenset[str]


def newest_revision(deployment: Document, replica_sets: Sequence[Document]) -> str:
    """The pod-template-hash that new pods of a Deployment get; '' where that is not known yet.

    A ReplicaSet is at a new revision a moment before its Deployment says so.
    """
    number, uid = _whole(revision_number(deployment)), deployment["metadata"].get("uid")
    newest, revision = number or 1, ""
    for replica_set in replica_sets:
        its = _whole(revision_number(replica_set))
        if number and its and its >= newest and controller_of(replica_set) == uid:
            newest = its
            revision = str((replica_set["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))
    return revision


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def trimmed(document: Document) -> dict[str, Any]:
    """An object without what only takes memory: who wrote which field, and what was applied."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations")
    if annotations:
        metadata["annotations"] = {
            key: value
            for key, value in annotations.items()
            if key != "kubectl.kubernetes.io/last-applied-configuration"
        }
    return {**document, "metadata": metadata}
