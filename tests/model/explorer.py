"""Explores every state that a system can come to, the nearest first, and keeps how it came there.

Rules:
- The system says what can follow a state, and raises `Broken` where a promise does not hold; the
  way there is then a story, and the shortest that there is.
- A step is marked as a mishap where nobody can count on it to happen, so that from every state the
  goal must be in reach by steps that are none.
"""

from __future__ import annotations

import gc
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

S = TypeVar("S", bound=Hashable)


class Broken(Exception):
    """A promise does not hold; the message says which and why, `told` at which step."""

    def __init__(self, message: str, told: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.told = told


class Step(NamedTuple, Generic[S]):
    """What can happen, and the state after it."""

    told: tuple[str, ...]
    state: S
    is_mishap: bool = False


class System(Protocol[S]):
    """What is explored."""

    def begin(self) -> S: ...

    def steps(self, state: S) -> Iterator[Step[S]]:
        """All that can happen next. Raises Broken, after the steps that hold, with its own."""

    def is_good(self, state: S) -> bool:
        """Whether the system does here what it is for, or the bounds end it here."""


@dataclass(frozen=True)
class Explored:
    """What was found. The story is empty where everything holds."""

    states: int
    steps: int
    broken: str = ""
    story: tuple[str, ...] = ()
    # The limit was reached before the end.
    is_cut: bool = False

    def __str__(self) -> str:
        found = [f"{self.states:,} states, {self.steps:,} steps"]
        if self.is_cut:
            found.append("cut off at the limit")
        if self.broken:
            found += [f"broken: {self.broken}", *(f"  {line}" for line in self.story)]
        return "\n".join(found)


class _Paths(Generic[S]):
    """Each state that was reached, by number, and the first way there."""

    def __init__(self, first: S) -> None:
        self.states = [first]
        self.numbers = {first: 0}
        self._from = array("i", [-1])
        self._told: list[tuple[str, ...]] = [()]

    def add(self, source: int, step: Step[S]) -> tuple[int, bool]:
        number = self.numbers.get(step.state)
        if number is not None:
            return number, False
        number = self.numbers[step.state] = len(self.states)
        self.states.append(step.state)
        self._from.append(source)
        self._told.append(step.told)
        return number, True

    def story(self, number: int) -> tuple[str, ...]:
        lines: list[str] = []
        while number > 0:
            lines.append(" ".join(self._told[number]))
            number = self._from[number]
        return tuple(reversed(lines))


def explore(system: System[S], limit: int, *, is_live: bool = True) -> Explored:
    """Every state, breadth first, up to a limit; and whether good ones stay in reach of all."""
    gc.disable()  # there is no rubbish here, and looking for it takes a third of the time
    try:
        return _explore(system, limit, is_live=is_live)
    finally:
        gc.enable()


def _explore(system: System[S], limit: int, *, is_live: bool) -> Explored:
    paths = _Paths(system.begin())
    queue = deque([0])
    sources, targets = array("i"), array("i")
    count = 0
    while queue:
        number = queue.popleft()
        try:
            for step in system.steps(paths.states[number]):
                count += 1
                target, is_new = paths.add(number, step)
                if is_new:
                    queue.append(target)
                if is_live and not step.is_mishap:
                    sources.append(number)
                    targets.append(target)
        except Broken as broken:
            story = (*paths.story(number), " ".join(broken.told))
            return Explored(len(paths.states), count, str(broken), story)
        if len(paths.states) > limit:
            return Explored(len(paths.states), count, is_cut=True)
    if is_live:
        stuck = _stuck(paths.states, system.is_good, sources, targets)
        if stuck is not None:
            text = "from here nobody can ever read the partition again"
            return Explored(len(paths.states), count, text, paths.story(stuck))
    return Explored(len(paths.states), count)


def _stuck(
    states: list[S], is_good: Callable[[S], bool], sources: array[int], targets: array[int]
) -> int | None:
    """The first state from which no good one can be reached."""
    before: list[list[int]] = [[] for _ in states]
    for source, target in zip(sources, targets, strict=True):
        before[target].append(source)
    reached = bytearray(len(states))
    waiting = [number for number, state in enumerate(states) if is_good(state)]
    for number in waiting:
        reached[number] = 1
    while waiting:
        for source in before[waiting.pop()]:
            if not reached[source]:
                reached[source] = 1
                waiting.append(source)
    stuck = reached.find(0)
    return None if stuck < 0 else stuck
