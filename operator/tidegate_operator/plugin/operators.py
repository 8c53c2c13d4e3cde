"""The running operators and their namespaces, to explain a group without an operator.

Rules: both are read from the Leases of operators, with the rights of the user. A user without the
right to list Leases gets the explanation that follows from the group alone. `unserved` is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.ledger.survey import age_text
from tidegate_operator.facts import seconds_of
from tidegate_operator.freshness import FINALIZER, is_deleting, stale_s
from tidegate_operator.kinds import LEASE
from tidegate_operator.kube_errors import Denied
from tidegate_operator.leader import LEASE_LABELS, namespaces_of
from tidegate_operator.objects import Groups

# Of a Lease that is renewed each 5 s: a person's clock may be another one.
_GONE_S = 60.0


@dataclass(frozen=True, slots=True)
class SeenOperator:
    """The Lease of an operator."""

    # Where the Lease is.
    place: str
    # Its holder; '' if it was given back.
    holder: str
    # Empty: all of them.
    namespaces: tuple[str, ...]
    renewed_at: float | None

    def runs(self, now: float) -> bool:
        return bool(self.holder) and now - (self.renewed_at or 0.0) < _GONE_S

    def watches(self, namespace: str) -> bool:
        return not self.namespaces or namespace in self.namespaces


def seen_operator(lease: Mapping[str, Any]) -> SeenOperator:
    metadata, spec = lease["metadata"], lease.get("spec") or {}
    return SeenOperator(
        f"{metadata.get('namespace', '')}/{metadata['name']}",
        str(spec.get("holderIdentity") or ""),
        namespaces_of(lease),
        seconds_of(spec.get("renewTime")),
    )


async def operators(kube: Groups) -> tuple[SeenOperator, ...] | None:
    """Those of the cluster; None where this person may not list Leases. Raises KubeError."""
    labels = ",".join(f"{name}={value}" for name, value in LEASE_LABELS.items())
    try:
        found = await kube.list(LEASE, None, labels=labels)
    except Denied:
        return None
    return tuple(map(seen_operator, found))


def is_unserved(document: Mapping[str, Any], now: float) -> bool:
    """Whether no operator has looked at the group lately, as far as its status says."""
    status = document.get("status") or {}
    return status.get("observedGeneration") is None or stale_s(document, now) is not None


def unserved(document: Mapping[str, Any], seen: Sequence[SeenOperator] | None, now: float) -> str:
    """Why no operator looks at the group, and what to do; '' if one does, as far as is known."""
    namespace = document["metadata"].get("namespace", "")
    running = [each for each in seen or () if each.runs(now)]
    mine = [each for each in running if each.watches(namespace)]
    if not is_unserved(document, now):
        if mine or seen is None:
            return ""
        looks = "looks at it any more"
    else:
        age_s = stale_s(document, now)
        looks = (
            "has looked at it yet" if age_s is None else f"has looked at it for {age_text(age_s)}"
        )
    if seen is None:
        why = (
            "is one running, and does it watch this namespace? To be told, have the right to list "
            "leases.coordination.k8s.io of all namespaces."
        )
    elif not running:
        last = max((each.renewed_at or 0.0 for each in seen), default=0.0)
        ended = f" The last one was there {age_text(now - last)} ago." if last else ""
        why = f"none runs in this cluster. Install one, or start it again.{ended}"
    elif mine:
        why = f"{mine[0].holder} watches this namespace. See its log, if it stays so."
    else:
        told = "; ".join(f"{each.holder} watches {', '.join(each.namespaces)}" for each in running)
        why = (
            f"none watches namespace '{namespace}': {told}. Add it to watch.namespaces of the "
            "chart (--namespace of the operator), or make the group in a namespace that is "
            "watched."
        )
    return f"no operator {looks}: {why}{_kept(document)}"


def _kept(document: Mapping[str, Any]) -> str:
    """The condition for the end of a group in deletion."""
    if not is_deleting(document) or FINALIZER not in document["metadata"].get("finalizers", ()):
        return ""
    return (
        f" It is being deleted, and its finalizer {FINALIZER} keeps it until an operator has "
        "removed its ledger. To let it go and leave the ledger, take the finalizer away."
    )
