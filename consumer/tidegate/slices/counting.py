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
- What is in memory counts only where it ends exactly where the call begins, and where the state
  names it. In every other case (a call failed) the slices are read from their blobs again.
- What a call has written that failed then counts nowhere, and is removed as soon as may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from tidegate.delivery.state import Undone
from tidegate.slices.life import Beyond, Held, OpenSlice, Trail, named_in, naming, state_key
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
        memory: _Memory | None = context.memory.get(self._key)
        after = context.position.sequence
        if memory is None:
            memory = context.memory[self._key] = _Memory()
        said = context.state.peek(self._key)
        # What it holds is changed by the call, which may fail.
        held, memory.held = memory.held, None
        if held is None or held.through != after or memory.said != said:
            held = await self._taken_over(context, memory, after)
        memory.now = held
        return Counts(self, context, memory, events[-1].sequence_number)

    async def tidy(self, context: Any) -> None:
        """Removes versions that no checkpoint needs any more: for `on_time`."""
        memory: _Memory | None = context.memory.get(self._key)
        if memory is None:
            return
        partition, trail = context.partition, memory.trail
        stands = context.checkpointed.sequence
        beyond, gone = trail.withdrawable(stands), trail.removable(stands)
        await self._blobs.withdraw(beyond)
        trail.withdrawn(beyond)
        await self._blobs.remove([Version(partition, *place) for place in gone], SUFFIXES)
        for start, end in gone:
            trail.gone(start, end)

    @property
    def _key(self) -> str:
        return state_key(self._output)

    async def _taken_over(self, context: Any, memory: _Memory, after: int) -> Held[PlainContents]:
        memory.trail = Trail(beyond=memory.trail.beyond)
        named = named_in(context.state.peek(self._key), context.partition)
        slices = {}
        for start in {*named, *memory.trail.unseen()}:
            opened = await self.open(context, memory, start, after)
            if opened is not None:
                slices[start] = opened
        return Held(after, slices)

    async def open(
        self, context: Any, memory: _Memory, start: int, after: int
    ) -> OpenSlice[PlainContents] | None:
        """A slice from its blobs: exactly what belongs to the place where the call begins."""
        named = named_in(context.state.peek(self._key), context.partition).get(start)
        slice_ = Version(context.partition, start, 0)
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
        # Before they are written: of a call that fails some may be there, and are to go as well.
        for version, _ in files:
            memory.written[version] = memory.trail.writing(version, (PROJECTION,))
        await together(self._put(memory, version, data) for version, data in files)
        held = memory.now.advanced(news, through, self.lateness_s)
        for version, _ in files:
            memory.trail.has(version)
        memory.trail.forget_closed(held.slices)
        memory.held, memory.said = held, naming(held, memory.trail)
        context.state[self._key] = dict(memory.said)

    async def _put(self, memory: _Memory, version: Version, data: bytes) -> None:
        known = memory.trail.etag(version, PROJECTION)
        etag = await self._blobs.put(version, PROJECTION, data, known)
        memory.written[version] = replace(memory.written[version], files={PROJECTION: etag})


class _Memory(Undone):
    """What is known of a partition between calls, and `now` in one of them."""

    def __init__(self) -> None:
        self.held: Held[PlainContents] | None = None
        self.now: Held[PlainContents] = Held(-1)
        self.said: dict[str, int] | None = None
        self.trail = Trail()
        # By calls of which nobody knows yet whether they count.
        self.written: dict[Version, Beyond] = {}

    def call_ended(self, *, counts: bool) -> None:
        """The context says so, of what its state says as well."""
        if self.written and not counts:
            self.held, self.trail = None, Trail(beyond={**self.trail.beyond, **self.written})
        self.written = {}


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
            before = self._memory.now.slices.get(start)
            if before is None:
                before = await self._slices.open(
                    self._context, self._memory, start, self._memory.now.through
                )
            contents = PlainContents(self._slices.shape) if before is None else before.contents
            for place, values in news.rows():
                contents.add(place, values)
            written[start] = OpenSlice(self._ends[start], contents)
        await self._slices.write(self._context, self._memory, written, self._through)
