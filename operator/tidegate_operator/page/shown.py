"""What the console shows of a group, from its ConsumerGroup alone. Pure.

Rules: every figure is one that `kubectl` gives as well, by the same code; what is worked out
besides is worked out from these. What is not known is null, and never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.group_file.durations import seconds_of as duration_of
from tidegate_operator.freshness import STALE_S
from tidegate_operator.kinds import Document
from tidegate_operator.plugin.reports import GroupReport, as_document, report_of
from tidegate_operator.waiting import behind_s, drain_s

# An annotation that somebody puts on a group, for those who look at it.
NOTE = "tidegate.dev/note"
# Of a count: longer ones are none.
_DIGITS = 18
WELL, BUSY, REST, TROUBLE = "well", "busy", "rest", "trouble"
_BUSY = frozenset(("Joining", "Moving", "Waiting", "NoPods"))
_REST = frozenset(("Paused", "ScaledToZero", "Deleting"))


def row_of(document: Mapping[str, Any]) -> Document:
    """A group among the others."""
    report, status = report_of(document), document.get("status") or {}
    scaling = status.get("scaling") or {}
    objective = scaling.get("objective") or ""
    return {
        "namespace": report.namespace,
        "name": report.name,
        "state": report.state or None,
        "observed": report.observed or None,
        "staleAfterSeconds": STALE_S,
        "tone": tone_of(report),
        "note": _note_of(report),
        "said": (document["metadata"].get("annotations") or {}).get(NOTE),
        "ready": ready_of(status),
        "wanted": report.wanted,
        "partitions": report.partition_count,
        "owned": report.owned,
        "lag": report.lag,
        "lagKind": report.lag_kind,
        "behindSeconds": behind_s(status),
        "objective": objective or None,
        "objectiveSeconds": _objective_s(objective),
        "drainSeconds": drain_s(report.lag, scaling.get("arriving"), scaling.get("handling")),
    }


def detail_of(document: Mapping[str, Any]) -> Document:
    """All of a group."""
    report = report_of(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    conditions = status.get("conditions") or ()
    since = {each.get("type"): each.get("lastTransitionTime") for each in conditions}
    of_note = {each.type: each.is_trouble for each in report.of_note}
    found = as_document(report) | row_of(document)
    for each in found["conditions"]:
        each["since"] = since.get(each["type"])
        each["isOfNote"] = each["type"] in of_note
        each["isTrouble"] = of_note.get(each["type"], False)
    delivery = spec.get("delivery") or {}
    return found | {
        "partitionCount": report.partition_count,
        "scaling": status.get("scaling"),
        "engine": spec.get("engine", "python"),
        "isPaused": bool(spec.get("paused")),
        "onFailure": delivery.get("onFailure", "retry"),
        "deadLetters": _letters_of(delivery.get("deadLetters") or {}),
        "deadLettered": dead_lettered(status),
    }


def tone_of(report: GroupReport) -> str:
    """How it is, in one of four words: for colours, pictures and order."""
    if report.state in _REST:
        return REST
    if report.state in _BUSY or not report.has_status:
        return BUSY
    return WELL if report.state == "Balanced" else TROUBLE


def dead_lettered(status: Mapping[str, Any]) -> int | None:
    """Events that the owners of now have put aside since they began; None where nobody says."""
    counts = (each.get("deadLettered") for each in status.get("partitionStates") or ())
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


def ready_of(status: Mapping[str, Any]) -> int | None:
    """How many consumers have joined."""
    ready = str(status.get("ready", "")).partition("/")[0]
    return int(ready) if ready.isdecimal() and len(ready) <= _DIGITS else None


def _objective_s(objective: str) -> float | None:
    """The longest that an event may wait, where that is what the size is for."""
    name, _, text = objective.partition(" ")
    return duration_of(text) if name == "within" else None


def _note_of(report: GroupReport) -> str | None:
    """What somebody has to do something about, else the first that is worth a word."""
    of_note = sorted(report.of_note, key=lambda each: not each.is_trouble)
    return of_note[0].message if of_note else None


def _letters_of(said: Mapping[str, Any]) -> str | None:
    """Where events are put aside, without what lets one in there."""
    if said.get("eventHub"):
        return f"event hub {said['eventHub'].get('hub', '')}"
    container = (said.get("blob") or {}).get("container")
    return f"container {container}" if container else None
