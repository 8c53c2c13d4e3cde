"""Carries out what was decided and rendered: on the ledger, and on the cluster.

Rules:
- Before every write it is asked whether this operator still leads (rule 10); each write is fenced
  besides, by an ETag, a resourceVersion or a uid. One that is refused because somebody was quicker
  is not an error: the next round looks anew.
- The roster is written before any lease is broken. What fails is a Failure of its own, and keeps
  nothing else from being done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tidegate.ports import Break, LedgerError, Operation, Refusal, WriteRoster
from tidegate_operator.edges import Edges, Notes, Seen, failure_since
from tidegate_operator.facts import DELETION_COST
from tidegate_operator.kinds import DEPLOYMENT, POD, Document, ObjectName
from tidegate_operator.kube_errors import Conflict, Invalid, KubeError, NotThere
from tidegate_operator.ledgers import failure_of
from tidegate_operator.model import Failure, GroupKey, Steps

_REMEDY = "Correct it in the ConsumerGroup: most such fields are those of spec.template."
_QUICKER = frozenset((Refusal.CHANGED, Refusal.EXISTS, Refusal.HELD, Refusal.MISSING))


async def act(
    edges: Edges, seen: Seen, notes: Notes, steps: Steps, manifests: tuple[Document, ...] | None
) -> tuple[Failure, ...]:
    """What could not be done. Raises NotLeadingError."""
    failures = await _on_the_ledger(edges, seen.observation.key, steps, seen.observation.now)
    tries: list[Callable[[], Awaitable[None]]] = [lambda: _costs(edges, seen, steps)]
    if manifests is not None:
        tries.append(lambda: _manifests(edges, seen, steps, manifests))
    tries.append(lambda: _replicas(edges, seen, steps))
    reasons: set[str] = set()
    for each in tries:
        problem = await _tried(each)
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


async def _costs(edges: Edges, seen: Seen, steps: Steps) -> None:
    """So that the ReplicaSet's controller takes those that shall go."""
    uids = {pod.name: pod.uid for pod in seen.observation.pods}
    for name, cost in sorted(steps.deletion_costs.items()):
        if name not in uids:
            continue
        edges.may_act()
        changes = {"metadata": {"annotations": {DELETION_COST: str(cost)}}}
        namespace = seen.observation.key.namespace
        try:
            await edges.kube.patch(POD, namespace, name, changes, uid=uids[name])
        except NotThere:
            continue


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


async def _replicas(edges: Edges, seen: Seen, steps: Steps) -> None:
    workload = seen.observation.workload
    if steps.replicas is None or workload is None or steps.replicas == workload.replicas:
        return
    edges.may_act()
    key = seen.observation.key
    await edges.applier.write_replicas(key, steps.replicas, workload.resource_version)
