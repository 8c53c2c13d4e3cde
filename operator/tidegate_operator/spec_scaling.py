"""What a ConsumerGroup asks for of its size, typed: `spec.scaling`.

Rules: pure. Where wishes contradict each other it is said here, in the words that the API server
gives as well; what can only be seen at work, such as an objective that cannot be reached, is said
by the decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.group_file.durations import Duration
from tidegate.settings import SettingsError
from tidegate_operator.scaling.floors import Floor
from tidegate_operator.scaling.nouns import Mode, Policy

MIN_ABOVE_MAX = "scaling.min is above scaling.max: lower the one or raise the other"
ONE_OBJECTIVE = (
    "write one of within, drainWithin and lagPerReplica: two objectives can contradict each other"
)
FALLBACK_ABOVE_MAX = (
    "scaling.fallback.replicas is above scaling.max: lower the one or raise the other"
)
CRON_ABOVE_MAX = "a number of scaling.cron is above scaling.max: lower the one or raise the other"


@dataclass(frozen=True, slots=True)
class ObjectiveSpec:
    """What the size is for: one of these."""

    within_s: Duration | None = field(
        default=None,
        metadata={"help": "No event waits longer than this, such as `60s`."},
    )
    drain_within_s: Duration | None = field(
        default=None,
        metadata={"help": "Whatever waits is handled within this, such as `5m`."},
    )
    lag_per_replica: int | None = field(
        default=None,
        metadata={"help": "So many waiting events for each consumer, however long they wait."},
    )

    def checked(self) -> ObjectiveSpec:
        given = (self.within_s, self.drain_within_s, self.lag_per_replica)
        if sum(each is not None for each in given) != 1:
            raise SettingsError(ONE_OBJECTIVE)
        return self


@dataclass(frozen=True, slots=True)
class CronSpec:
    """A time at which there are to be at least so many consumers."""

    start: str = field(
        metadata={
            "help": "When it begins, as in cron: minute, hour, day, month and weekday, such as "
            "`0 8 * * 1-5`."
        }
    )
    end: str = field(metadata={"help": "When it ends, written likewise."})
    replicas: int = field(metadata={"help": "The fewest consumers in between."})
    timezone: str = field(
        default="UTC", metadata={"help": "The time zone of both, such as Europe/Berlin."}
    )

    def checked(self) -> CronSpec:
        self.floor.checked()
        return self

    @property
    def floor(self) -> Floor:
        return Floor(self.start, self.end, self.replicas, self.timezone)


@dataclass(frozen=True, slots=True)
class FallbackSpec:
    """How many consumers there are when nobody knows how much waits."""

    replicas: int = field(
        metadata={"help": "At least so many. There are never fewer because of it."}
    )
    after_s: float = field(
        default=180.0, metadata={"help": "The lag must have been unknown for so long."}
    )


@dataclass(frozen=True, slots=True)
class ScalingSpec:
    """How many consumers there may be, and who decides it. `replicas` comes before all of this."""

    min: int = field(
        default=1,
        metadata={"help": "The fewest consumers. With 0 there are none while nothing comes."},
    )
    max: int = field(default=16, metadata={"help": "The most consumers."})
    mode: Mode = field(
        default=Mode.AUTO,
        metadata={
            "help": "`Auto`: the operator decides. `Observe`: it says what it would decide and "
            "changes nothing. `External`: somebody else writes `replicas`, such as an autoscaler."
        },
    )
    objective: ObjectiveSpec = field(
        default_factory=lambda: ObjectiveSpec(within_s=Duration(60)),
        metadata={"help": "What the size is for; `{within: 60s}` unless you write another."},
    )
    cron: tuple[CronSpec, ...] = field(
        default=(), metadata={"help": "Times at which there are to be at least so many."}
    )
    fallback: FallbackSpec | None = field(
        default=None,
        metadata={"help": "How many there are to be while the lag cannot be known."},
    )
    shrink_after_s: float = field(
        default=180.0,
        metadata={"help": "Fewer consumers must have been enough for so long."},
    )
    idle_after_s: float = field(
        default=300.0,
        metadata={"help": "Nothing must have come for so long before there are none."},
    )

    def checked(self) -> ScalingSpec:
        if self.min > self.max:
            raise SettingsError(MIN_ABOVE_MAX)
        if self.fallback is not None and self.fallback.replicas > self.max:
            raise SettingsError(FALLBACK_ABOVE_MAX)
        if any(each.replicas > self.max for each in self.cron):
            raise SettingsError(CRON_ABOVE_MAX)
        return self

    @property
    def policy(self) -> Policy:
        fallback = self.fallback
        return Policy(
            min=self.min,
            max=self.max,
            mode=self.mode,
            within_s=self.objective.within_s,
            drain_within_s=self.objective.drain_within_s,
            lag_per_replica=self.objective.lag_per_replica,
            floors=tuple(each.floor for each in self.cron),
            fallback=fallback.replicas if fallback is not None else None,
            fallback_after_s=fallback.after_s if fallback is not None else 180.0,
            stable_s=self.shrink_after_s,
            idle_s=self.idle_after_s,
        )
