"""Why a group has the size that it has, and what would change it: for people and programs. Pure.

Rules: why it was decided so is said in the words of the operator, which are in the status. What
would be decided otherwise is worked out by `what_if`; where it cannot be, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.group_file.durations import duration_text
from tidegate.ops.live import seconds_text
from tidegate_operator.plugin.reports import OF_READING
from tidegate_operator.plugin.tables import aligned
from tidegate_operator.plugin.what_if import Turns, decision_of, standing_of, turns_of
from tidegate_operator.scaling import Decision, Mode, Policy
from tidegate_operator.scaling.report import objective_document_text
from tidegate_operator.scaling.words import rate_text
from tidegate_operator.waiting import drain_s
from tidegate_operator.wording import counted, sentence

_HEADS = (
    "TIME",
    "FROM",
    "TO",
    "REASON",
    "LAG",
    "BEHIND",
    "ARRIVING",
    "HANDLING",
    "EACH CAN",
    "WHY",
)
_NUMBERS = _HEADS[1:3] + _HEADS[4:9]
_NOTHING = "-"
_UNSAID = "the operator has not said anything of its size yet: is one running?"

_MODES: Mapping[Mode, str] = {
    Mode.AUTO: "scaling.mode is Auto: the operator decides.",
    Mode.OBSERVE: "scaling.mode is Observe: the operator says what it would decide, and changes "
    "nothing.",
    Mode.EXTERNAL: "scaling.mode is External: whoever writes spec.replicas decides (an autoscaler, "
    "or `kubectl scale`). What the operator would decide is only said.",
}

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to say of a group's size."""

    namespace: str
    name: str
    policy: Policy
    # How many there are to be now; None where no operator has said it.
    replicas: int | None
    # `status.scaling`; None where there is none.
    said: Mapping[str, Any] | None
    # With what it now is, and with another objective; None where that cannot be worked out.
    turns: Turns | None = None
    most: int | None = None
    other: Policy | None = None
    what_if: Decision | None = None
    # What is wrong with the reading, which no other size would mend.
    troubles: tuple[str, ...] = ()

    @property
    def are_more_called_for(self) -> bool:
        """Whether the operator has decided for more than there are."""
        wanted = (self.said or {}).get("wanted")
        return wanted is not None and wanted > (self.replicas or 0)


def explain(
    document: Mapping[str, Any], policy: Policy, now: float, other: Policy | None = None
) -> Explanation:
    """`policy` is the group's own; `other` what is asked after besides."""
    meta, status = document["metadata"], document.get("status") or {}
    found = Explanation(
        meta.get("namespace", ""),
        meta["name"],
        policy,
        status.get("wanted", status.get("replicas")),
        status.get("scaling"),
        other=other,
        troubles=tuple(_troubles(status)),
    )
    standing = standing_of(document, policy, now)
    if standing is None:
        return found
    turns = _as_decided(turns_of(standing), found)
    found = replace(found, turns=turns, most=decision_of(standing).inputs.most)
    if other is None:
        return found
    return replace(found, what_if=decision_of(replace(standing, policy=other)))


def _as_decided(turns: Turns, found: Explanation) -> Turns:
    """A turn at 0 is one that is reached already: the operator decides that, and no estimate."""
    if 0 not in (turns.more_arriving, turns.more_lag) or found.are_more_called_for:
        return turns
    return replace(
        turns,
        more_arriving=turns.more_arriving or None,
        more_lag=turns.more_lag or None,
        is_only_estimated=True,
    )


def _troubles(status: Mapping[str, Any]) -> Iterator[str]:
    for each in status.get("conditions") or ():
        if each.get("type") in OF_READING and each.get("status") == "True":
            yield f"{each['type']} ({each.get('reason')}): {each.get('message')}"


# --- for people


def page(found: Explanation) -> list[str]:
    """All of it, as lines of text."""
    head = f"{found.namespace}/{found.name}"
    if found.said is None or found.replicas is None:
        return [f"{head} · {_UNSAID}", *found.troubles, *_what_if(found)]
    said = found.said
    lines = [
        " · ".join(
            (head, counted(found.replicas, "consumer"), str(said.get("objective", _NOTHING)))
        ),
        f"{said.get('reason', _NOTHING)}: {said.get('message', _NOTHING)}",
        *_followed(found, said),
        *found.troubles,
        f"{_figures(said)}.",
        "",
        *_turns(found),
        *_what_if(found),
    ]
    return [*lines, "", *_decisions(said)]


def _followed(found: Explanation, said: Mapping[str, Any]) -> Iterator[str]:
    yield _MODES[found.policy.mode]
    instead, wanted = said.get("instead"), said.get("wanted")
    if instead:
        yield sentence(f"this is not followed: {instead}")
    if wanted is not None and wanted != found.replicas:
        how = "there would be" if instead or found.policy.mode is not Mode.AUTO else "there will be"
        yield f"By it {how} {counted(wanted, 'consumer')}."


