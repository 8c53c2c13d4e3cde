"""The finalizer of a group whose ledger is to go with it, and the end of every other group.

Rules:
- Only a ConsumerGroup that says `ledger.onDelete: Delete` has our finalizer. Every other goes at
  once, and Kubernetes removes what was made for it.
- Deleted: first its Deployment, and when no lease is held any more its ledger. A handler is given
  the time that it has for a clean stop.
- It cannot hang. What could not be removed within the limit, or can never be, stays, is said in an
  Event, and the group goes.
"""

from __future__ import annotations

from tidegate.balance.listed import alive_members
from tidegate.ports import LedgerError
from tidegate_operator.edges import Edges, Seen
from tidegate_operator.facts import seconds_of
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT
from tidegate_operator.kube_errors import Conflict, NotThere
from tidegate_operator.model import LedgerTrouble
from tidegate_operator.spec import OnDelete
from tidegate_operator.workers import Round

FINALIZER = "tidegate.dev/ledger"
# What the Event says: what became of the ledger.
ERASED, LEFT = "LedgerErased", "LedgerLeft"
# After a clean stop's own time: what Kubernetes itself takes to end a pod.
_ENDING_S = 30.0
_SOON_S, _LATER_S = 1.0, 5.0


async def let_go(edges: Edges, seen: Seen) -> Round | None:
    """The round of a group that is being deleted; None for any other. Raises KubeError."""
    finalizers = list(seen.document["metadata"].get("finalizers") or ())
    has_ours = FINALIZER in finalizers
    if not seen.observation.is_deleting:
        if seen.spec is not None and seen.can_be_rendered:
            wants_ours = seen.spec.ledger.on_delete is OnDelete.DELETE
            if wants_ours != has_ours:
                kept = [each for each in finalizers if each != FINALIZER]
                await _write(edges, seen, [*kept, FINALIZER] if wants_ours else kept)
        return None
    if not has_ours:
        return Round(_LATER_S)
    others = [each for each in finalizers if each != FINALIZER]
    if seen.spec is not None and seen.spec.ledger.on_delete is OnDelete.KEEP:
        await _write(edges, seen, others)
        return Round(_SOON_S)
    left = await _erase(edges, seen)
    if left and seen.observation.now < _limit(edges, seen):
        return Round(_SOON_S)
    if left:
        note = (
            f"the ledger could not be removed and stays: {left}. The group goes all the same. "
            "Remove its blobs by hand if they are not wanted."
        )
        kind, reason = "Warning", LEFT
    else:
        note, kind, reason = "the ledger was removed: onDelete is Delete", "Normal", ERASED
    edges.may_act()
    await edges.herald.tell(seen.document, kind=kind, reason=reason, note=note)
    await _write(edges, seen, others)
    return Round(_SOON_S)


async def _erase(edges: Edges, seen: Seen) -> str:
    """What is still in the way of a ledger that is gone, in words; '' where nothing is."""
    key = seen.observation.key
    if seen.deployment is not None:
        edges.may_act()
        uid = seen.deployment["metadata"]["uid"]
        try:
            await edges.kube.delete(DEPLOYMENT, key.namespace, key.name, uid=uid)
        except Conflict:
            return "its Deployment has been made anew"
        return "its pods have not been ended"
    failures = seen.observation.failures
    troubles = [failure for failure in failures if failure.reason in tuple(LedgerTrouble)]
    if any(failure.reason == LedgerTrouble.MISSING for failure in troubles):
        return ""
    if seen.observation.pods:
        return f"{len(seen.observation.pods)} of its pods have not ended"
    if troubles:
        return troubles[0].message
    if seen.observation.ledger is None:
        return failures[0].message if failures else "it has not been read yet"
    edges.may_act()
    try:
        left = await edges.ledgers.erase(key)
    except LedgerError as problem:
        return str(problem)
    return f"{left} of its blobs are held by leases, or were written meanwhile" if left else ""


def _limit(edges: Edges, seen: Seen) -> float:
    """When it lets go at the latest."""
    began = seconds_of(seen.document["metadata"].get("deletionTimestamp")) or 0.0
    stop_s = 0.0
    listing = seen.observation.listing
    # Pods that have gone leave leases behind, if they were killed.
    is_anybody_there = listing is not None and bool(alive_members(listing))
    is_anybody_there |= bool(seen.observation.pods) or seen.deployment is not None
    if seen.spec is not None and is_anybody_there:
        delivery = seen.spec.delivery
        stop_s = delivery.timeout_s + delivery.told_s + _ENDING_S
    return began + stop_s + edges.settings.let_go_s


async def _write(edges: Edges, seen: Seen, finalizers: list[str]) -> None:
    """Of the very version that was seen: somebody else's finalizer is not lost."""
    edges.may_act()
    key, metadata = seen.observation.key, seen.document["metadata"]
    try:
        await edges.kube.patch(
            CONSUMER_GROUP,
            key.namespace,
            key.name,
            {"metadata": {"finalizers": finalizers}},
            resource_version=metadata["resourceVersion"],
            uid=metadata["uid"],
        )
    except (Conflict, NotThere):
        return  # looked at anew with the next round
