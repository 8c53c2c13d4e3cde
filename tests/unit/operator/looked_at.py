"""A group that is looked at again and again: its lag, its status and its Events, look by look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.model import Checkpoint, Figures, PartitionEnd, Position
from tidegate.sources.start import Start
from tidegate_operator.condition import Condition, conditions_in
from tidegate_operator.events import Notice, Passing, events_of
from tidegate_operator.lag import GroupLag, lag_of_group
from tidegate_operator.model import (
    ContainerFacts,
    Ended,
    Ends,
    Failure,
    Observation,
    PodFacts,
    Steps,
)
from tidegate_operator.status import status_of
from unit.operator.observed import NOW, SERVER_NOW, Seen, group, pod, presence

NO_STEPS = Steps()


@dataclass
class Looks:
    """What is told of a group at each look."""

    seen: Seen
    start: Start = field(default_factory=Start)
    failures: tuple[Failure, ...] = ()
    ends: Ends | None = None
    lag: GroupLag | None = None
    status: Mapping[str, Any] | None = None
    steps: Steps | None = None
    notices: tuple[Notice, ...] = ()
    passing: Passing | None = None

    def observe(self) -> Observation:
        return replace(self.seen.look(), failures=self.failures, ends=self.ends)

    def look(self, after_s: float = 0.0, steps: Steps = NO_STEPS) -> Looks:
        """Looks again, so much later."""
        self.seen.now += after_s
        observation = self.observe()
        self.lag = lag_of_group(observation, self.start, self.lag)
        status = status_of(observation, steps, self.lag, self.status)
        self.notices, self.passing = events_of(
            self.status, status, self.steps, steps, self.passing, self.seen.now
        )
        self.status, self.steps = status, steps
        return self

    def restart(self) -> Looks:
        """Another operator looks from now on: it knows what the resource says."""
        self.lag = self.steps = self.passing = None
        return self

    def fail(self, reason: str, message: str = "What, to whom. Do this.") -> Looks:
        self.failures = (Failure(reason, message, NOW),)
        return self

    def until_told(self) -> list[tuple[str, str]]:
        """The Events of this look, or the first of those that follow while nothing passes."""
        while self.passing is not None:
            assert self.events == []
            self.look(after_s=1.0)
        return self.events

    # --- what is said

    @property
    def told(self) -> Mapping[str, Any]:
        assert self.status is not None
        return self.status

    def condition(self, type: str) -> Condition:
        return conditions_in(self.told)[type]

    def says(self, type: str) -> tuple[str, str]:
        """The status and the reason of a condition."""
        found = self.condition(type)
        return str(found.truth), found.reason

    def partition(self, partition: str) -> Mapping[str, Any]:
        states: list[Mapping[str, Any]] = self.told["partitionStates"]
        return next(each for each in states if each["partition"] == partition)

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(str(each.kind), each.reason) for each in self.notices]


def figures(seen: Seen, name: str, partition: str, said: Figures, *, age_s: float = 0.0) -> None:
    """A member has said this of a partition, so long ago."""
    member = seen.members.get(name, presence(name))
    said_at = seen.now - NOW + SERVER_NOW - age_s
    seen.members[name] = replace(
        member, figures={**member.figures, partition: said}, figures_at=said_at
    )


def stored(seen: Seen, partition: str, sequence: int, **more: Any) -> None:
    """A checkpoint stands."""
    seen.checkpoints[partition] = Checkpoint(
        partition, "etag", Position("8", sequence), 3, "nonce", **more
    )


def end(sequence: int, known_at: float = NOW, **more: Any) -> PartitionEnd:
    """What the source says of a partition."""
    return PartitionEnd(sequence, "8", more.pop("enqueued_at", None), known_at, **more)


def waits(name: str, why: str, message: str = "", **facts: Any) -> PodFacts:
    """A pod whose container does not run."""
    container = ContainerFacts(waiting=why, waiting_message=message)
    return pod(name, is_ready=False, container=container, **facts)


def fails(
    name: str, code: int, message: str, *, restarts: int = 3, reason: str = "Error"
) -> PodFacts:
    """A pod whose consumer has ended, and is to begin again."""
    end = Ended(NOW - 20, NOW - 19, reason, code, message)
    container = ContainerFacts(waiting="CrashLoopBackOff", last_end=end, restarts=restarts)
    return pod(name, is_ready=False, container=container)


def with_pod(bad: PodFacts) -> Seen:
    """Two are wanted and one has joined; the other is this one."""
    seen = group(2, 4)
    seen.pods["m1"] = bad
    del seen.members["m1"]
    seen.give_away(["m1"], "m0")
    return seen
