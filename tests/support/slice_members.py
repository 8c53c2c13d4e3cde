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


@dataclass(frozen=True, slots=True)
class Place:
    """A checkpoint."""

    sequence: int = -1
    state: bytes | None = None


class Member(Protocol):
    """See the module."""

    def handle(self, events: Sequence[Reading], place: Place) -> Place:
        """Handles what follows a place; the place then."""

    def tidy(self, stands: int) -> None: ...


@dataclass
class PlainMember:
    """A handler of Python."""

    blobs: MemoryBlobs
    memory: dict[str, Any] = field(default_factory=dict)

    def handle(self, events: Sequence[Reading], place: Place) -> Place:
        state = State(PARTITION, place.state, 1 << 20)
        run(self._handle(events, self._context(state, place.sequence)))
        state.commit()
        return Place(events[-1].sequence_number, state.encoded())

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
