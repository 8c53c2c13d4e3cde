"""What a person would want to be told when it happens, as Kubernetes Events. Pure.

Rules:
- An Event is told when something has become so, and never because it is still so: it comes from
  the difference between two statuses, or between two decisions.
- The words are those of the condition. A group on its way gets no Event. A trouble that may pass
  without help gets one after 15 s; the status has it at once.
- After a restart the status that the resource has is the one before, so nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tidegate.bounded import cut
from tidegate.model import MemberName
from tidegate.sources.cosmos.ranges import range_of
from tidegate_operator import conditions as kinds
from tidegate_operator.condition import Condition, conditions_in
from tidegate_operator.model import BreakLease, Steps
from tidegate_operator.readiness import MAY_PASS, NOT_READ, ON_THE_WAY, READY, WISHED
from tidegate_operator.size_conditions import BOUND, OUT_OF_REACH, SCALING
from tidegate_operator.spec_status import Truth
from tidegate_operator.wording import names_text, partitions_text, stopped

_NOTE_CHARS = 1000
# Storage, hub and Secrets that start together with the group are mostly there within ten.
PASSES_S = 15.0
# Bad where they are so.
_TROUBLES = (kinds.STUCK, kinds.LOSS, kinds.BEHIND, kinds.RESTORED, BOUND)


class NoticeKind(StrEnum):
    """The type of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Notice:
    """An Event, as it is to be told."""

    kind: NoticeKind
    reason: str  # one CamelCase word
    note: str


@dataclass(frozen=True, slots=True)
class Passing:
    """A trouble that may pass without help and has no Event yet."""

    # The condition of the last Event, and the time when the trouble began.
    reported: Condition | None
    since: float


def events_of(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    steps_before: Steps | None,
    steps: Steps,
    passing: Passing | None,
    at: float,
) -> tuple[tuple[Notice, ...], Passing | None]:
    """Events for the changes between two looks at a group, and the trouble that has none yet."""
    known, now = conditions_in(before or {}), conditions_in(after)
    reported = known.get(READY) if passing is None else passing.reported
    passing = _passing(passing, reported, now.get(READY), at)
    return (
        *(() if passing is not None else _of_ready(reported, now.get(READY))),
        *(each for type in _TROUBLES for each in _of_trouble(known.get(type), now.get(type))),
        *_of_pause(known.get(kinds.PAUSED), now.get(kinds.PAUSED)),
        *_of_work(known.get(SCALING), now.get(SCALING), bad=(OUT_OF_REACH,)),
        *_of_decision(steps_before, steps),
        *_of_work(known.get(kinds.BALANCED), now.get(kinds.BALANCED), bad=("OtherProcessors",)),
        *_of_leaving(before or {}, after),
        *_of_ranges(before or {}, after),
        *_of_breaks(steps_before, steps),
    ), passing


def _passing(
    passing: Passing | None, reported: Condition | None, now: Condition | None, at: float
) -> Passing | None:
    if now is None or now.reason not in MAY_PASS or _is_as_before(reported, now):
        return None
    since = passing.since if passing is not None else at
    return Passing(reported, since) if 0.0 <= at - since < PASSES_S else None


def _is_as_before(before: Condition | None, now: Condition) -> bool:
    return before is not None and (before.truth, before.reason) == (now.truth, now.reason)


def _normal(reason: str, note: str) -> Notice:
    return Notice(NoticeKind.NORMAL, reason, cut(note, _NOTE_CHARS))


def _warning(reason: str, note: str) -> Notice:
    return Notice(NoticeKind.WARNING, reason, cut(note, _NOTE_CHARS))


def _of_ready(before: Condition | None, now: Condition | None) -> Iterator[Notice]:
    if now is None or _is_as_before(before, now):
        return
    if now.is_true:
        yield _normal(now.reason, now.message)
    elif now.reason not in ON_THE_WAY | WISHED | {NOT_READ}:
        yield _warning(now.reason, now.message)


