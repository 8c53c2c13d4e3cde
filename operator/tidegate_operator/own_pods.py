"""Which pods the group's Deployment has made, and which of its revisions new ones get.

Rules: a pod is the group's where the Deployment controls the ReplicaSet that controls it. A label
alone makes none: anybody may write it, and such a pod is neither a member's nor ever marked.
ReplicaSets are listed where the Deployment says a new revision, or a pod one that is not known.
Where that is refused no revision is known, and not which pods are the group's: that is said, and
nothing is decided that hangs on it. What was known before is believed only while it need not be
asked for: neither the old revision nor any other may be taken for that of a changed Deployment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

from tidegate_operator.edges import Edges, Notes, failure_since
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.facts import (
    ReplicaSets,
    controller_of,
    newest_revision,
    revision_number,
    workload_facts,
)
from tidegate_operator.kinds import REPLICA_SET, Document
from tidegate_operator.kube_errors import KubeError, Unreachable
from tidegate_operator.model import Failure, GroupKey, PodFacts, WorkloadFacts
from tidegate_operator.pod_nouns import Role


async def revision_of(
    edges: Edges, key: GroupKey, notes: Notes, deployment: Document | None
) -> tuple[WorkloadFacts | None, tuple[Failure, ...]]:
    """The Deployment, and why its revision is not known."""
    if deployment is None:
        return None, ()
    known = notes.replica_sets
    wanted = (deployment["metadata"]["uid"], revision_number(deployment))
    named = {
        pod.made_by
        for pod in edges.cache.known(key).pods.values()
        if pod.made_by and pod.role is not Role.EXECUTOR
    }
    if known is None or not known.revision or known.of != wanted or _has_more(named, known):
        try:
            labels = f"{GROUP_LABEL}={key.name}"
            ask = partial(edges.kube.list, REPLICA_SET, key.namespace, labels=labels)
            about = (wanted, frozenset(named))
            listed = await notes.tries.run("ReplicaSets", about, ask, edges.now, edges.dice)
        except KubeError as problem:
            facts = replace(workload_facts(deployment, ""), is_revision_known=False)
            return facts, (_unknown(notes, problem, edges.now()),)
        known = notes.replica_sets = _sets(deployment, wanted, listed, named)
    notes.troubles.pop("RevisionUnknown", None)
    return workload_facts(deployment, known.revision), ()


def _unknown(notes: Notes, problem: KubeError, now: float) -> Failure:
    words = (
        "it is not known which pods are of the newest revision, so nobody is told to leave and "
        f"nothing shrinks until it is: {problem}"
    )
    if isinstance(problem, Unreachable):
        # It passes by itself, and members go on: no reason to call the group not ready.
        return Failure(problem.reason, words, now)
    reason = "RevisionUnknown"
    return failure_since(notes, reason, words, now)


def own_pods(notes: Notes, pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """Of the pods with the group's label, its own."""
    sets = notes.replica_sets
    return tuple(pod for pod in pods if sets is not None and pod.made_by in sets.ours)


def _has_more(named: Collection[str], known: ReplicaSets) -> bool:
    return not known.ours.union(known.others).issuperset(named)


def _sets(
    deployment: Document,
    wanted: tuple[str, str],
    listed: Iterable[Document],
    named: Collection[str],
) -> ReplicaSets:
    sets = list(listed)
    uid = deployment["metadata"]["uid"]
    ours = frozenset(each["metadata"]["uid"] for each in sets if controller_of(each) == uid)
    revision = newest_revision(deployment, sets)
    return ReplicaSets(wanted, revision, ours, frozenset(named) - ours)
