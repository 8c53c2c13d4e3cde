"""How a group is, for other autoscalers and for Prometheus: what its status says, in figures. Pure.

Rules:
- It is told from the ConsumerGroup alone, which every operator has from its watch: they all say the
  same, and nobody is asked. The one that leads writes it.
- What is not known is absent, and never a 0. A lag of which a part is not known is not known: who
  took it for the whole would make the group smaller.
- `wanted` is what the operator would decide, whoever decides. What somebody has set already is no
  advice to him.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tidegate.lag import LagKind
from tidegate_operator.condition import conditions_in
from tidegate_operator.freshness import is_deleting
from tidegate_operator.readiness import READY
from tidegate_operator.waiting import behind_s, drain_s
from tidegate_operator.wording import counted

# With it what stands in the status is of a time before.
_FAILED = "OperatorFailed"
# Of a count: longer ones are none.
_DIGITS = 18


def _said(name: str, meaning: str) -> dict[str, str]:
    return {"name": name, "help": meaning}


@dataclass(frozen=True, slots=True)
class Outside:
    """See the module. The names are those of the answer; None is what is not known."""

    lag_events: int | None = field(
        metadata=_said("lagEvents", "Events not yet handled, in all partitions.")
    )
    lag_s: float | None = field(
        metadata=_said("lagSeconds", "How long the oldest of them has waited, at most.")
    )
    drain_s: float | None = field(
        metadata=_said(
            "drainSeconds",
            "How long it takes until none of them waits, at the present pace; absent where it does "
            "not end.",
        )
    )
    lag_kind: str = field(
        metadata=_said("lagKind", "How far that can be relied on: `exact`, `estimated` or `lost`.")
    )
    wanted: int | None = field(
        metadata=_said(
            "wanted",
            "How many consumers there should be by `spec.scaling`, whoever decides it: as "
            "`.status.scaling.wanted`.",
        )
    )
    replicas: int | None = field(metadata=_said("replicas", "How many consumers there are."))
    ready: int | None = field(metadata=_said("ready", "How many of them have joined."))
    partitions: int | None = field(
        metadata=_said("partitions", "How many partitions the source has.")
    )
    unread: int | None = field(
        metadata=_said(
            "unread",
            "How many of them have no reader and should have one, with an owner or without. "
            "Paused ones do not count, and none does if no consumer is wanted.",
        )
    )

    def document(self) -> dict[str, Any]:
        """What is known."""
        values = {each.metadata["name"]: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def outside_of(document: Mapping[str, Any]) -> Outside:
    """A ConsumerGroup, from outside."""
    status = document.get("status") or {}
    scaling = status.get("scaling") or {}
    partitions = _count(status.get("partitions"))
    is_known = bool(partitions) and status.get("lagPartitions") == partitions
    events = _count(status.get("lag")) if is_known and not why_not(document) else None
    kind = str(status.get("lagKind")) if events is not None else str(LagKind.UNKNOWN)
    return Outside(
        lag_events=events,
        lag_s=behind_s(status) if events is not None else None,
        drain_s=drain_s(events, scaling.get("arriving"), scaling.get("handling")),
        lag_kind=kind,
        wanted=_count(scaling.get("wanted")),
        replicas=_count(status.get("replicas")),
        ready=_count(str(status.get("ready") or "").partition("/")[0]),
        partitions=partitions,
        unread=_count(status.get("unread")),
    )


def why_not(document: Mapping[str, Any]) -> str:
    """Why nothing is to be made of a group's figures, in words; '' where that is not so."""
    status = document.get("status") or {}
    if is_deleting(document):
        return "it is being deleted"
    ready = conditions_in(status).get(READY)
    if ready is None:
        return "no operator has looked at it yet"
    if ready.reason == _FAILED:
        return f"its figures are old; Ready says {ready.reason}: {ready.message}"
    return ""


def why_unknown(document: Mapping[str, Any]) -> str:
    """Why its lag is not known, in words; '' where it is known."""
    why = why_not(document)
    if why or outside_of(document).lag_events is not None:
        return why
    status = document.get("status") or {}
    ready = conditions_in(status)[READY]
    partitions, known = _count(status.get("partitions")), _count(status.get("lagPartitions")) or 0
    if not partitions:
        what = "its partitions are not known"
    else:
        what = f"the lag of {partitions - known} of {counted(partitions, 'partition')} is not known"
    return what if ready.is_true else f"{what}; Ready says {ready.reason}: {ready.message}"


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= _DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
