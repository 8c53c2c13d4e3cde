"""The finalizer of a group whose ledger is to go with it, and the end of every other group.

Rules:
- Only a ConsumerGroup that says `ledger.onDelete: Delete` has our finalizer. Every other goes at
  once, and Kubernetes removes what was made for it.
- Deleted: first its Deployment, and when no lease is held any more its ledger. A handler is given
  the time that it has for a clean stop.
- While an operator runs it cannot hang. What could not be removed within the limit, or can never
  be, stays, is said in an Event, and the group goes. Only who refuses to have the finalizer taken
  away can keep it.
- A finalizer that cannot be written holds up nothing, the pods least of all: a group that is
  deleted before it stands leaves its ledger, which is the safe way to fail.
- What is refused is a Failure, and is tried again after a pause that doubles.
"""

from __future__ import annotations

from tidegate.balance.listed import alive_members
from tidegate.ports import LedgerError
from tidegate_operator.edges import Edges, Notes, Seen, failure_since
from tidegate_operator.facts import seconds_of
from tidegate_operator.freshness import FINALIZER
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT
from tidegate_operator.kube_errors import Conflict, Invalid, KubeError, NotThere
from tidegate_operator.model import Failure, LedgerTrouble
from tidegate_operator.spec import OnDelete
from tidegate_operator.wording import stopped
from tidegate_operator.workers import Round

# What the Event says: what became of the ledger.
ERASED, LEFT = "LedgerErased", "LedgerLeft"
_FINALIZER_TRY = "finalizer"
# After a clean stop's own time: what Kubernetes itself takes to end a pod.
_ENDING_S = 30.0
_SOON_S, _LATER_S = 1.0, 5.0


async def keep_finalizer(edges: Edges, seen: Seen, notes: Notes) -> tuple[Failure, ...]:
    """Of a group that is not being deleted: it has our finalizer where its ledger goes with it."""
    if seen.spec is None or not seen.can_be_rendered:
        return ()
    finalizers = _finalizers(seen)
    wants_ours = seen.spec.ledger.on_delete is OnDelete.DELETE
    if wants_ours == (FINALIZER in finalizers):
        return ()
    others = [each for each in finalizers if each != FINALIZER]
    return await _write(edges, seen, notes, [*others, FINALIZER] if wants_ours else others)


async def let_go(edges: Edges, seen: Seen, notes: Notes) -> tuple[Round, tuple[Failure, ...]]:
    """The round of a group that is being deleted, and what could not be done."""
    finalizers = _finalizers(seen)
    if FINALIZER not in finalizers:
        return Round(_LATER_S), ()
    others = [each for each in finalizers if each != FINALIZER]
    if seen.spec is not None and seen.spec.ledger.on_delete is OnDelete.KEEP:
        return Round(_SOON_S), await _write(edges, seen, notes, others)
    refused = notes.tries.refused(_FINALIZER_TRY)
    if refused is None or refused.about != _about(seen, others):
        left, failures = await _erase(edges, seen, notes)
        if left and seen.observation.now < _limit(edges, seen):
            return Round(_SOON_S), failures
        await _tell(edges, seen, left)
    return Round(_SOON_S), await _write(edges, seen, notes, others)


async def _tell(edges: Edges, seen: Seen, left: str) -> None:
    """What became of the ledger."""
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


async def _erase(edges: Edges, seen: Seen, notes: Notes) -> tuple[str, tuple[Failure, ...]]:
    """What is still in the way of a ledger that is gone, in words; '' where nothing is."""
    if seen.deployment is None:
        return await _erase_ledger(edges, seen), ()
    key, uid = seen.observation.key, seen.deployment["metadata"]["uid"]

    async def end() -> bool:
        edges.may_act()
        return await edges.kube.delete(DEPLOYMENT, key.namespace, key.name, uid=uid)

    try:
        await notes.tries.run("the end of its pods", uid, end, edges.now, edges.dice)
    except Conflict:
        return "its Deployment has been made anew", ()
    except KubeError as problem:
        words = f"its pods cannot be ended: {problem}"
        return words, (failure_since(notes, problem.reason, words, seen.observation.now),)
    return "its pods have not been ended", ()


async def _erase_ledger(edges: Edges, seen: Seen) -> str:
    """The same, when its Deployment has gone."""
    failures = seen.observation.failures
    troubles = [failure for failure in failures if failure.reason in tuple(LedgerTrouble)]
    if any(failure.reason == LedgerTrouble.MISSING for failure in troubles):
        return ""
    pods = {pod.called for pod in (*seen.observation.pods, *seen.observation.holders)}
    if pods:
        return f"{len(pods)} of its pods have not ended"
    if troubles:
        return troubles[0].message
    if seen.observation.ledger is None:
        return failures[0].message if failures else "it has not been read yet"
    edges.may_act()
    try:
        left = await edges.ledgers.erase(seen.observation.key)
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
    is_anybody_there |= bool(seen.observation.holders) or seen.deployment is not None
    if seen.spec is not None and is_anybody_there:
        delivery = seen.spec.delivery
        stop_s = delivery.timeout_s + delivery.told_s + _ENDING_S
    return began + stop_s + edges.settings.let_go_s


def _finalizers(seen: Seen) -> list[str]:
    return list(seen.document["metadata"].get("finalizers") or ())


async def _write(
    edges: Edges, seen: Seen, notes: Notes, finalizers: list[str]
) -> tuple[Failure, ...]:
    """Of the very version that was seen: somebody else's finalizer is not lost."""
    key, metadata = seen.observation.key, seen.document["metadata"]

    async def write() -> None:
        edges.may_act()
        await edges.kube.patch(
            CONSUMER_GROUP,
            key.namespace,
            key.name,
            {"metadata": {"finalizers": finalizers}},
            resource_version=metadata["resourceVersion"],
            uid=metadata["uid"],
        )

    about = _about(seen, finalizers)
    try:
        await notes.tries.run(_FINALIZER_TRY, about, write, edges.now, edges.dice)
    except (Conflict, NotThere):
        return ()  # looked at anew with the next round
    except KubeError as problem:
        words = _refused(problem, is_wanted=FINALIZER in finalizers)
        return (failure_since(notes, problem.reason, words, seen.observation.now),)
    return ()


def _about(seen: Seen, finalizers: list[str]) -> object:
    """A status, which changes all the time, makes it no other group."""
    observation = seen.observation
    return seen.uid, observation.generation, observation.is_deleting, tuple(finalizers)


def _refused(problem: KubeError, *, is_wanted: bool) -> str:
    """What it means that the finalizer cannot be written, and what to do."""
    what = (
        "cannot be written, so the ledger would stay if the group were deleted now. Its pods run"
        if is_wanted
        else "cannot be taken away, and a group that is deleted waits for that"
    )
    remedy = (
        " Correct what is named, or let the rule that refuses it admit finalizers of "
        "ConsumerGroups."
    )
    words = f"the finalizer {FINALIZER} {what}: {stopped(str(problem))}"
    return words + remedy if isinstance(problem, Invalid) else words
