"""Carries out what was decided and rendered: on the ledger, and on the cluster.

Rules:
- Before every write it is asked whether this operator still leads (rule 10); each write is fenced
  besides, by an ETag, a resourceVersion or a uid. One that is refused because somebody was quicker
  is not an error: the next round looks anew. Of the Deployment's replicas it is decided anew at
  once, on the Deployment that stands, and they are written once more.
- What the cluster refuses is told in each round, and tried again after a pause that doubles. It
  keeps nothing else from being done, and each refusal is told.
- Whom Kubernetes shall end first is marked before the roster tells it to hand over: ended between
  the two it hands over all the same, and told but not marked another one might be ended beside it.
  But for those marks nothing is asked of the API server before the ledger is written, and they not
  for longer than a moment: the leases of the dead are waited for.
- What our finalizer and the ledger are about is in modules of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tidegate.balance.listed import alive_members
from tidegate_operator.edges import Edges, Notes, Seen, failure_since
from tidegate_operator.engines import engine_of
from tidegate_operator.facts import DELETION_COST
from tidegate_operator.kinds import (
    CONSUMER_GROUP,
    DEPLOYMENT,
    POD,
    STATEFUL_SET,
    Document,
    ObjectName,
)
from tidegate_operator.kube_errors import Conflict, Invalid, KubeError, NotThere
from tidegate_operator.letting_go import keep_finalizer
from tidegate_operator.model import Failure, Observation, Steps
from tidegate_operator.on_ledger import on_ledger
from tidegate_operator.own_workload import workload_of
from tidegate_operator.patience import patience
from tidegate_operator.sizing import first_size
from tidegate_operator.workload import Workload, Write, pods_for

Decide = Callable[[Observation], Steps]

_REMEDY = "Correct it in the ConsumerGroup: most such fields are those of spec.template."


async def act(
    edges: Edges,
    seen: Seen,
    notes: Notes,
    steps: Steps,
    manifests: tuple[Document, ...] | None,
    decide: Decide,
) -> tuple[Failure, ...]:
    """What could not be done. `decide` decides again, on what is seen by then.

    Raises NotLeadingError.
    """
    unmarked = await _tried(lambda: _costs(edges, seen, notes, steps))
    failures = await on_ledger(edges, seen, notes, steps)
    kept = await keep_finalizer(edges, seen, notes)
    refused = await _manifests(edges, seen, steps, manifests) if manifests is not None else []
    unsized = await _tried(lambda: _replicas(edges, seen, notes, steps, decide))
    unswept = await _tried(lambda: _left_behind(edges, seen, notes))
    unscalable = await _tried(lambda: _first_size(edges, seen, notes, steps))
    # What keeps pods from running is told first.
    problems = (*refused, *unsized, *unmarked, *unswept, *unscalable)
    told = [_failure(notes, problem, seen) for problem in problems]
    reasons = frozenset(failure.reason for failure in (*told, *kept))
    for reason in notes.refused - reasons:
        notes.troubles.pop(reason, None)
    notes.refused = reasons
    return (*failures, *told, *kept)


def _failure(notes: Notes, problem: KubeError, seen: Seen) -> Failure:
    words = f"{problem}. {_REMEDY}" if isinstance(problem, Invalid) else str(problem)
    return failure_since(notes, problem.reason, words, seen.observation.now)


async def _tried(act: Callable[[], Awaitable[None]]) -> list[KubeError]:
    """What it was refused with."""
    try:
        await act()
    except KubeError as problem:
        return [problem] if _is_refusal(problem) else []
    return []


def _is_refusal(problem: KubeError) -> bool:
    """Names that are taken are a Conflict of another kind, which does not pass by itself."""
    return problem.reason not in (Conflict.reason, NotThere.reason)


async def _costs(edges: Edges, seen: Seen, notes: Notes, steps: Steps) -> None:
    """So that the ReplicaSet's controller takes those that shall go."""
    key, uids = seen.observation.key, {pod.name: pod.uid for pod in seen.observation.pods}
    wanted = steps.deletion_costs.items()
    costs = sorted((name, uids[name], cost) for name, cost in wanted if name in uids)

    async def write() -> None:
        async with patience(f"mark the pods of {key} that shall go first"):
            for name, uid, cost in costs:
                edges.may_act()
                changes = {"metadata": {"annotations": {DELETION_COST: str(cost)}}}
                with contextlib.suppress(NotThere):
                    await edges.kube.patch(POD, key.namespace, name, changes, uid=uid)

    if costs:
        await notes.tries.run("costs", costs, write, edges.now, edges.dice)


