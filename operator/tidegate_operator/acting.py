"""Carries out what was decided and rendered: on the ledger, and on the cluster.

Rules:
- Before every write it is asked whether this operator still leads (rule 10); each write is fenced
  besides, by an ETag, a resourceVersion or a uid. One that is refused because somebody was quicker
  is not an error: the next round looks anew. Of the Deployment's replicas it is decided anew at
  once, on the Deployment that stands, and they are written once more.
- What the cluster refuses is told in each round, and tried again after a pause that doubles.
- Whom Kubernetes shall end first is marked before the roster tells it to hand over: ended between
  the two it hands over all the same, and told but not marked another one might be ended beside it.
- The roster is written before any lease is broken. What fails is a Failure of its own, and keeps
  nothing else from being done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tidegate.ports import Break, LedgerError, Operation, Refusal, WriteRoster
from tidegate_operator.edges import Edges, Notes, Seen, failure_since
from tidegate_operator.facts import DELETION_COST
from tidegate_operator.kinds import DEPLOYMENT, POD, Document, ObjectName
from tidegate_operator.kube_errors import Conflict, Invalid, KubeError, NotThere
from tidegate_operator.ledgers import failure_of
from tidegate_operator.model import Failure, GroupKey, Observation, Steps, WorkloadFacts
from tidegate_operator.own_pods import own_pods, workload_of

Decide = Callable[[Observation], Steps]

_REMEDY = "Correct it in the ConsumerGroup: most such fields are those of spec.template."
_QUICKER = frozenset((Refusal.CHANGED, Refusal.EXISTS, Refusal.HELD, Refusal.MISSING))


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
    problems = [await _tried(lambda: _costs(edges, seen, notes, steps))]
    failures = await _on_the_ledger(edges, seen.observation.key, steps, seen.observation.now)
    if manifests is not None:
        problems.append(await _tried(lambda: _manifests(edges, seen, steps, manifests)))
    problems.append(await _tried(lambda: _replicas(edges, seen, notes, steps, decide)))
    reasons: set[str] = set()
    for problem in problems:
        if problem is not None:
            reasons.add(problem.reason)
            now = seen.observation.now
            words = f"{problem}. {_REMEDY}" if isinstance(problem, Invalid) else str(problem)
            failures.append(failure_since(notes, problem.reason, words, now))
    for reason in notes.refused - reasons:
        notes.troubles.pop(reason, None)
    notes.refused = frozenset(reasons)
    return tuple(failures)


async def _on_the_ledger(edges: Edges, key: GroupKey, steps: Steps, now: float) -> list[Failure]:
    operations: list[Operation] = []
    if steps.roster is not None:
        operations.append(WriteRoster(steps.roster, steps.roster.etag))
    operations += [Break(each.partition, each.etag) for each in steps.breaks]
    for operation in operations:
        edges.may_act()
        try:
            await edges.ledgers.perform(key, operation)
        except LedgerError as problem:
            if problem.refusal not in _QUICKER:
                return [failure_of(problem, now)]
            if isinstance(operation, WriteRoster):
                # What the members were to be told before their leases are broken was not told.
                return []
    return []


async def _tried(act: Callable[[], Awaitable[None]]) -> KubeError | None:
    try:
        await act()
    except (Conflict, NotThere) as problem:
        # Names that are taken are a Conflict of another kind, which does not pass by itself.
        return problem if problem.reason not in (Conflict.reason, NotThere.reason) else None
    except KubeError as problem:
        return problem
    return None


async def _costs(edges: Edges, seen: Seen, notes: Notes, steps: Steps) -> None:
    """So that the ReplicaSet's controller takes those that shall go."""
    uids = {pod.name: pod.uid for pod in seen.observation.pods}
    wanted = steps.deletion_costs.items()
    costs = sorted((name, uids[name], cost) for name, cost in wanted if name in uids)

    async def write() -> None:
        for name, uid, cost in costs:
            edges.may_act()
            changes = {"metadata": {"annotations": {DELETION_COST: str(cost)}}}
            with contextlib.suppress(NotThere):
                await edges.kube.patch(POD, seen.observation.key.namespace, name, changes, uid=uid)

    if costs:
        await notes.tries.run("costs", costs, write, edges.now, edges.dice)


async def _manifests(
    edges: Edges, seen: Seen, steps: Steps, manifests: tuple[Document, ...]
) -> None:
    key = seen.observation.key
    edges.may_act()
    outcome = await edges.applier.apply(
        key,
        seen.uid,
        manifests,
        replicas=steps.replicas if steps.replicas is not None else steps.wanted or 0,
        seen={ObjectName(DEPLOYMENT, key.namespace, key.name): seen.deployment},
    )
    if outcome.contested:
        raise ContestedError("; ".join(outcome.contested))


class ContestedError(KubeError):
    """Somebody else changes back what is put right."""

    reason = "Contested"


async def _replicas(edges: Edges, seen: Seen, notes: Notes, steps: Steps, decide: Decide) -> None:
    workload, deployment = seen.observation.workload, seen.deployment
    if workload is None or deployment is None or not _is_other(steps, workload):
        return

    async def write() -> None:
        try:
            await _write_replicas(edges, seen, steps, workload)
        except Conflict:
            await _replicas_anew(edges, seen, notes, decide)

    metadata = deployment["metadata"]
    about = (steps.replicas, metadata["uid"], metadata.get("generation"))
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
    workload, _ = await workload_of(edges, key, notes, deployment)
    if workload is None:
        return
    pods = own_pods(notes, edges.cache.known(key).pods.values())
    steps = decide(replace(seen.observation, workload=workload, pods=pods, now=edges.now()))
    if _is_other(steps, workload):
        await _write_replicas(edges, seen, steps, workload)


def _is_other(steps: Steps, workload: WorkloadFacts) -> bool:
    return steps.replicas is not None and steps.replicas != workload.replicas


async def _write_replicas(edges: Edges, seen: Seen, steps: Steps, workload: WorkloadFacts) -> None:
    assert steps.replicas is not None
    edges.may_act()
    key, version = seen.observation.key, workload.resource_version
    await edges.applier.write_replicas(key, steps.replicas, version)
