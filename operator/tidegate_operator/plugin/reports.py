"""What a ConsumerGroup says of itself, typed, for people and programs. Pure.

Rules: nothing is believed to be there; what is missing is None and is never shown as 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.model import MemberName, PartitionId
from tidegate.ops.board import by_number
from tidegate_operator.freshness import DELETING, OBSERVED, is_deleting, stale_text

# Conditions that say nothing of note while they are true; the others do then.
_TRUE_WHEN_WELL = ("Ready", "Balanced")
# Those that somebody has to do something about, of them what is wrong with the reading.
OF_READING = ("Stuck", "RetentionLoss", "StateBehind")
_TROUBLES = ("Ready", *OF_READING)


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """A partition, who owns it, and how far behind it is."""

    partition: PartitionId
    owner: MemberName | None = None
    epoch: int | None = None
    sequence: int | None = None
    lag: int | None = None
    lag_kind: str = "unknown"
    behind_s: float | None = None
    # What is special about it, in words: paused, pinned, lost, …
    notes: tuple[str, ...] = ()
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class MemberReport:
    """A member, as the operator sees it."""

    name: MemberName
    is_ready: bool
    partitions: int | None
    weight: float | None
    is_leaving: bool


@dataclass(frozen=True, slots=True)
class ConditionReport:
    """A condition, and whether it says anything that a person would want to know."""

    type: str
    status: str
    reason: str
    message: str

    @property
    def is_of_note(self) -> bool:
        is_true = self.status == "True"
        return not is_true if self.type in _TRUE_WHEN_WELL else is_true

    @property
    def is_trouble(self) -> bool:
        return self.is_of_note and self.type in _TROUBLES


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group at one moment."""

    namespace: str
    name: str
    state: str
    ready: str
    wanted: int | None
    partition_count: int | None
    owned: int | None
    lag: int | None
    lag_kind: str
    # Of so many partitions the lag is the sum.
    lag_partitions: int | None
    behind: str
    partitions: tuple[PartitionReport, ...]
    members: tuple[MemberReport, ...]
    conditions: tuple[ConditionReport, ...]
    # The operator has seen this group, and its newest spec.
    has_status: bool
    is_current: bool
    # When the operator saw it like this.
    observed: str = ""
    # The reason if it is old, in words; '' if it is up to date.
    stale: str = ""

    @property
    def of_note(self) -> tuple[ConditionReport, ...]:
        return tuple(each for each in self.conditions if each.is_of_note)


def report_of(
    document: Mapping[str, Any],
    states: Sequence[Mapping[str, Any]] | None = None,
    *,
    now: float | None = None,
) -> GroupReport:
    """A typed ConsumerGroup; `states` replace the partitions that its status leaves out.

    With `now` the report shows whether the status is old.
    """
    meta, spec = document["metadata"], document.get("spec") or {}
    status = document.get("status") or {}
    members = tuple(_member(each) for each in status.get("members") or ())
    if states is None:
        states = status.get("partitionStates") or ()
    rows = sorted((_partition(each, spec, members) for each in states), key=_place)
    seen = status.get("observedGeneration")
    return GroupReport(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        state=DELETING if is_deleting(document) else status.get("state", ""),
        ready=status.get("ready", ""),
        wanted=status.get("wanted"),
        partition_count=status.get("partitions"),
        owned=status.get("owned"),
        lag=status.get("lag"),
        lag_kind=status.get("lagKind", "unknown"),
        lag_partitions=status.get("lagPartitions"),
        behind=status.get("behind", ""),
        partitions=tuple(rows),
        members=members,
        conditions=tuple(_condition(each) for each in status.get("conditions") or ()),
        has_status=seen is not None,
        is_current=seen is not None and seen >= meta.get("generation", 0),
        observed=str(status.get(OBSERVED) or ""),
        stale="" if now is None else stale_text(document, now),
    )


def known_partitions(document: Mapping[str, Any]) -> Collection[PartitionId]:
    """The partitions that the status names, or counts; empty where it does neither."""
    status = document.get("status") or {}
    named = [each["partition"] for each in status.get("partitionStates") or ()]
    return named or [str(number) for number in range(status.get("partitions") or 0)]


def _place(row: PartitionReport) -> tuple[int, int, str]:
    return by_number(row.partition)


def _partition(
    state: Mapping[str, Any], spec: Mapping[str, Any], members: Sequence[MemberReport]
) -> PartitionReport:
    partition, owner = str(state["partition"]), state.get("owner") or None
    kind = state.get("lagKind", "unknown")
    is_paused = bool(spec.get("paused")) or partition in (spec.get("pausedPartitions") or ())
    notes = []
    if is_paused:
        notes.append("paused")
    pin = (spec.get("pins") or {}).get(partition)
    if pin is not None:
        notes.append("pinned" if pin == owner else f"pinned to {pin}")
    if owner is not None and any(each.is_leaving for each in members if each.name == owner):
        notes.append("its owner is leaving")
    if kind == "lost":
        notes.append("retention took events")
    return PartitionReport(
        partition=partition,
        owner=owner,
        epoch=state.get("epoch"),
        sequence=state.get("sequenceNumber"),
        lag=state.get("lag"),
        lag_kind=kind,
        behind_s=state.get("behindSeconds"),
        notes=tuple(notes),
        is_paused=is_paused,
    )


def _member(each: Mapping[str, Any]) -> MemberReport:
    return MemberReport(
        name=each["name"],
        is_ready=bool(each.get("ready")),
        partitions=each.get("partitions"),
        weight=each.get("weight"),
        is_leaving=bool(each.get("leaving")),
    )


def _condition(each: Mapping[str, Any]) -> ConditionReport:
    return ConditionReport(
        type=each["type"],
        status=each["status"],
        reason=each.get("reason", ""),
        message=each.get("message", ""),
    )


# --- for programs


def as_document(report: GroupReport) -> dict[str, Any]:
    """The same with the names of the status; what is not known is null."""
    return {
        "namespace": report.namespace,
        "name": report.name,
        "state": report.state or None,
        "ready": report.ready or None,
        "wanted": report.wanted,
        "partitions": report.partition_count,
        "owned": report.owned,
        "lag": report.lag,
        "lagKind": report.lag_kind,
        "lagPartitions": report.lag_partitions,
        "behind": report.behind or None,
        "isCurrent": report.is_current,
        "observedTime": report.observed or None,
        "stale": report.stale or None,
        "conditions": [
            {
                "type": each.type,
                "status": each.status,
                "reason": each.reason,
                "message": each.message,
            }
            for each in report.conditions
        ],
        "members": [
            {
                "name": each.name,
                "ready": each.is_ready,
                "partitions": each.partitions,
                "weight": each.weight,
                "leaving": each.is_leaving,
            }
            for each in report.members
        ],
        "partitionStates": [
            {
                "partition": each.partition,
                "owner": each.owner,
                "epoch": each.epoch,
                "sequenceNumber": each.sequence,
                "lag": each.lag,
                "lagKind": each.lag_kind,
                "behindSeconds": each.behind_s,
                "notes": list(each.notes),
            }
            for each in report.partitions
        ],
    }
