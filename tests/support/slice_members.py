"""Members that read a partition by turns and write its slices, as Spark does and in plain Python.

A member is given all that survives a kill (position, state, blobs) and keeps in memory what does
not. Both count the same events the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol

from support.slice_store import MemoryBlobs, run
from tidegate.delivery.state import State
from tidegate.handlers.context import About, Context
from tidegate.model import Position
from tidegate.slices.counting import Slices
from tidegate.slices.plain import PlainContents
from tidegate.slices.shape import Shape

PARTITION = "3"
SHAPE = Shape(
    "home",
    ("kind",),
    sums=("count", "alarms"),
    least=("least",),
    most=("most",),
    last=("last",),
    flag="alarms",
).checked()


@dataclass(frozen=True, slots=True)
class Reading:
    """An event of the partition."""

    sequence_number: int
    at: int
    home: str
    kind: str
    value: int

    @property
    def values(self) -> tuple[int, ...]:
        return (1, int(self.value > 5), self.value, self.value, self.value)


class Refused(Exception):
    """Whatever else a call does fails."""


@dataclass(frozen=True, slots=True)
class Place:
    """A checkpoint."""

    sequence: int = -1
    state: bytes | None = None


class Member(Protocol):
    """See the module."""

    def begin(self, epoch: int) -> None:
        """The partition is this member's, under an epoch."""

    def handle(self, events: Sequence[Reading], place: Place, *, fails: bool = False) -> Place:
        """Handles what follows a place; the place then. Or fails once all is written."""

    def tidy(self, stands: int) -> None: ...


@dataclass
class PlainMember:
    """A handler of Python."""

    blobs: MemoryBlobs
    memory: dict[str, Any] = field(default_factory=dict)

    def begin(self, epoch: int) -> None:
        # Each opening of a partition has a context of its own.
        self.memory = {}

    def handle(self, events: Sequence[Reading], place: Place, *, fails: bool = False) -> Place:
        def new_state() -> State:
            return State(PARTITION, place.state, 1 << 20)

        position = Position(str(place.sequence), place.sequence)
        context = Context(About("m", "g", "s"), PARTITION, 1, position, new_state, lambda: 0.0)
        context._memory = self.memory
        try:
            run(self._handle(events, context))
            if fails:
                raise Refused
        except BaseException as error:
            context._roll_back()
            if isinstance(error, Refused):
                return place
            raise
        context._commit()
        return Place(events[-1].sequence_number, context.state.encoded())

    async def _handle(self, events: Sequence[Reading], context: Any) -> None:
        counts = await Slices("out", SHAPE, self.blobs).of(context, events)
        for event in events:
            counts.add(event, event.at, (event.home, event.kind), event.values)
        await counts.write()

    def tidy(self, stands: int) -> None:
        context = self._context(State(PARTITION, None, 1 << 20), stands)
        run(Slices("out", SHAPE, self.blobs).tidy(context))

    def _context(self, state: State, sequence: int) -> Any:
        position = Position(str(sequence), sequence)
        return SimpleNamespace(
            partition=PARTITION,
            position=position,
            checkpointed=position,
            state=state,
            memory=self.memory,
        )


def expected(events: Sequence[Reading]) -> dict[int, tuple[int, PlainContents]]:
    """What each slice is to hold in the end, and its last event."""
    found: dict[int, tuple[int, PlainContents]] = {}
    for event in events:
        start = event.at // SHAPE.size_s * SHAPE.size_s
        _, contents = found.setdefault(start, (0, PlainContents(SHAPE)))
        contents.add((event.home, event.kind), event.values)
        found[start] = (event.sequence_number, contents)
    return found
