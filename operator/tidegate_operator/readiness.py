"""The condition Ready: whether what the user asked for runs, and if not, why and what to do. Pure.

Rules:
- True: the pods that are wanted have joined, and every partition has an owner. A rollout that goes
  well, and a partition that is being taken over, do not change it.
- False: something has to be done by somebody, or the group is on its way. A pod of the newest
  revision that cannot run makes it False although the others read on, so that
  `kubectl wait --for=condition=Ready` does not call a failed change a good one.
- Unknown: the operator cannot see the ledger. Members may well go on.
- What explains most is said: what is wrong with the spec, before what is wrong with a pod. Of what
  the operator could not do all is told, and the first gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.bounded import cut
from tidegate.model import PartitionId
from tidegate_operator.condition import MESSAGE_CHARS, Condition
from tidegate_operator.lost_positions import LOST, lost_positions_text
from tidegate_operator.model import Failure, LedgerTrouble
from tidegate_operator.pod_troubles import REASONS, Trouble, trouble_of
from tidegate_operator.view import UNOWNED_LIMIT_S, GroupView
from tidegate_operator.wording import (
    counted,
    names_text,
    partitions_text,
    said,
    sentence,
    stopped,
)

READY = "Ready"
NOT_READ = "LedgerNotRead"
UNOWNED = "PartitionsUnowned"
# On the way: nobody has to do anything, for all that is known.
ON_THE_WAY = frozenset(("Joining", "NoPods"))
# Objects and services that may only be late: mostly created or started together with the group.
MAY_PASS = frozenset(
    (
        str(LedgerTrouble.UNREACHABLE),
        str(LedgerTrouble.MISSING),
        "HubUnreachable",
        "HubUnknown",
        "KubernetesUnreachable",
        "Conflict",
        "SecretMissing",
        "SecretKeyMissing",
        "ConfigMapMissing",
        "Unschedulable",
        "ContainerCannotStart",
        "PodsRefused",
    )
)
# Wishes of the user: that such a group reads nothing is nobody's alarm.
WISHED = frozenset(("Deleting", "Paused"))
# Where a pod has joined, only the operator cannot ask it: others are waited for for other causes.
HUB_UNREACHABLE = "HubUnreachable"
# What the operator could not ask. It says nothing of whether the members can.
_UNSEEN = frozenset(
    (str(LedgerTrouble.UNREACHABLE), HUB_UNREACHABLE, "KubernetesUnreachable", "Conflict")
)


def ready(view: GroupView, before: Condition | None) -> Condition:
    """Whether the group is ready; `before` is what was said last."""
    return next(_reasons(view, before))


def _reasons(view: GroupView, before: Condition | None) -> Iterator[Condition]:
    """What there is to say, what matters most first."""
    failures = [each for each in view.observation.failures if each.reason not in _UNSEEN]
    if view.observation.is_deleting:
        why = f" {_told(failures)}" if failures else ""
        yield _not("Deleting", f"The group is being deleted.{why}")
    if view.wish.is_paused:
        yield _not("Paused", "The group is paused. Set spec.paused: false to go on.")
    if failures:
        yield _not(failures[0].reason, _told(failures))
    if not view.wanted:
        still = "the last pods hand over" if view.pods else "nothing is read"
        yield Condition.so(READY, "ScaledToZero", f"No pod is wanted: {still}.")
    troubles = _troubles(view)
    if troubles and not troubles[0].is_soft:
        yield _of_trouble(view, troubles)
    is_short = view.ready < view.wanted
    workload = view.observation.workload
    if workload is not None and workload.failure and (is_short or _is_rolling(view)):
        yield _refused(workload.failure)
    if is_short:
        yield _on_the_way(view, troubles)
    yield from _of_partitions(view, before)


def _of_partitions(view: GroupView, before: Condition | None) -> Iterator[Condition]:
    pods = f"{view.ready} of {counted(view.wanted, 'pod')} joined"
    if view.listing is None:
        yield _unseen(view)
    if not view.partitions:
        yield _not(
            "Joining",
            f"{pods}, and none has told yet which partitions the source has. If it stays so, see "
            f"{view.commands.logs(view.key, ())}: can they reach the hub?",
        )
    unowned = unowned_for_long(view, before)
    if unowned:
        yield _unowned(view, unowned)
    if view.unread:
        yield _unread(view)
    if view.unowned and (before is None or not before.is_true):
        yield _not("Joining", f"{pods}; {partitions_text(view.unowned)} will have an owner soon.")
    reads = len(view.partitions) - len(view.paused & set(view.partitions))
    yield Condition.so(READY, "Ready", f"{pods}, and {counted(reads, 'partition')} have an owner.")


def _not(reason: str, message: str) -> Condition:
    return Condition.not_so(READY, reason, message)


def _told(failures: Sequence[Failure]) -> str:
    """All of them, in the room of one message. The room that short ones leave goes to long ones."""
    parts = dict.fromkeys((sentence(failure.message) for failure in failures), "")
    room, shortest_first = MESSAGE_CHARS, sorted(parts, key=len)
    for left, each in zip(range(len(parts), 0, -1), shortest_first, strict=True):
        parts[each] = cut(each, room // left - 1)
        room -= len(parts[each]) + 1
    return " ".join(parts.values())


def _of_failure(failure: Failure) -> Condition:
    return _not(failure.reason, sentence(failure.message))


def _troubles(view: GroupView) -> list[Trouble]:
    """Of the pods that matter: of the newest revision always, of others where pods are missing."""
    workload = view.observation.workload
    newest = workload.revision if workload is not None else ""
    is_short = view.ready < view.wanted
    found = [
        trouble
        for pod in (*view.drivers, *view.pods)
        if (is_short or (newest and pod.revision == newest))
        and (trouble := trouble_of(view, pod)) is not None
    ]
    return sorted(found, key=lambda trouble: (trouble.is_soft, REASONS.index(trouble.reason)))


def _is_rolling(view: GroupView) -> bool:
    """Whether pods of an older revision stand, which pods that cannot be made are to replace."""
    workload = view.observation.workload
    newest = workload.revision if workload is not None else ""
    return bool(newest) and any(pod.revision not in ("", newest) for pod in view.pods)


def _of_trouble(view: GroupView, troubles: list[Trouble]) -> Condition:
    first = troubles[0]
    alike = sum(trouble.reason == first.reason for trouble in troubles) - 1
    more = f" So it is with {counted(alike, 'more pod')}." if alike else ""
    reads_on = f" {counted(view.ready, 'pod')} read on." if view.ready else ""
    return _not(first.reason, f"{first.message}{more}{reads_on}")


def _refused(failure: str) -> Condition:
    """Kubernetes does not let the Deployment make its pods."""
    why = sentence(said(failure))
    if "exceeded quota" in failure:
        return _not(
            "QuotaExceeded",
            f"Kubernetes makes no more pods here: {why} Raise the namespace's ResourceQuota, or "
            "ask for fewer pods or less for each.",
        )
    return _not(
        "PodsRefused",
        f"Kubernetes refuses to make pods: {why} Mend spec.template, or the rule of the namespace "
        "that forbids them (pod security, an admission webhook).",
    )


def _on_the_way(view: GroupView, troubles: list[Trouble]) -> Condition:
    counts = f"{view.ready} of {counted(view.wanted, 'pod')} joined"
    unseen = [
        each
        for each in view.observation.failures
        if each.reason in _UNSEEN and not (view.ready and each.reason == HUB_UNREACHABLE)
    ]
    if unseen:
        return _of_failure(unseen[0])
    if troubles:
        return _not(troubles[0].reason, f"{counts}. {troubles[0].message}")
    if not view.pods:
        return _not(
            "NoPods",
            "Kubernetes has made no pod yet. If it stays so, see "
            f"{view.commands.describe(view.key, 'deployment', view.key.name)}.",
        )
    return _not("Joining", f"{counts}. More pods are being made.")


def _unseen(view: GroupView) -> Condition:
    """The ledger cannot be seen: who owns what is not known."""
    for failure in view.observation.failures:
        if failure.reason == LedgerTrouble.UNREACHABLE:
            return Condition.unknown(READY, failure.reason, sentence(failure.message))
    return Condition.unknown(
        READY, NOT_READ, "The operator has not read the group's ledger yet, or not lately."
    )


def unowned_for_long(view: GroupView, before: Condition | None) -> tuple[PartitionId, ...]:
    """What nobody has owned for too long. Who has just begun believes who was there before."""
    if before is not None and before.reason == UNOWNED:
        return view.unowned
    return view.long_unowned


def _unowned(view: GroupView, partitions: tuple[PartitionId, ...]) -> Condition:
    return _not(
        UNOWNED,
        f"For more than {UNOWNED_LIMIT_S:.0f} s nobody has owned {partitions_text(partitions)}. "
        "See what the conditions StateBehind and Stuck say, and "
        f"{view.commands.logs(view.key, ())}. If the hub was made anew with fewer "
        "partitions, delete the blobs of those that it has no more.",
    )


def _unread(view: GroupView) -> Condition:
    """Owners hold their leases and read nothing."""
    unread = view.unread
    count = len(unread)
    if view.lost:
        return _not(LOST, lost_positions_text(view))
    read = "has an owner that cannot read it" if count == 1 else "have owners that cannot read them"
    what = f"{counted(count, 'partition')} {read}"
    names = sorted({member.name for member in unread.values()})
    # Executors are members, and their pods may be gone before anybody looks.
    pods = names if view.observation.spark is None else ()
    trouble = next((member.trouble for member in unread.values() if member.trouble), "")
    why = stopped(f"{what}: {said(trouble)}" if trouble else what)
    return _not(
        "PartitionsNotRead",
        f"{why} Is all there that spec.source names (of a hub its consumer group, too), and may "
        f"the group read it? {names_text(names)} cannot: see {view.commands.logs(view.key, pods)}.",
    )