def _of_trouble(before: Condition | None, now: Condition | None) -> Iterator[Notice]:
    if now is None or _is_as_before(before, now):
        return
    if now.is_true:
        yield _warning(now.reason, now.message)
    elif before is not None and before.is_true and now.truth is Truth.FALSE:
        yield _normal(now.reason, now.message)


def _of_pause(before: Condition | None, now: Condition | None) -> Iterator[Notice]:
    was = before is not None and before.is_true
    if now is not None and now.is_true and not was:
        yield _normal("Paused", now.message)
    elif now is not None and was and not now.is_true:
        yield _normal("Resumed", "The group reads on at its checkpoints.")


def _of_work(
    before: Condition | None, now: Condition | None, bad: tuple[str, ...]
) -> Iterator[Notice]:
    """Moves and changes of the size: their beginning and their end."""
    if before is None or now is None or _is_as_before(before, now):
        return
    if now.reason in bad:
        yield _warning(now.reason, now.message)
    elif now.truth is not Truth.UNKNOWN and now.reason in _WORK:
        yield _normal(now.reason, now.message)


def _of_ranges(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Notice]:
    """Partitions of a container that have gone on as others."""
    if after.get("source") != "cosmos" or not before.get("partitionStates"):
        return
    known, now = (
        {id: range for each in said.get("partitionStates") or () if (id := each["partition"])
         and (range := range_of(id)) is not None}
        for said in (before, after)
    )  # fmt: skip
    come = {id: range for id, range in now.items() if id not in known}
    for id, range in known.items():
        if id in now:
            continue
        parts = [other for other, its in come.items() if range.holds(its)]
        if len(parts) > 1:
            yield _normal("PartitionSplit", f"Partition {id} was split: {', '.join(parts)}.")
    for id, range in come.items():
        parts = [other for other, its in known.items() if other not in now and range.holds(its)]
        if parts:
            # The others may have ended a look ago.
            yield _normal("PartitionsMerged", f"{', '.join(parts)} and its neighbours: now {id}.")


_WORK = frozenset(("RollingOut", "ScalingOut", "ScalingIn", "AsWanted", "Moving", "Balanced"))


def _of_decision(before: Steps | None, steps: Steps) -> Iterator[Notice]:
    """A size that was decided since, in the words that it was decided with."""
    report, last = steps.scaling, before.scaling if before is not None else None
    if report is None or last is None or not report.is_followed or not report.history.records:
        return
    record = report.history.records[-1]
    is_new = not last.history.records or last.history.records[-1].at < record.at
    if is_new and record.before != record.decision.replicas:
        yield _normal(
            record.decision.reason,
            f"From {record.before} to {record.decision.replicas}: "
            f"{stopped(record.decision.message)}",
        )


def _of_leaving(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Notice]:
    """Members that hand over, from now on."""
    left = _leaving(before)
    new = sorted(name for name in _leaving(after) if name not in left)
    if new:
        said = "Member {} hands over its" if len(new) == 1 else "Members {} hand over their"
        yield _normal("HandingOver", f"{said.format(names_text(new))} partitions, and will go.")


def _leaving(status: Mapping[str, Any]) -> dict[MemberName, int]:
    return {
        each["name"]: each.get("partitions", 0)
        for each in status.get("members") or ()
        if each.get("leaving") and each.get("name")
    }


def _of_breaks(before: Steps | None, steps: Steps) -> Iterator[Notice]:
    """Leases of the dead that are ended, once for each member."""
    asked = {(each.partition, each.etag) for each in before.breaks} if before is not None else set()
    by_member: dict[MemberName, list[BreakLease]] = {}
    for each in steps.breaks:
        if (each.partition, each.etag) not in asked:
            by_member.setdefault(each.member, []).append(each)
    for member, breaks in sorted(by_member.items()):
        what = partitions_text([each.partition for each in breaks])
        yield _normal(
            "LeaseBroken",
            f"Member {member} is gone, so others take {what} at once: {stopped(breaks[0].why)}",
        )
