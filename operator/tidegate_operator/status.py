"""The `.status` of a ConsumerGroup: what is seen of the group, as the resource shows it. Pure.

Rules:
- What is not known is left out, and is never a 0. Everything is bounded: members and partitions
  are told one by one up to 128, and counted beyond.
- A condition's time is that of its last flip, not that of the last look.
- Lag moves all the time. A status in which nothing else has changed is written now and then, so
  that a group that reads costs the API server little: see `due_after_s`.
- A status has the time at which the operator saw the group, and is written again for that time
  alone. So the age of a status shows that its operator is gone: see freshness.py.

The word in the column STATUS is the first of: Deleting, Paused, what somebody has to mend, a state
behind its position, loss, Stuck, partitions that nobody owns, what the group is about (Joining,
Waiting, Moving), Balanced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidegate.ledger.survey import age_text, owned_by
from tidegate.model import MemberName
from tidegate_operator import conditions as kinds
from tidegate_operator.commands import SELECTOR_LABEL
from tidegate_operator.condition import Condition, conditions_in
from tidegate_operator.freshness import OBSERVED, is_beat_due
from tidegate_operator.kinds import Document
from tidegate_operator.lag import GroupLag
from tidegate_operator.model import Observation, Steps
from tidegate_operator.pod_nouns import Role
from tidegate_operator.readiness import ON_THE_WAY, READY, UNOWNED
from tidegate_operator.scaling import Reason
from tidegate_operator.scaling.report import document_of
from tidegate_operator.spark_status import document_of as document_of_spark
from tidegate_operator.view import GroupView, view_of
from tidegate_operator.wording import age_seconds, time_text

MEMBERS_TOLD = PARTITIONS_TOLD = 128
ROLE_LABEL = "tidegate.dev/role"

# Of lag alone: what a person would call another lag is written after so long, any other after so
# much longer. A lag of less than a moment comes and goes, but a lag of 0 is written soon.
_NOTABLE = 0.1
_MOMENT_S = 5
NOTABLE_EVERY_S = 5.0
_ANY_EVERY_S = 30.0
_WAVERING = frozenset((Reason.ENOUGH, Reason.WAITING, Reason.LEARNING))
# What an operator that has just begun does not know yet, and lets stand; figures, which are soon no
# longer true, only as long as nothing keeps them from being known.
_LEDGERS = ("partitions", "owned", "unread", "scaling")
# What is told at once of a partition.
_OF_PARTITIONS = ("partition", "owner", "epoch", "lagKind", "deadLettered")
_MOVING = frozenset(("lag", "behind", "message", OBSERVED))
_FIGURES = ("lag", "lagKind", "lagPartitions", "behind", "partitionStates")


def status_of(
    observation: Observation,
    steps: Steps,
    lag: GroupLag,
    before: Mapping[str, Any] | None,
    source: str = "eventhubs",
) -> Document:
    """The status as it is now; `before` is the one before it, from which times are kept."""
    view = view_of(observation, steps, lag)
    known = conditions_in(before or {})
    told = {each.type: each for each in kinds.conditions(view, known)}
    found = [_timed(each, known.get(each.type), observation) for each in told.values()]
    total = lag.total
    status: Document = {
        "observedGeneration": observation.generation,
        OBSERVED: time_text(observation.now),
        "source": source,
        "state": state_of(told),
        "message": shown_of(told).message,
        "ready": f"{view.ready}/{view.wanted}",
        "wanted": view.wanted,
        "replicas": sum(bool(pod.revision) for pod in view.pods),
        "selector": _selector(observation),
        "lag": total.lag.events if total.partitions else None,
        "lagKind": str(total.lag.kind) if total.partitions else None,
        "lagPartitions": total.known if total.partitions else None,
        "behind": _behind_text(lag),
        "conditions": [each.as_document() for each in found],
        "scaling": document_of(steps.scaling) if steps.scaling is not None else None,
        "spark": document_of_spark(view, observation.spark) if observation.spark else None,
        "members": list(_members(view, before or {}))[:MEMBERS_TOLD],
    }
    if view.partitions:
        status["partitions"] = len(view.partitions)
        if view.listing is not None:
            status["owned"] = len(view.owners)
            unread = {*view.unowned, *view.unread} if view.wanted else ()
            status["unread"] = len(unread)
        if len(view.partitions) <= PARTITIONS_TOLD:
            status["partitionStates"] = list(partition_states(view))
    status = _known(status)
    if observation.ledger is None and before is not None:
        lasting = _LEDGERS if observation.failures else (*_LEDGERS, *_FIGURES)
        kept = {key: before[key] for key in lasting if key in before}
        if not observation.failures and OBSERVED in before:
            # Its figures are of that time.
            status[OBSERVED] = before[OBSERVED]
        return kept | status
    return status


def _selector(observation: Observation) -> str:
    """The labels of pods that are members, for autoscalers."""
    found = f"{SELECTOR_LABEL}={observation.key.name}"
    return found if observation.spark is None else f"{found},{ROLE_LABEL}={Role.EXECUTOR}"


def state_of(conditions: Mapping[str, Condition]) -> str:
    """The one word, of the condition that is shown."""
    shown = shown_of(conditions)
    if shown.reason == "PodsNotReady":
        return "NotReady"
    return shown.type if shown.type in (kinds.LOSS, kinds.STUCK) else shown.reason


def shown_of(conditions: Mapping[str, Condition]) -> Condition:
    """The condition whose word and message stand for the group."""
    ready = conditions[READY]
    is_of_the_ledger = ready.reason in ON_THE_WAY or ready.reason == UNOWNED
    if ready.reason in ("Deleting", "Paused") or not (ready.is_true or is_of_the_ledger):
        return ready
    for type in (kinds.BEHIND, kinds.LOSS, kinds.STUCK):
        if conditions[type].is_true:
            return conditions[type]
    is_up = ready.is_true and ready.reason != "ScaledToZero"
    return conditions[kinds.BALANCED] if is_up else ready


def _behind_text(lag: GroupLag) -> str | None:
    behind_s = lag.total.lag.behind_s
    return None if behind_s is None or not lag.total.partitions else age_text(behind_s)


def _timed(found: Condition, before: Condition | None, observation: Observation) -> Condition:
    """With the time of its last flip."""
    is_kept = before is not None and before.truth is found.truth and before.since
    since = before.since if before is not None and is_kept else time_text(observation.now)
    return replace(found, since=since, generation=observation.generation)


def _members(view: GroupView, before: Mapping[str, Any]) -> Iterator[Document]:
    """Pods, and members that are no pods."""
    listing = view.listing
    has_begun = view.observation.ledger is not None
    known = {} if has_begun else {each.get("name"): each for each in before.get("members") or ()}
    alive = {n for n, each in listing.members.items() if each.is_alive} if listing else set()
    owned: Mapping[MemberName, int] = owned_by(listing) if listing is not None else {}
    pods = {pod.name: pod for pod in view.observation.pods}
    for name in sorted({*(pod.name for pod in view.pods), *alive}):
        presence = listing.members.get(name) if listing is not None else None
        roster = listing.roster if listing is not None else None
        is_leaving = (
            name in view.steps.leaving
            or (presence is not None and presence.is_leaving)
            or (name in pods and pods[name].is_deleting)
            or (roster is not None and name in roster.leaving)
        )
        said = known.get(name, {})
        yield _known(
            {
                "name": name,
                "ready": pods[name].is_ready if name in pods else name in alive,
                "partitions": owned.get(name, 0) if listing is not None else said.get("partitions"),
                "weight": presence.weight if presence is not None else said.get("weight"),
                "leaving": is_leaving,
            }
        )


def partition_states(view: GroupView) -> Iterator[Document]:
    for partition, known in view.lag.partitions.items():
        row = view.listing.ownerships.get(partition) if view.listing is not None else None
        lag = known.lag
        yield _known(
            {
                "partition": partition,
                "owner": view.owners.get(partition),
                "epoch": row.epoch if row is not None else None,
                "sequenceNumber": known.handled,
                "lag": lag.events,
                "lagKind": str(lag.kind),
                "behindSeconds": None if lag.behind_s is None else round(lag.behind_s, 1),
                "deadLettered": known.put_aside,
            }
        )


def _known(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None}


# --- when it is worth writing


def due_after_s(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> float | None:
    """The shortest time between the writes of `before` and `after`; None if they are equal."""
    if before is None or _lasting(before) != _lasting(after):
        return 0.0
    if is_beat_due(before, after):
        return 0.0
    if {**before, OBSERVED: None} == {**after, OBSERVED: None}:
        return None
    return NOTABLE_EVERY_S if _is_notable(before, after) else _ANY_EVERY_S


def _is_notable(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a person would say that the lag has changed."""
    waited, waits = age_seconds(before.get("behind")), age_seconds(after.get("behind"))
    had, has = before.get("lag"), after.get("lag")
    if waited is None or waits is None or had is None or has is None:
        return (waited, had) != (waits, has)
    if has and max(waited, waits) < _MOMENT_S:
        return False
    is_longer = abs(waits - waited) > max(_NOTABLE * max(waits, waited), _MOMENT_S)
    return is_longer or abs(has - had) > _NOTABLE * max(has, had)


def _lasting(status: Mapping[str, Any]) -> Document:
    """A status without what moves all the time: figures of lag, and the words of conditions."""
    lasting = {key: value for key, value in status.items() if key not in _MOVING}
    if "spark" in lasting:
        lasting["spark"] = {k: v for k, v in lasting["spark"].items() if k != "lastBatch"}
    lasting["conditions"] = {
        type: (each.truth, each.reason, each.generation)
        for type, each in conditions_in(status).items()
    }
    size = status.get("scaling") or {}
    lasting["scaling"] = (
        *(size.get(key) for key in ("mode", "objective", "wanted", "instead", "bound")),
        # Whether it is enough or would do with fewer wavers with every look.
        None if size.get("reason") in _WAVERING else size.get("reason"),
        [(each.get("time"), each.get("to")) for each in size.get("decisions") or ()],
    )
    lasting["partitionStates"] = [
        tuple(each.get(name) for name in _OF_PARTITIONS)
        for each in status.get("partitionStates") or ()
    ]
    return lasting