def _figures(said: Mapping[str, Any]) -> str:
    parts = [f"{_number(said.get('lag'))} events wait"]
    if said.get("behindSeconds"):
        parts.append(f"the oldest for {seconds_text(said['behindSeconds'])}")
    for key, text in (
        ("arriving", "arrive"),
        ("handling", "are handled"),
        ("perConsumer", "is what one consumer can handle"),
    ):
        if said.get(key) is not None:
            parts.append(f"{rate_text(said[key])}/s {text}")
    if said.get("startSeconds") is not None:
        parts.append(f"a new consumer takes {seconds_text(said['startSeconds'])} to join")
    drain = _drain_s(said)
    if drain:
        parts.append(f"at this pace nothing waits after {seconds_text(drain)}")
    return ", ".join(parts)


def _drain_s(said: Mapping[str, Any]) -> float | None:
    return drain_s(said.get("lag"), said.get("arriving"), said.get("handling"))


def _turns(found: Explanation) -> Iterator[str]:
    yield "What would change it, the other figures as they are:"
    turns, most, replicas = found.turns, found.most, found.replicas or 0
    if turns is None or not (turns.is_known or turns.more_lag is not None):
        yield "  that is not known yet: what arrives, what waits, what one consumer handles."
        return
    more = (
        f"{rate_text(turns.more_arriving)} events/s arrive" if turns.more_arriving else "",
        f"{turns.more_lag:,} events wait" if turns.more_lag else "",
    )
    if 0 in (turns.more_arriving, turns.more_lag):
        yield "  more are called for by what arrives and waits already."
    elif turns.is_only_estimated:
        yield (
            "  more, if consumers do not keep up with what arrives and waits; the operator has not "
            "seen that."
        )
    elif any(more):
        yield f"  more, when about {' or '.join(filter(None, more))}."
    elif most is not None and replicas >= most:
        yield f"  nothing makes it more: {most} is the most that is allowed, or of use."
    if turns.is_known:
        yield from _fewer(turns, found.policy, replicas)


def _fewer(turns: Turns, policy: Policy, replicas: int) -> Iterator[str]:
    if replicas == 1 and policy.min == 0:
        idle = duration_text(max(policy.idle_s, policy.stable_s))
        yield f"  none, when nothing waits and nothing comes for {idle}."
    elif replicas > max(policy.min, 1) and turns.fewer_arriving:
        rate, stable = rate_text(turns.fewer_arriving), duration_text(policy.stable_s)
        yield f"  fewer, when less than about {rate} events/s arrive for {stable} at least."
    elif replicas > max(policy.min, 1):
        yield "  fewer, not before what waits is handled."


def _what_if(found: Explanation) -> Iterator[str]:
    other, decision = found.other, found.what_if
    if other is None:
        return
    yield ""
    yield f"What if the objective were {objective_document_text(other)}:"
    if decision is None:
        yield "  that cannot be worked out: the operator has not said enough of the group yet."
        return
    replicas, calm = found.replicas or 0, decision.inputs.calm
    if decision.replicas != replicas:
        yield f"  {counted(decision.replicas, 'consumer')} at once: {sentence(decision.message)}"
    elif calm is not None and calm < replicas:
        stable = duration_text(other.stable_s)
        yield (
            f"  {counted(max(calm, decision.inputs.least), 'consumer')}, when so many have been "
            f"enough for {stable}: {sentence(decision.message)}"
        )
    else:
        yield f"  as many as there are: {sentence(decision.message)}"


def _decisions(said: Mapping[str, Any]) -> list[str]:
    rows = [_row(each) for each in said.get("decisions") or ()]
    if not rows:
        return ["Nothing was decided yet."]
    count = len(rows)
    head = "The last decision:" if count == 1 else f"The last {count} decisions, the newest last:"
    return [head, *aligned([_HEADS, *rows], _NUMBERS)]


def _row(each: Mapping[str, Any]) -> tuple[str, ...]:
    behind_s = each.get("behindSeconds")
    return (
        str(each.get("time", _NOTHING)),
        str(each.get("before", _NOTHING)),
        str(each.get("to", _NOTHING)),
        str(each.get("reason", _NOTHING)),
        _number(each.get("lag")),
        _NOTHING if behind_s is None else seconds_text(behind_s),
        *(_rate(each.get(key)) for key in ("arriving", "handling", "perConsumer")),
        str(each.get("message", "")),
    )


def _number(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _rate(rate: float | None) -> str:
    return _NOTHING if rate is None else f"{rate_text(rate)}/s"


# --- for programs


def as_document(found: Explanation) -> Document:
    """The same; what is not known is null."""
    said, turns, decision = dict(found.said or {}), found.turns, found.what_if
    return {
        "namespace": found.namespace,
        "name": found.name,
        "mode": str(found.policy.mode),
        "replicas": found.replicas,
        "isFollowed": found.policy.mode is Mode.AUTO and not said.get("instead"),
        "scaling": said or None,
        "drainSeconds": _drain_s(said),
        "troubles": list(found.troubles),
        "wouldChange": None
        if turns is None
        else {
            "moreFromArriving": turns.more_arriving,
            "moreFromLag": turns.more_lag,
            "fewerBelowArriving": turns.fewer_arriving,
            "most": found.most,
        },
        "whatIf": None
        if found.other is None or decision is None
        else {
            "objective": objective_document_text(found.other),
            "replicas": decision.replicas,
            "reason": str(decision.reason),
            "message": sentence(decision.message),
            "bound": None if decision.bound is None else str(decision.bound),
            "needed": decision.inputs.needed,
            "enough": decision.inputs.calm,
        },
    }
