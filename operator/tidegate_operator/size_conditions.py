"""The conditions about a group's size: whether it changes, why, and whether more would help. Pure.

Rules: the words of a decision are those that were decided with; nothing is worked out anew.
"""

from __future__ import annotations

from tidegate_operator.condition import Condition
from tidegate_operator.scaling import Bound, Decision
from tidegate_operator.view import GroupView
from tidegate_operator.wording import counted, sentence

SCALING, BOUND = "Scaling", "PartitionBound"
OUT_OF_REACH = "ObjectiveOutOfReach"


def scaling(view: GroupView) -> Condition:
    workload, doing = view.observation.workload, sentence(view.steps.doing)
    if workload is None:
        return Condition.unknown(SCALING, "NoWorkload", doing or "There is no Deployment yet.")
    if not view.observation.knows_revision:
        text = "It is not known which pods are of the newest revision. Ready says why."
        return Condition.unknown(SCALING, "RevisionUnknown", doing or text)
    there = sum(bool(pod.revision) for pod in view.pods)
    old = [p for p in view.pods if p.revision and p.revision != workload.revision]
    if workload.revision and old:
        text = doing or f"{counted(len(old), 'pod')} of an older revision will be replaced."
        return Condition.so(SCALING, "RollingOut", text)
    if view.wanted > min(workload.replicas, there):
        text = doing or f"From {counted(there, 'pod')} to {view.wanted}."
        return Condition.so(SCALING, "ScalingOut", text)
    if view.wanted < max(workload.replicas, there):
        text = doing or f"From {counted(there, 'pod')} to {view.wanted}."
        return Condition.so(SCALING, "ScalingIn", text)
    return _as_wanted(view, doing)


def _as_wanted(view: GroupView, doing: str) -> Condition:
    report = view.steps.scaling
    stands = f"As many stand as are wanted: {counted(view.wanted, 'pod')}."
    if report is None:
        return Condition.not_so(SCALING, "AsWanted", f"{stands} {doing}".strip())
    said = sentence(report.decision.message)
    if report.decision.bound is not None and report.is_followed:
        return Condition.not_so(SCALING, OUT_OF_REACH, f"{said} {stands}")
    if not report.is_followed:
        instead = sentence(report.instead or "scaling.mode is Observe, so nothing is changed")
        would = f"Otherwise there would be {report.decision.replicas}: {report.decision.message}"
        said = f"{instead} {sentence(would)}"
    return Condition.not_so(SCALING, "AsWanted", f"{stands} {doing or said}")


def bound(view: GroupView) -> Condition:
    partitions = len(view.partitions)
    if not partitions:
        return Condition.unknown(
            BOUND, "PartitionsUnknown", "It is not known yet how many partitions the source has."
        )
    idle = view.wanted - partitions
    if idle > 0:
        return Condition.so(
            BOUND,
            "MorePodsThanPartitions",
            f"{counted(view.wanted, 'pod')} are wanted, and the source has "
            f"{counted(partitions, 'partition')}: {counted(idle, 'pod')} will own nothing. Want "
            "fewer pods, or give the hub more partitions.",
        )
    decision = view.steps.scaling.decision if view.steps.scaling is not None else None
    if decision is not None and decision.bound is Bound.PARTITION:
        return Condition.so(BOUND, "PartitionTooHot", sentence(decision.message))
    if decision is not None and _is_at_the_partitions(decision):
        return Condition.so(BOUND, "NoMorePartitions", sentence(decision.message))
    return Condition.not_so(BOUND, "EnoughPartitions", "There is something to own for every pod.")


def _is_at_the_partitions(decision: Decision) -> bool:
    return decision.bound is Bound.PARTITIONS
