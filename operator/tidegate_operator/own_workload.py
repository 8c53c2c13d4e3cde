"""Looks at what runs a group: its Deployment, its pods, and with Spark the driver's StatefulSets.

Rules: the facts of Kubernetes that the watches tell are taken last, so that they are the newest.
Where something cannot be read that says who is there, it is said, and nobody is told to leave.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidegate.group_file.spark_spec import EngineKind
from tidegate.model import MemberName
from tidegate_operator.edges import Edges, Notes, failure_since
from tidegate_operator.engines.inputs import told_executors
from tidegate_operator.executors import SetFacts, crew_of
from tidegate_operator.kinds import Document
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.model import GroupKey, SparkFacts
from tidegate_operator.own_pods import own_pods, revision_of
from tidegate_operator.pod_nouns import Role
from tidegate_operator.spark_sets import sets_of, why_missing
from tidegate_operator.workload import Workload


async def workload_of(
    edges: Edges,
    key: GroupKey,
    notes: Notes,
    deployment: Document | None,
    alive: Collection[MemberName] | None,
) -> Workload:
    """What runs the group; `alive` are its members, where that is known."""
    engine = notes.spec.engine if notes.spec is not None else EngineKind.PYTHON
    facts, failures = await revision_of(edges, key, notes, deployment)
    pods = tuple(edges.cache.known(key).pods.values())
    if engine is EngineKind.PYTHON:
        ours = own_pods(notes, pods)
        return Workload(key, engine, deployment, facts, ours, failures)
    drivers = own_pods(notes, (pod for pod in pods if pod.role is Role.DRIVER))
    if deployment is None or facts is None:
        return Workload(key, engine, None, None, (), failures, SparkFacts(drivers))
    executors = tuple(pod for pod in pods if pod.role is Role.EXECUTOR)
    sets: tuple[SetFacts, ...] = ()
    reason = "ExecutorsUnknown"
    is_known, refused = facts.is_revision_known, ""
    try:
        sets = await sets_of(edges, key, notes, drivers, executors)
    except KubeError as problem:
        # Taken for gone, executors would be made anew; nobody leaves until they are seen.
        is_known = False
        words = f"it is not known which executors there are, so nothing is changed: {problem}"
        failures += (failure_since(notes, reason, words, edges.now()),)
    crew = crew_of(facts, told_executors(deployment), drivers, executors, sets, alive)
    try:
        refused = await why_missing(edges, key, notes, crew.standing, executors)
    except KubeError as problem:
        words = f"it is not known why executors are missing: {problem}"
        failures += (failure_since(notes, reason, words, edges.now()),)
    if not failures:
        notes.troubles.pop(reason, None)
    facts = replace(
        crew.workload, is_revision_known=is_known, failure=crew.workload.failure or refused
    )
    return Workload(
        key, engine, deployment, facts, crew.executors, failures, crew.spark, crew.standing
    )
