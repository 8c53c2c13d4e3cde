"""How a group and its pods are, read from what the API server says of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tidegate_operator.conformance.options import Engine
from tidegate_operator.conformance.record import Told
from tidegate_operator.engines.inputs import ROLE_LABEL
from tidegate_operator.kinds import Document


def is_whole(ranges: set[str]) -> bool:
    """Whether ranges of a container, each LEAST-MOST, lie side by side and leave nothing out."""
    ends = sorted(tuple(each.partition("-")[::2]) for each in ranges)
    return (
        bool(ends)
        and ends[0][0] == ""
        and all(before[1] == after[0] for before, after in pairwise(ends))
        and ends[-1][1].lower() == "ff"
    )


def told_of(group: Mapping[str, Any], replicas: int | None, at: float) -> Told:
    """What a group's status says."""
    status, spec = group.get("status") or {}, group["spec"]
    ready = str(status.get("ready") or "0/0").partition("/")[0]
    states = status.get("partitionStates") or ()
    scaling = spec.get("scaling") or {}
    return Told(
        at,
        str(status.get("state") or ""),
        int(ready) if ready.isdecimal() else 0,
        int(status.get("wanted") or 0),
        replicas,
        int(scaling.get("min", 1)),
        int(scaling.get("max", 16)),
        status.get("lag"),
        bool(states) and all(each.get("lagKind") != "unknown" for each in states),
        "replicas" not in spec,
        {each["partition"]: each["owner"] for each in states if each.get("owner")},
    )


def facts_of(pod: Mapping[str, Any]) -> tuple[int, bool, bool]:
    """Restarts, whether it is ready, whether it is leaving."""
    status = pod.get("status") or {}
    restarts = sum(int(each.get("restartCount", 0)) for each in status.get("containerStatuses", ()))
    is_ready = any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions", ())
    )
    return restarts, is_ready, "deletionTimestamp" in pod["metadata"]


def waiting(pod: Document) -> str:
    """What a container of a pod waits for, in Kubernetes' words; '' where none does."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        waits = (each.get("state") or {}).get("waiting")
        if waits:
            return f"{waits.get('reason', '')}: {waits.get('message', '')}".strip(": ")
    return ""


def has_joined(group: Mapping[str, Any], pod: Document | None) -> bool:
    """Whether a pod made by hand runs, and is a member. While it is not, the others share all in
    good order without it, and give it back its share when it has come."""
    name = pod["metadata"]["name"] if pod is not None else ""
    members = (group.get("status") or {}).get("members") or ()
    alive = {each["name"] for each in members if each.get("ready") and not each.get("leaving")}
    return pod is not None and facts_of(pod)[1:] == (True, False) and name in alive


def is_settled(
    group: Mapping[str, Any], pods: list[Document], replicas: int, engine: Engine
) -> bool:
    """Whether a group is as it shall be, by its status and its pods."""
    if not group:
        return False  # it was not looked at yet
    status = group.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    states = status.get("partitionStates") or ()
    owners = {each["owner"] for each in states if each.get("owner")}
    members = {each["name"] for each in status.get("members") or ()}
    roles = [pod["metadata"].get("labels", {}).get(ROLE_LABEL) for pod in pods]
    counted = len(pods) if engine is Engine.PYTHON else roles.count("executor")
    return (
        status.get("observedGeneration") == group["metadata"].get("generation")
        and status.get("ready") == f"{replicas}/{replicas}"
        and status.get("state") == "Balanced"
        and conditions.get("Ready") == "True"
        and conditions.get("Scaling") == "False"
        and bool(states)
        and all(each.get("owner") for each in states)
        and owners <= members
        and counted == replicas
        and not any("deletionTimestamp" in pod["metadata"] for pod in pods)
    )
