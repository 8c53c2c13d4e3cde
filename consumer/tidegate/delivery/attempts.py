"""What to do with a batch after each success and failure of the handler. Pure.

    todo = begin(len(events))
    step = next_step(policy, todo)             # Give(0, 500, attempt=1)
    todo = failed(policy, todo)                # or done(todo)
    step = next_step(policy, todo)             # Give(0, 500, attempt=2), and so on

Rules:
- Ranges are given from left to right, so that what is done is always a beginning of the batch.
- A batch that failed in all its attempts is split in halves. A half that fails is split at once,
  down to one event, which then has all attempts of its own before it is put aside: an outage of
  what the handler writes to shall not look like a poison event sooner than it must.
- Only a single event is ever put aside, and only on request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.delivery.policy import OnFailure, Policy


@dataclass(frozen=True, slots=True)
class Todo:
    """What is left of a batch: ranges from left to right, the first of them in its attempts."""

    ranges: tuple[tuple[int, int], ...]
    failures: int = 0  # of the first range
    is_split: bool = False

    @property
    def done(self) -> int | None:
        """How many events from the beginning are done; None when all are."""
        return self.ranges[0][0] if self.ranges else None


@dataclass(frozen=True, slots=True)
class Give:
    """Call the handler with events[first:end]."""

    first: int
    end: int
    attempt: int


@dataclass(frozen=True, slots=True)
class PutAside:
    """Write events[index] as a dead letter, then say `done`."""

    index: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Halt:
    """Nothing more is done in this partition."""

    failures: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The batch is done."""


Step = Give | PutAside | Halt | Finished


def begin(count: int) -> Todo:
    return Todo(((0, count),) if count else ())


def next_step(policy: Policy, todo: Todo) -> Step:
    """What to do now."""
    if not todo.ranges:
        return Finished()
    first, end = todo.ranges[0]
    is_used_up = todo.failures >= policy.attempts
    if is_used_up and policy.on_failure is OnFailure.HALT:
        return Halt(todo.failures)
    if is_used_up and policy.on_failure is OnFailure.DEAD_LETTER:
        return PutAside(first, todo.failures)
    return Give(first, end, todo.failures + 1)


def done(todo: Todo) -> Todo:
    """The first range was handled, or put aside."""
    return replace(todo, ranges=todo.ranges[1:], failures=0)


def done_until(todo: Todo, index: int) -> Todo:
    """The handler said itself that all before `index` is done, whatever becomes of the rest."""
    first, end = todo.ranges[0]
    if not first < index <= end:
        return todo
    if index == end:
        return done(todo)
    return replace(todo, ranges=((index, end), *todo.ranges[1:]), failures=0)


def single_out(todo: Todo) -> Todo:
    """It is known that the first event of the first range is what failed: it is a range alone."""
    first, end = todo.ranges[0]
    if end - first == 1:
        return todo
    return replace(todo, ranges=((first, first + 1), (first + 1, end), *todo.ranges[1:]))


def parted(todo: Todo, most: int) -> Todo:
    """Limit the first range to `most` events; the rest of it becomes the next range."""
    if not todo.ranges:
        return todo
    first, end = todo.ranges[0]
    middle = min(first + most, end)
    if middle == end:
        return todo
    return replace(todo, ranges=((first, middle), (middle, end), *todo.ranges[1:]))


def failed(policy: Policy, todo: Todo) -> Todo:
    """The handler failed on the first range."""
    first, end = todo.ranges[0]
    failures = todo.failures + 1
    is_splitting = policy.on_failure is OnFailure.DEAD_LETTER and end - first > 1
    if not is_splitting or (not todo.is_split and failures < policy.attempts):
        return replace(todo, failures=failures)
    middle = (first + end) // 2
    return Todo(((first, middle), (middle, end), *todo.ranges[1:]), 0, is_split=True)


def pause_s(policy: Policy, before: Todo, after: Todo, dice: float) -> float:
    """How long to wait after a failure: not at all where the batch was split."""
    if before.ranges != after.ranges:
        return 0.0
    return policy.backoff.pause_s(after.failures, dice)
