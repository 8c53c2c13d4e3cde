"""What the status of a group says of its size: the decision, and those before it. Pure.

Rules: bounded: ten decisions, each with a text of a bounded length and the figures that mattered.
What an operator that begins anew needs to go on without haste is read back from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.bounded import cut
from tidegate.group_file.durations import duration_text
from tidegate_operator.scaling.history import History, Record
from tidegate_operator.scaling.need import SHORT_S
from tidegate_operator.scaling.nouns import Bound, Decision, Inputs, Mode, Policy, Reason, Spell
from tidegate_operator.scaling.rates import Costs
from tidegate_operator.scaling.trials import JOINED_WITHIN_S, Ceiling, Step, Trials
from tidegate_operator.wording import seconds_at, sentence, time_text

_MESSAGE_CHARS = 1024
_RECORD_CHARS = 320
# The bounds of an objective. One partition that is too hot shows in each look.
_OF_SHORTAGE = tuple(str(bound) for bound in Bound if bound is not Bound.PARTITION)

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """Why a group has the size that it has."""

    policy: Policy
    history: History
    decision: Decision
    # What is done in its place: by hand, by a pause, by an autoscaler; '' where it is followed.
    instead: str = ""

    # Nobody is to read, whatever comes.
    is_paused: bool = False
    # How many there were before that; kept until there are as many again.
    before_pause: int | None = None

    @property
    def is_followed(self) -> bool:
        return self.policy.mode is Mode.AUTO and not self.instead

    @property
    def wakes_by_lag(self) -> bool:
        """Whether what comes starts a group that has no consumers: by us, or by an autoscaler that
        is told of it."""
        return self.is_followed or (self.policy.mode is Mode.EXTERNAL and not self.is_paused)


def document_of(report: Report) -> Document:
    """`status.scaling`."""
    decision, inputs, history = report.decision, report.decision.inputs, report.history
    ceiling = history.trials.ceiling
    return _known(
        {
            "mode": str(report.policy.mode),
            "objective": objective_document_text(report.policy),
            "wanted": decision.replicas,
            "reason": str(decision.reason),
            "message": cut(sentence(decision.message), _MESSAGE_CHARS),
            "instead": report.instead or None,
            "beforePause": report.before_pause,
            "bound": str(decision.bound) if decision.bound is not None else None,
            **_figures(inputs),
            "needed": inputs.needed,
            "enough": inputs.calm,
            "startSeconds": round(inputs.start_s, 1),
            "ofNoUseAbove": ceiling.count if ceiling is not None else None,
            "ofNoUseUntil": time_text(ceiling.until) if ceiling is not None else None,
            "decisions": [_record(each) for each in history.records],
        }
    )


def _record(record: Record) -> Document:
    decision = record.decision
    return _known(
        {
            "time": time_text(record.at),
            "before": record.before,
            "to": decision.replicas,
            "reason": str(decision.reason),
            "message": cut(sentence(decision.message), _RECORD_CHARS),
            **_figures(decision.inputs),
        }
    )


def _figures(inputs: Inputs) -> Document:
    return {
        "lag": inputs.lag,
        "behindSeconds": _rounded(inputs.behind_s),
        "arriving": _rounded(inputs.arriving),
        "handling": _rounded(inputs.handling),
        "perConsumer": _rounded(inputs.per_member),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _known(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None}


def objective_document_text(policy: Policy) -> str:
    """The objective as it is written: 'within 60s'."""
    if policy.within_s is not None:
        return f"within {duration_text(policy.within_s)}"
    if policy.drain_within_s is not None:
        return f"drainWithin {duration_text(policy.drain_within_s)}"
    return f"lagPerReplica {policy.lag_per_replica}"


# --- read back


def restored(said: Mapping[str, Any] | None, now: float) -> tuple[History, int | None]:
    """What is known of a group from its status alone, and how many were wanted last.

    What a consumer handles is only a beginning: looks correct it. Nothing that was watched counts,
    so that nothing gets smaller before it has been watched anew. A step to more that was asked for
    not long ago is under way, or just done: it is not answered once more.
    """
    if not said:
        return History(), None
    per_member, start_s = _number(said.get("perConsumer")), _number(said.get("startSeconds"))
    until = seconds_at(said.get("ofNoUseUntil"))
    ceiling = None
    if until is not None and isinstance(said.get("ofNoUseAbove"), int):
        count = said["ofNoUseAbove"]
        ceiling = Ceiling(count, count, until, held_s=900.0)
    wanted = said.get("wanted")
    is_followed = said.get("mode") == Mode.AUTO and not said.get("instead")
    asked = wanted if isinstance(wanted, int) and is_followed else None
    records = tuple(
        found
        for each in said.get("decisions") or ()
        if isinstance(each, Mapping) and (found := _read_record(each)) is not None
    )
    step = _step_under_way(records[-1], asked, now) if records else None
    # The status of the previous operator holds until looks disagree.
    is_short = said.get("bound") in _OF_SHORTAGE
    history = History(
        shortage=Spell(now - SHORT_S, now) if is_short else None,
        costs=Costs(event_s=1 / per_member, usual_event_s=1 / per_member)
        if per_member
        else Costs(),
        trials=Trials(step, starts_s=(start_s,) if start_s else (), ceiling=ceiling),
        records=records,
    )
    return history, asked


def before_pause_in(said: Mapping[str, Any] | None) -> int | None:
    """How many there were before the pause that the status says of."""
    count = (said or {}).get("beforePause")
    return count if isinstance(count, int) and count >= 0 else None


def _step_under_way(last: Record, asked: int | None, now: float) -> Step | None:
    """The step to more that was asked for last, if that is not long ago."""
    inputs, count = last.decision.inputs, last.decision.replicas
    if count != asked or count <= last.before or not 0 <= now - last.at <= JOINED_WITHIN_S:
        return None
    return Step(
        last.before,
        count,
        last.at,
        handled=inputs.handling or 0.0,
        event_s=1 / inputs.per_member if inputs.per_member else None,
        per_member=inputs.per_member,
        is_taken_over=True,
    )


def _read_record(said: Mapping[str, Any]) -> Record | None:
    at, count = seconds_at(said.get("time")), said.get("to")
    if at is None or not isinstance(count, int) or said.get("reason") not in tuple(Reason):
        return None
    lag = said.get("lag")
    inputs = Inputs(
        lag=lag if isinstance(lag, int) else None,
        behind_s=_number(said.get("behindSeconds")),
        arriving=_number(said.get("arriving")),
        handling=_number(said.get("handling")),
        per_member=_number(said.get("perConsumer")),
    )
    decision = Decision(count, Reason(said["reason"]), str(said.get("message") or ""), inputs)
    before = said.get("before")
    return Record(at, decision, before if isinstance(before, int) else count)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return float(value)
