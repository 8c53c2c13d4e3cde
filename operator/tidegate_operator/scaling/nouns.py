"""What the size of a group is decided from, and what is decided: frozen nouns.

Rules: pure; None is what is not known, and never a 0. Times are seconds since 1970 by the
operator's clock, rates are events a second, and a share is between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from tidegate.model import MemberName, PartitionId
from tidegate_operator.scaling.floors import Floor


class Mode(StrEnum):
    """Who decides how many consumers there are."""

    AUTO = "Auto"
    OBSERVE = "Observe"
    EXTERNAL = "External"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants. Exactly one of the three objectives is there."""

    min: int = 1
    max: int = 16
    mode: Mode = Mode.AUTO
    # No event waits longer than this.
    within_s: float | None = 60.0
    # What waits is handled within this.
    drain_within_s: float | None = None
    # So many waiting events for each consumer.
    lag_per_replica: int | None = None
    # Times at which there are to be at least so many.
    floors: tuple[Floor, ...] = ()
    # How many there are to be when the lag has not been known for so long; None: as they are.
    fallback: int | None = None
    fallback_after_s: float = 180.0
    # Fewer only where fewer have been enough for so long, none only where nothing came for so long.
    stable_s: float = 180.0
    idle_s: float = 300.0


@dataclass(frozen=True, slots=True)
class PartitionSample:
    """A partition, as it was seen in one look."""

    lag: int | None = None
    behind_s: float | None = None
    arriving: float | None = None
    handling: float | None = None
    busy: float | None = None
    # Its part of the share of the time in which any handler of its owner worked.
    utilization: float | None = None
    owner: MemberName | None = None
    # The last event that it has and when that was told, and the last that is handled.
    end: int | None = None
    end_at: float | None = None
    handled: int | None = None
    # Its handler fails or hangs, and its owner says so.
    is_stuck: bool = False
    # Its source refuses to be read, and its owner says so.
    is_unread: bool = False
    # Nobody is to read it.
    is_paused: bool = False
    # It has a checkpoint: what comes while nobody reads is not passed over.
    is_begun: bool = True


def _no_partitions() -> Mapping[PartitionId, PartitionSample]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Sample:
    """A group, as it was seen in one look."""

    at: float
    partitions: Mapping[PartitionId, PartitionSample] = field(default_factory=_no_partitions)
    # How many are asked for now, and how many have joined and live.
    replicas: int = 0
    members: int = 0
    # Nothing is on its way: no rollout, nobody who joins, nothing that is handed over.
    is_settled: bool = True


class Reason(StrEnum):
    """Why there are to be so many, in one word."""

    # More.
    ARRIVALS = "MoreArrives"
    BACKLOG = "BacklogTooLong"
    WOKEN = "EventsAreThere"
    BEGINNING = "CheckpointsToBegin"
    FLOOR = "Floor"
    FALLBACK = "Fallback"
    # Fewer.
    FEWER = "FewerAreEnough"
    IDLE = "NothingComes"
    NO_GAIN = "StepGainedNothing"
    DOWNSTREAM = "DownstreamIsSlower"
    # As they are.
    ENOUGH = "AsNeeded"
    HELD = "MoreAreOfNoUse"
    WAITING = "WaitsToShrink"
    UNKNOWN = "LagUnknown"
    LEARNING = "NotYetMeasured"
    BOUNDS = "Bounds"


# Those with which the number changes.
CHANGES = frozenset(
    (
        Reason.ARRIVALS, Reason.BACKLOG, Reason.WOKEN, Reason.BEGINNING, Reason.FLOOR,
        Reason.FALLBACK, Reason.FEWER, Reason.IDLE, Reason.NO_GAIN, Reason.DOWNSTREAM,
        Reason.BOUNDS,
    )
)  # fmt: skip


class Bound(StrEnum):
    """What keeps more consumers from being asked for, or from being of use."""

    MAX = "max"
    PARTITIONS = "partitions"
    PARTITION = "partition"
    NO_GAIN = "noGain"
    DOWNSTREAM = "downstream"


@dataclass(frozen=True, slots=True)
class Spell:
    """Since when something has been so, and when it was so last."""

    since: float
    until: float

    def lasts(self, now: float, seconds: float) -> bool:
        """Whether it has been so for as long."""
        return now - self.since >= seconds

    def is_over(self, now: float, seconds: float) -> bool:
        """Whether it has not been so for as long."""
        return now - self.until > seconds


@dataclass(frozen=True, slots=True)
class Inputs:
    """The figures that a decision was made from."""

    replicas: int = 0
    members: int = 0
    arriving: float | None = None
    handling: float | None = None
    lag: int | None = None
    behind_s: float | None = None
    # Of how many partitions the lag is known, and how many there are.
    known: int = 0
    partitions: int = 0
    # What one consumer handles when it has nothing else to do.
    per_member: float | None = None
    # As many consumers as there are have handled as much as arrives, while nothing waited.
    is_proven: bool = False
    # How long a new consumer takes to join.
    start_s: float = 0.0
    # How many are needed, before floors and bounds; and how many would do without haste.
    needed: int | None = None
    calm: int | None = None
    least: int = 0
    most: int = 0
    # What was not believed, in words.
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """How many consumers there are to be, and why."""

    replicas: int
    reason: Reason
    message: str
    inputs: Inputs = Inputs()
    # What stops the objective from being kept, where something does.
    bound: Bound | None = None
    # Partitions that one consumer alone cannot keep up with.
    bound_partitions: tuple[PartitionId, ...] = ()
    # For how long events have waited, and as many consumers as there may be are too few for them.
    shortage: Spell | None = None
