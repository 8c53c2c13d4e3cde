"""Slices for Python handlers: the same blobs, bytes and state as those of a pipeline on Spark.

    ACTIVITY = Slices("activity", Shape("home", ("kind",), sums=("count",)), SliceBlobs(...))

    async def handle(events, context):
        counts = await ACTIVITY.of(context, events)
        for event in events:
            reading = event.body_as_json()
            counts.add(event, reading["at"], (reading["home"], reading["kind"]), (1,))
        await counts.write()

    async def on_time(context):
        await ACTIVITY.tidy(context)

Rules:
- A call's slices are written before it returns, so that position and slices belong together: give
  the handler batches of a second or two (`batch.maxWaitSeconds`).
- What is in memory counts only where it ends exactly where the call begins. In every other case (a
  call failed, an owner in between) the slices are read from their blobs again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tidegate.slices.life import Held, OpenSlice, Trail, named_in, naming, state_key
from tidegate.slices.naming import PROJECTION, Version
from tidegate.slices.opening import SUFFIXES, Blobs, stored_slice
from tidegate.slices.plain import Number, Place, PlainContents, plain_from
from tidegate.slices.shape import Shape
from tidegate.slices.together import together


class Event(Protocol):
    """What is used of an event."""

    @property
    def sequence_number(self) -> int: ...


class Slices:
    """One output of a handler."""

    def __init__(
        self, output: str, shape: Shape, blobs: Blobs, lateness_s: int | None = None
    ) -> None:
        self.shape = shape.checked()
        self.lateness_s = shape.size_s if lateness_s is None else lateness_s
        self._output = output
        self._blobs = blobs

    async def of(self, context: Any, events: Sequence[Event]) -> Counts:
        """The slices of the partition, for the events of a call."""
        memory = context.memory.pop(self._key, None)
        after = context.position.sequence
        if memory is None or memory.held.through != after:
            memory = await self._taken_over(context, after)
        return Counts(self, context, memory, events[-1].sequence_number)

    async def tidy(self, context: Any) -> None:
        """Removes versions that no checkpoint needs any more: for `on_time`."""
        memory: _Memory | None = context.memory.get(self._key)
        if memory is None:
            return
        partition, trail = context.partition, memory.trail
        gone = trail.removable(context.checkpointed.sequence)
        await self._blobs.remove([Version(partition, *place) for place in gone], SUFFIXES)
        for start, end in gone:
            trail.gone(start, end)

    @property
    def _key(self) -> str:
        return state_key(self._output)

    async def _taken_over(self, context: Any, after: int) -> _Memory:
        memory = _Memory(Held(after))
        named = named_in(context.state.peek(self._key), context.partition)
        slices = {}
        for start in named:
            opened = await self.open(context, memory, start)
            assert opened is not None  # or it is a SliceError
            slices[start] = opened
        memory.held = Held(after, slices)
        return memory

    async def open(
        self, context: Any, memory: _Memory, start: int
    ) -> OpenSlice[PlainContents] | None:
        """A slice from its blobs: exactly what belongs to the place where the call begins."""
        named = named_in(context.state.peek(self._key), context.partition).get(start)
        slice_ = Version(context.partition, start, 0)
        after = memory.held.through
        stored = await stored_slice(self._blobs, slice_, after, named, memory.trail)
        if stored is None:
            return None
        version, data = stored
        return OpenSlice(version.end, plain_from(data).shaped(self.shape))

    async def write(
        self, context: Any, memory: _Memory, news: dict[int, OpenSlice[PlainContents]], through: int
    ) -> None:
        """Writes the slices with news; the state names them then."""
        partition = context.partition
        files = [
            (version, one.contents.encoded(version))
            for version, one in (
                (Version(partition, start, one.end), one) for start, one in news.items()
            )
        ]
        await together(self._blobs.put(version, PROJECTION, data) for version, data in files)
        held = memory.held.advanced(news, through, self.lateness_s)
        for version, _ in files:
            memory.trail.has(version)
        memory.trail.forget_closed(held.slices)
        memory.held = held
        context.memory[self._key] = memory
        context.state[self._key] = naming(held, memory.trail)


class _Memory:
    """What is known of a partition between calls."""

    def __init__(self, held: Held[PlainContents]) -> None:
        self.held = held
        self.trail = Trail()


class Counts:
    """What one call counts."""

    def __init__(self, slices: Slices, context: Any, memory: _Memory, through: int) -> None:
        self._slices = slices
        self._context = context
        self._memory = memory
        self._through = through
        self._news: dict[int, PlainContents] = {}
        self._ends: dict[int, int] = {}
        self._size_s = slices.shape.size_s

    def add(self, event: Event, at: float, place: Place, values: Sequence[Number]) -> None:
        """Counts an event: when it was, whose and of which kind it is, a value for each column."""
        start = int(at) // self._size_s * self._size_s
        contents = self._news.get(start)
        if contents is None:
            contents = self._news[start] = PlainContents(self._slices.shape)
        contents.add(place, values)
        self._ends[start] = event.sequence_number

    async def write(self) -> None:
        """Writes what was counted. Raises SliceError."""
        written: dict[int, OpenSlice[PlainContents]] = {}
        for start, news in self._news.items():
            before = self._memory.held.slices.get(start)
            if before is None:
                before = await self._slices.open(self._context, self._memory, start)
            contents = PlainContents(self._slices.shape) if before is None else before.contents
            for place, values in news.rows():
                contents.add(place, values)
            written[start] = OpenSlice(self._ends[start], contents)
        await self._slices.write(self._context, self._memory, written, self._through)