async def _manifests(
    edges: Edges, seen: Seen, steps: Steps, manifests: tuple[Document, ...]
) -> list[KubeError]:
    key, engine = seen.observation.key, seen.workload.engine
    members = steps.replicas if steps.replicas is not None else steps.wanted or 0
    edges.may_act()
    outcome = await edges.applier.apply(
        key,
        seen.uid,
        manifests,
        names=engine_of(engine).names(key),
        replicas=pods_for(engine, members),
        seen={ObjectName(DEPLOYMENT, key.namespace, key.name): seen.deployment},
    )
    refused = [problem for problem in outcome.refused if _is_refusal(problem)]
    contested = [ContestedError("; ".join(outcome.contested))] if outcome.contested else []
    return [*refused, *contested]


class ContestedError(KubeError):
    """Somebody else changes back what is put right."""

    reason = "Contested"


async def _replicas(edges: Edges, seen: Seen, notes: Notes, steps: Steps, decide: Decide) -> None:
    writes = _writes(seen.workload, steps)

    async def write() -> None:
        try:
            await _write(edges, seen, notes, writes)
        except Conflict:
            await _replicas_anew(edges, seen, notes, decide)

    if writes and seen.deployment is not None:
        metadata = seen.deployment["metadata"]
        said = tuple((each.kind, each.name, each.replicas) for each in writes)
        about = (said, metadata["uid"], metadata.get("generation"))
        await notes.tries.run("replicas", about, write, edges.now, edges.dice)


async def _replicas_anew(edges: Edges, seen: Seen, notes: Notes, decide: Decide) -> None:
    """Somebody was quicker: of the Deployment as it stands now it is decided again, once.

    Most often its controller has only written its status; but it may have been scaled by hand, or
    be in a rollout by now.
    """
    key, before = seen.observation.key, seen.deployment
    deployment = await edges.kube.find(DEPLOYMENT, key.namespace, key.name)
    if deployment is None or before is None:
        return
    if deployment["metadata"]["uid"] != before["metadata"]["uid"]:
        return
    listing = seen.observation.listing
    alive = alive_members(listing) if listing is not None else None
    workload = await workload_of(edges, key, notes, deployment, alive)
    if workload.facts is None:
        return
    observation = replace(
        seen.observation, workload=workload.facts, pods=workload.pods, spark=workload.spark,
        now=edges.now(),
    )  # fmt: skip
    await _write(edges, seen, notes, _writes(workload, decide(observation)))


def _writes(workload: Workload, steps: Steps) -> tuple[Write, ...]:
    facts = workload.facts
    if facts is None:
        return ()
    return workload.writes(steps.replicas if steps.replicas is not None else facts.replicas)


async def _write(edges: Edges, seen: Seen, notes: Notes, writes: tuple[Write, ...]) -> None:
    for each in writes:
        edges.may_act()
        notes.sets = None  # whether it is written or not, what stands is looked at anew
        name = ObjectName(each.kind, seen.observation.key.namespace, each.name)
        await edges.applier.write_replicas(name, each.replicas, each.resource_version)


async def _first_size(edges: Edges, seen: Seen, notes: Notes, steps: Steps) -> None:
    """Write the first size of a group with `mode: External`, which `/scale` then shows."""
    observation = seen.observation
    count = first_size(observation, steps.scaling) if seen.can_be_rendered else None
    key = observation.key

    async def write() -> None:
        edges.may_act()
        changes = {"spec": {"replicas": count}}
        await edges.kube.patch(
            CONSUMER_GROUP, key.namespace, key.name, changes,
            resource_version=seen.version, uid=seen.uid,
        )  # fmt: skip

    if count is not None:
        about = (seen.uid, observation.generation, count)
        await notes.tries.run("first size", about, write, edges.now, edges.dice)


async def _left_behind(edges: Edges, seen: Seen, notes: Notes) -> None:
    """Executors of applications that have ended, while the pod that owns them stands."""
    spark, namespace = seen.observation.spark, seen.observation.key.namespace
    left = spark.left_behind if spark is not None else ()

    async def remove() -> None:
        for name, uid in left:
            edges.may_act()
            notes.sets = None
            await edges.kube.delete(STATEFUL_SET, namespace, name, uid=uid)

    if left:
        await notes.tries.run("left behind", left, remove, edges.now, edges.dice)
