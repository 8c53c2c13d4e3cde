"""What the controllers of Deployments and ReplicaSets do next, as Kubernetes' own do. Pure.

Rules:
- A Deployment has a ReplicaSet for each pod template that it ever had; one that is paused makes no
  new one. A rolling update makes pods up to `maxSurge` more than are wanted, and takes old ones
  away only as far as no more than `maxUnavailable` are missing.
- A ReplicaSet takes away first who is not ready, then by pod-deletion-cost, then the youngest. Pods
  that are being deleted do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tidegate_operator.drift import fingerprint
from tidegate_operator.facts import (
    REVISION_LABEL,
    REVISION_NUMBER,
    controller_of,
    pod_facts,
    revision_number,
)
from tidegate_operator.kinds import REPLICA_SET, Document
from tidegate_operator.rollout import is_live

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Next:
    """What is to be written of a Deployment and of its ReplicaSets."""

    make: Document | None = None
    sizes: Sizes = field(default_factory=lambda: MappingProxyType({}))
    remove: tuple[str, ...] = ()
    revision: str = ""
    status: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class _Set:
    name: str
    replicas: int
    available: int


def next_of(
    deployment: Document, replica_sets: Sequence[Document], pods: Sequence[Document]
) -> Next:
    """`replica_sets` are those that the Deployment controls, `pods` those that they control."""
    spec = deployment["spec"]
    print_of = _template_hash(deployment)
    mine = sorted(replica_sets, key=lambda each: int(revision_number(each) or 0))
    newest = next((each for each in mine if _hash_of(each) == print_of), None)
    if newest is None and not spec.get("paused"):
        number = int(revision_number(mine[-1]) or 0) + 1 if mine else 1
        return Next(make=_replica_set(deployment, print_of, number), revision=str(number))
    sets = {each["metadata"]["name"]: _set(each, pods) for each in mine}
    sizes: Sizes = {}
    if newest is not None:
        name = newest["metadata"]["name"]
        old = [each for each in sets.values() if each.name != name]
        sizes = _sizes(spec, sets[name], old)
    return Next(
        sizes={name: size for name, size in sizes.items() if size != sets[name].replicas},
        remove=_outlived(spec, mine, newest, pods),
        revision=revision_number(newest) if newest is not None else "",
        status=_status(deployment, newest, mine, pods),
    )


def _template_hash(deployment: Document) -> str:
    return fingerprint(deployment["spec"]["template"])[:10]


def _hash_of(replica_set: Document) -> str:
    return str((replica_set["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def _replica_set(deployment: Document, print_of: str, number: int) -> Document:
    metadata, template = deployment["metadata"], deployment["spec"]["template"]
    its = template.get("metadata") or {}
    labels = {**(its.get("labels") or {}), REVISION_LABEL: print_of}
    return {
        "apiVersion": REPLICA_SET.api_version,
        "kind": REPLICA_SET.name,
        "metadata": {
            "name": f"{metadata['name']}-{print_of}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {REVISION_NUMBER: str(number)},
            "ownerReferences": [owner(deployment)],
        },
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {**its, "labels": labels}},
        },
    }


def owner(document: Document) -> Document:
    """The reference of what this one controls."""
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "name": document["metadata"]["name"],
        "uid": document["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pods_of(replica_set: Document, pods: Sequence[Document]) -> list[Document]:
    """Those that it controls, and that are there to stay."""
    uid = replica_set["metadata"]["uid"]
    return [pod for pod in pods if controller_of(pod) == uid and is_live(pod_facts(pod))]


def _set(replica_set: Document, pods: Sequence[Document]) -> _Set:
    facts = [pod_facts(pod) for pod in pods_of(replica_set, pods)]
    return _Set(
        replica_set["metadata"]["name"],
        replica_set["spec"]["replicas"],
        sum(pod.is_ready for pod in facts),
    )


def _sizes(spec: Mapping[str, Any], newest: _Set, old: Sequence[_Set]) -> dict[str, int]:
    wanted = spec["replicas"]
    update = spec.get("strategy", {}).get("rollingUpdate", {})
    surge, missing = int(update.get("maxSurge", 1)), int(update.get("maxUnavailable", 0))
    sizes = {each.name: each.replicas for each in (newest, *old)}
    total = sum(sizes.values())
    if newest.replicas > wanted or not any(each.replicas for each in old):
        sizes[newest.name] = wanted
    elif newest.replicas < wanted:
        room = max(wanted + surge - total, 0)
        sizes[newest.name] = min(newest.replicas + room, wanted)
    least = wanted - missing
    # The new ones that do not stand yet hold the old ones up.
    left = total - least - (newest.replicas - newest.available)
    for each in old:
        gone = min(max(each.replicas - each.available, 0), max(left, 0))
        sizes[each.name] -= gone
        left -= gone
    left = min(left, newest.available + sum(each.available for each in old) - least)
    for each in old:
        gone = min(sizes[each.name], max(left, 0))
        sizes[each.name] -= gone
        left -= gone
    return sizes


def _outlived(
    spec: Mapping[str, Any],
    replica_sets: Sequence[Document],
    newest: Document | None,
    pods: Sequence[Document],
) -> tuple[str, ...]:
    """Old ReplicaSets, beyond those that are kept to look back at."""
    held = {controller_of(pod) for pod in pods}
    empty = [
        each["metadata"]["name"]
        for each in replica_sets
        if each is not newest
        and each["spec"]["replicas"] == 0
        and each["metadata"]["uid"] not in held
    ]
    return tuple(empty[: max(len(empty) - int(spec.get("revisionHistoryLimit", 10)), 0)])


def _status(
    deployment: Document,
    newest: Document | None,
    replica_sets: Sequence[Document],
    pods: Sequence[Document],
) -> dict[str, Any]:
    live = [pod for each in replica_sets for pod in pods_of(each, pods)]
    ready = sum(pod_facts(pod).is_ready for pod in live)
    return {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": len(live),
        "updatedReplicas": len(pods_of(newest, pods)) if newest is not None else 0,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": max(deployment["spec"]["replicas"] - ready, 0),
    }


# --- one ReplicaSet


@dataclass(frozen=True, slots=True)
class PodChanges:
    """How many pods are to be made, and which are to go."""

    make: int = 0
    delete: tuple[str, ...] = ()


def pod_changes(replica_set: Document, pods: Sequence[Document]) -> PodChanges:
    mine = pods_of(replica_set, pods)
    missing = replica_set["spec"]["replicas"] - len(mine)
    if missing >= 0:
        return PodChanges(make=missing)
    ordered = sorted(mine, key=_first_to_go)
    return PodChanges(delete=tuple(pod["metadata"]["name"] for pod in ordered[:-missing]))


_PHASES = ("Pending", "Unknown", "Running")


def _first_to_go(pod: Document) -> tuple[Any, ...]:
    facts = pod_facts(pod)
    phase = _PHASES.index(facts.phase) if facts.phase in _PHASES else 0
    cost = facts.deletion_cost or 0
    return phase, facts.is_ready, cost, -facts.container.restarts, -facts.created_at, facts.name


def pod_document(replica_set: Document, name: str, node: str) -> Document:
    """A pod of a ReplicaSet, as it is made."""
    template = replica_set["spec"]["template"]
    metadata = {key: dict(value) for key, value in template["metadata"].items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "name": name,
            "namespace": replica_set["metadata"]["namespace"],
            "ownerReferences": [owner(replica_set)],
        },
        "spec": {**template["spec"], "nodeName": node},
        "status": {"phase": "Pending"},
    }
