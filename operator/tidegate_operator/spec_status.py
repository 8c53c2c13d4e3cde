"""The `.status` of a ConsumerGroup, field by field: for the schema and the page of the resource.

Rules: pure. The API server drops whatever is in a status and not here. Everything may be missing:
what is not known is left out, and is not a 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_COUNT = {"format": "int32"}
_LONG = {"format": "int64"}


def _said(text: str, **schema: Any) -> dict[str, Any]:
    return {"help": text, "schema": schema}


class Truth(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class LagKindName(StrEnum):
    """How far a lag can be relied on."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ConditionShape:
    """One thing that is so or not so, since when, and why."""

    type: str = field(metadata=_said("What is said of.", minLength=1, maxLength=64))
    status: Truth = field(metadata=_said("Whether it is so."))
    reason: str | None = field(default=None, metadata=_said("Why, in one word."))
    message: str | None = field(
        default=None, metadata=_said("Why, and what can be done.", maxLength=32768)
    )
    last_transition_time: str | None = field(
        default=None, metadata=_said("Since when it is so.", format="date-time")
    )
    observed_generation: int | None = field(
        default=None, metadata=_said("The generation of the spec that it is about.", **_LONG)
    )


@dataclass(frozen=True, slots=True)
class MemberShape:
    """A consumer."""

    name: str = field(metadata=_said("Its name, which is its pod's."))
    ready: bool | None = field(default=None, metadata=_said("Whether it has joined the group."))
    partitions: int | None = field(
        default=None, metadata=_said("How many partitions it owns.", **_COUNT)
    )
    weight: float | None = field(
        default=None, metadata=_said("Its share of the partitions, measured by the others'.")
    )
    leaving: bool | None = field(
        default=None, metadata=_said("Whether it is giving its partitions away.")
    )


@dataclass(frozen=True, slots=True)
class PartitionShape:
    """A partition."""

    partition: str = field(metadata=_said("The partition."))
    owner: str | None = field(default=None, metadata=_said("The member that owns it."))
    epoch: int | None = field(
        default=None, metadata=_said("Counts its owners; a late one is refused.", **_LONG)
    )
    sequence_number: int | None = field(
        default=None, metadata=_said("Up to which event it is handled.", **_LONG)
    )
    lag: int | None = field(default=None, metadata=_said("Events not yet handled.", **_LONG))
    lag_kind: LagKindName | None = field(
        default=None,
        metadata=_said(
            "`exact`; `estimated`: nothing was handled yet, so it is counted from the start, or it "
            "is counted in the log of a change feed, where deletes count as well; "
            "`unknown`: somebody could not be asked; `lost`: retention has passed the position, "
            "and what is left is counted."
        ),
    )
    behind_s: float | None = field(
        default=None, metadata=_said("How long its oldest event not yet handled has waited.")
    )
    dead_lettered: int | None = field(
        default=None,
        metadata=_said("Events that its owner has put aside since that began.", **_LONG),
    )


@dataclass(frozen=True, slots=True)
class DecisionShape:
    """A decision about the size, with what it was made from."""

    time: str = field(metadata=_said("When.", format="date-time"))
    to: int = field(metadata=_said("How many consumers there were to be.", **_COUNT))
    reason: str = field(metadata=_said("Why, in one word."))
    before: int | None = field(
        default=None, metadata=_said("How many there were to be before.", **_COUNT)
    )
    message: str | None = field(default=None, metadata=_said("Why.", maxLength=320))
    lag: int | None = field(default=None, metadata=_said("Events not yet handled.", **_LONG))
    behind_s: float | None = field(
        default=None, metadata=_said("How long the oldest of them had waited.")
    )
    arriving: float | None = field(default=None, metadata=_said("Events that arrived in a second."))
    handling: float | None = field(
        default=None, metadata=_said("Events that were handled in a second.")
    )
    per_consumer: float | None = field(
        default=None, metadata=_said("Events that one consumer can handle in a second.")
    )


@dataclass(frozen=True, slots=True)
class ScalingShape:
    """Why the group has the size that it has."""

    mode: str = field(metadata=_said("Who decides it: Auto, Observe or External."))
    objective: str = field(metadata=_said("What for, such as within 60s."))
    wanted: int = field(metadata=_said("How many consumers there should be.", **_COUNT))
    reason: str = field(metadata=_said("Why, in one word."))
    message: str | None = field(default=None, metadata=_said("Why.", maxLength=1024))
    instead: str | None = field(
        default=None, metadata=_said("What is done in its place, where it is not followed.")
    )
    before_pause: int | None = field(
        default=None,
        metadata=_said(
            "How many consumers there were before the pause. Where nobody decides the size the "
            "group goes on with as many.",
            **_COUNT,
        ),
    )
    bound: str | None = field(
        default=None,
        metadata=_said(
            "What keeps the objective out of reach: max, partitions, partition (one alone is too "
            "hot), noGain or downstream (more consumers were of no use)."
        ),
    )
    lag: int | None = field(default=None, metadata=_said("Events not yet handled.", **_LONG))
    behind_s: float | None = field(
        default=None, metadata=_said("How long the oldest of them has waited.")
    )
    arriving: float | None = field(default=None, metadata=_said("Events that arrive in a second."))
    handling: float | None = field(
        default=None, metadata=_said("Events that are handled in a second.")
    )
    per_consumer: float | None = field(
        default=None, metadata=_said("Events that one consumer can handle in a second.")
    )
    needed: int | None = field(
        default=None,
        metadata=_said("How many would be asked for if it were to grow now.", **_COUNT),
    )
    enough: int | None = field(
        default=None, metadata=_said("How many would do if nothing else came.", **_COUNT)
    )
    start_s: float | None = field(
        default=None, metadata=_said("How long a new consumer takes to join.")
    )
    of_no_use_above: int | None = field(
        default=None, metadata=_said("More than this were tried, and gained nothing.", **_COUNT)
    )
    of_no_use_until: str | None = field(
        default=None, metadata=_said("Until when that is remembered.", format="date-time")
    )
    decisions: tuple[DecisionShape, ...] | None = field(
        default=None,
        metadata=_said("The last ten, the newest last.", **{"x-kubernetes-list-type": "atomic"}),
    )


