"""How events are delivered: the settings, typed, with what each means.

Rules: pure; the defaults lose nothing and decide nothing for the user: a batch that fails is given
again for ever. `help` of a field is what docs/settings.md says of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.settings import SettingsError

# A hand-over waits for the call that runs.
_LONGEST_TARGET_S = 60.0


class OnFailure(StrEnum):
    """What is done with events on which the handler fails again and again."""

    RETRY = "retry"
    DEAD_LETTER = "deadLetter"
    HALT = "halt"


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a failing batch is given again."""

    first_s: float = field(
        default=0.5, metadata={"help": "The wait after the first failure; each next is twice it."}
    )
    most_s: float = field(default=30.0, metadata={"help": "The longest wait."})

    def pause_s(self, failures: int, dice: float) -> float:
        """The wait after so many failures; the dice (0 to 1) takes away up to a half of it."""
        whole = min(self.first_s * 2.0 ** min(failures - 1, 60), self.most_s)
        return whole * (1.0 - dice / 2.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """How many events the handler is given at once."""

    max_events: int = field(default=500, metadata={"help": "The most events in a batch."})
    target_s: float = field(
        default=1.0,
        metadata={
            "help": "The target duration of a call with a batch. The consumer measures the cost of "
            "an event and chooses the size of each batch by it, up to `maxEvents`. 0: always up "
            "to `maxEvents`."
        },
    )
    max_bytes: int = field(
        default=4 << 20,
        metadata={"help": "The most bytes of event bodies in a batch; one event is always given."},
    )
    max_wait_s: float = field(
        default=0.0,
        metadata={"help": "How long a batch may wait to be filled. 0: what is there is given."},
    )


@dataclass(frozen=True, slots=True)
class Cadence:
    """When checkpoints are written."""

    every_s: float = field(
        default=5.0, metadata={"help": "A checkpoint this long after the last, if there is news."}
    )
    every_events: int | None = field(
        default=None, metadata={"help": "And one after so many events of a partition."}
    )
    duplicate_budget: int | None = field(
        default=None,
        metadata={
            "help": "The most events of a partition that may be handled again after a kill. "
            "Batches and checkpoints follow from it, and handling waits for a checkpoint "
            "where it would be exceeded, but not within a transaction of a change feed."
        },
    )
    by_hand: bool = field(
        default=False,
        metadata={"help": "Only what `context.checkpoint()` names counts as handled."},
    )


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """When a partition stops instead of putting more events aside, with `onFailure: deadLetter`."""

    failure_percent: int = field(
        default=50,
        metadata={
            "help": "A partition stops when more than this share of its recent events would be "
            "put aside, once 20 events were handled or put aside. 100: never."
        },
    )
    window_events: int = field(
        default=100, metadata={"help": "How many events of the partition count as recent."}
    )
    probe_every_s: float = field(
        default=30.0,
        metadata={
            "help": "How often a partition that has stopped gives the handler the event that "
            "failed; when the handler takes it, the partition continues."
        },
    )


@dataclass(frozen=True, slots=True)
class Policy:
    """All of it."""

    on_failure: OnFailure = field(
        default=OnFailure.RETRY,
        metadata={
            "help": "`retry`: the batch again, for ever. `deadLetter`: after `attempts`, the "
            "batch is split to find the events that fail, which are put aside. `halt`: after "
            "`attempts`, the partition stands still."
        },
    )
    attempts: int = field(
        default=5,
        metadata={"help": "How often an event is tried before it is put aside, or all halts."},
    )
    timeout_s: float = field(
        default=300.0,
        metadata={"help": "How long one call of the handler may take; then it is told to stop."},
    )
    told_s: float = field(
        default=10.0,
        metadata={
            "help": "How long a handler that was told to stop may take to do so; then its "
            "partition is given away."
        },
    )
    backoff: Backoff = field(
        default_factory=Backoff, metadata={"help": "The waits between attempts."}
    )
    batch: Batch = field(
        default_factory=Batch, metadata={"help": "How many events a call is given."}
    )
    checkpoint: Cadence = field(
        default_factory=Cadence, metadata={"help": "When checkpoints are written."}
    )
    circuit_breaker: CircuitBreaker = field(
        default_factory=CircuitBreaker,
        metadata={
            "help": "When a partition stops instead of putting more events aside, with "
            "`onFailure: deadLetter`."
        },
    )
    max_state_bytes: int = field(
        default=8 << 20,
        metadata={"help": "The most bytes of a partition's state, as it is written."},
    )

    def checked(self) -> Policy:
        """This policy, or SettingsError."""
        batch, checkpoint = self.batch, self.checkpoint
        above_0 = {
            "attempts": self.attempts,
            "timeout_s": self.timeout_s,
            "told_s": self.told_s,
            "backoff.first_s": self.backoff.first_s,
            "batch.max_events": batch.max_events,
            "batch.max_bytes": batch.max_bytes,
            "checkpoint.every_s": checkpoint.every_s,
            "max_state_bytes": self.max_state_bytes,
            "circuit_breaker.failure_percent": self.circuit_breaker.failure_percent,
            "circuit_breaker.window_events": self.circuit_breaker.window_events,
            "circuit_breaker.probe_every_s": self.circuit_breaker.probe_every_s,
        }
        optional = {
            "checkpoint.every_events": checkpoint.every_events,
            "checkpoint.duplicate_budget": checkpoint.duplicate_budget,
        }
        above_0 |= {name: value for name, value in optional.items() if value is not None}
        for name, value in above_0.items():
            if not 0 < value < float("inf"):
                raise SettingsError(f"{name} {value:g}: write a number above 0")
        if self.backoff.most_s < self.backoff.first_s:
            raise SettingsError("backoff.most_s must not be below backoff.first_s")
        if self.circuit_breaker.failure_percent > 100:
            percent = self.circuit_breaker.failure_percent
            raise SettingsError(f"circuit_breaker.failure_percent {percent}: write 1 to 100")
        if not 0 <= batch.target_s <= _LONGEST_TARGET_S:
            most = f"{_LONGEST_TARGET_S:g}"
            raise SettingsError(f"batch.target_s {batch.target_s:g}: write 0 to {most}")
        if not 0 <= batch.max_wait_s <= 60:
            raise SettingsError(f"batch.max_wait_s {batch.max_wait_s:g}: write 0 to 60")
        if checkpoint.duplicate_budget is not None and checkpoint.every_events is not None:
            raise SettingsError("give checkpoint.duplicate_budget or checkpoint.every_events")
        return self

    @property
    def target_s(self) -> float:
        """How long a call should take: well within its time limit. 0: as long as it takes."""
        return min(self.batch.target_s, self.timeout_s / 2)

    @property
    def most_events(self) -> int:
        """The largest batch: a budget of duplicates has room for it and for the one before."""
        budget = self.checkpoint.duplicate_budget
        most = self.batch.max_events
        return most if budget is None else min(most, (budget + 1) // 2)