@dataclass(frozen=True, slots=True)
class LastBatchShape:
    """The last batch that ended well."""

    time: str = field(metadata=_said("When it ended.", format="date-time"))
    events: int | None = field(default=None, metadata=_said("How many events it had.", **_LONG))
    took_s: float | None = field(default=None, metadata=_said("How long it took."))


@dataclass(frozen=True, slots=True)
class SparkShape:
    """With `engine: spark`."""

    driver: str | None = field(default=None, metadata=_said("The pod of the driver."))
    phase: str | None = field(
        default=None,
        metadata=_said(
            "How the driver stands: starting, running, retrying, stopping, stopped, or why its "
            "container does not run, such as CrashLoopBackOff."
        ),
    )
    application_id: str | None = field(
        default=None, metadata=_said("What Spark calls the application.")
    )
    executors_wanted: int | None = field(
        default=None, metadata=_said("How many executors there are to be.", **_COUNT)
    )
    executors_ready: int | None = field(
        default=None, metadata=_said("How many of them have joined.", **_COUNT)
    )
    last_batch: LastBatchShape | None = field(
        default=None, metadata=_said("The last batch that ended well.")
    )
    failure: str | None = field(
        default=None, metadata=_said("What fails now, and what to do.", maxLength=4096)
    )


@dataclass(frozen=True, slots=True)
class StatusShape:
    """What the operator has seen."""

    observed_generation: int | None = field(
        default=None, metadata=_said("The generation of the spec that this is about.", **_LONG)
    )
    observed_time: str | None = field(
        default=None,
        metadata=_said(
            "When the operator saw the group like this. It is renewed within two minutes. If it "
            "is much older, no operator looks at the group.",
            format="date-time",
        ),
    )
    source: str | None = field(
        default=None, metadata=_said("Where events come from: eventhubs or cosmos.")
    )
    state: str | None = field(default=None, metadata=_said("How it stands, in one word."))
    message: str | None = field(
        default=None, metadata=_said("Why it stands so, by the condition that `state` is of.")
    )
    ready: str | None = field(
        default=None, metadata=_said("Consumers that have joined, of those that are wanted: 4/4.")
    )
    wanted: int | None = field(
        default=None, metadata=_said("How many consumers there are to be.", **_COUNT)
    )
    replicas: int | None = field(
        default=None, metadata=_said("How many consumers there are; for autoscalers.", **_COUNT)
    )
    selector: str | None = field(
        default=None, metadata=_said("The labels of the consumers; for autoscalers.")
    )
    partitions: int | None = field(
        default=None, metadata=_said("How many partitions the source has.", **_COUNT)
    )
    owned: int | None = field(
        default=None, metadata=_said("How many of them have an owner.", **_COUNT)
    )
    unread: int | None = field(
        default=None,
        metadata=_said(
            "How many of them have no reader and should have one, with an owner or without.",
            **_COUNT,
        ),
    )
    lag: int | None = field(
        default=None,
        metadata=_said("Events not yet handled, in all partitions where that is known.", **_LONG),
    )
    lag_kind: LagKindName | None = field(
        default=None,
        metadata=_said("How far it can be relied on: the least of what is said of a partition."),
    )
    lag_partitions: int | None = field(
        default=None, metadata=_said("Of how many partitions it is the sum.", **_COUNT)
    )
    behind: str | None = field(
        default=None, metadata=_said("How long the oldest of them has waited, such as 2s.")
    )
    conditions: tuple[ConditionShape, ...] | None = field(
        default=None,
        metadata=_said(
            "What is so, and why: Ready, Balanced, Scaling, PartitionBound, Stuck, RetentionLoss, "
            "StateBehind, CheckpointsRestored, Paused.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    )
    scaling: ScalingShape | None = field(
        default=None, metadata=_said("Why it has the size that it has.")
    )
    spark: SparkShape | None = field(default=None, metadata=_said("With `engine: spark`."))
    members: tuple[MemberShape, ...] | None = field(
        default=None,
        metadata=_said(
            "The consumers.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    )
    partition_states: tuple[PartitionShape, ...] | None = field(
        default=None,
        metadata=_said(
            "The partitions, where there are at most 128; `kubectl consumergroup partitions` shows "
            "them always.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["partition"]},
        ),
    )
