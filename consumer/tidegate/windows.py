"""Counting in windows of event time, on the state of a partition. Pure.

    minutes = TumblingWindows(size_s=60, lateness_s=30)

    async def handle(events, context):
        windows = minutes.of(context)
        for event in events:
            reading = event.body_as_json()
            slot = windows.slot(reading["at"], reading["home"])
            if slot is not None:
                slot["count"] = slot.get("count", 0) + 1
        await write_due(windows, context)

    async def on_time(context):
        await write_due(minutes.of(context), context)

    async def write_due(windows, context):
        for window in windows.due(context.now):
            await write(f"{context.partition}/{window.start}.json", window.as_json())

Rules:
- All counts are in `context.state`, so they are exact: what a kill undoes is undone with the
  position, and is counted again.
- A window is due again and again while it is open and something was counted in it: the writer
  replaces what it wrote before. Once it is closed it is due a last time, and then forgotten. A kill
  may make the last time come twice, with the same content.
- A window closes when an event `lateness_s` behind its end has been seen in the partition, or, with
  `close_idle_after_s`, when no event came for so long. What comes for it after that is late: there
  is no slot for it, and `late` counts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import floor, inf
from typing import Any, Protocol

from tidegate.delivery.state import State, object_of

# A place in the state is windows/NAME/START/KEY.
_DEPTH = 3


class Partition(Protocol):
    """What a handler's context has of a partition."""

    @property
    def state(self) -> State: ...

    @property
    def now(self) -> float: ...

    @property
    def memory(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a partition, as it is now."""

    start: float
    end: float
    is_closed: bool
    _texts: tuple[tuple[str, bytes], ...] = field(repr=False)

    @property
    def contents(self) -> dict[str, Any]:
        """What was counted, by key. Changing it changes nothing."""
        return {key: json.loads(text) for key, text in self._texts}

    def as_json(self) -> bytes:
        """The contents as JSON, without decoding anything: cheap for many keys."""
        return object_of(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@dataclass(frozen=True, slots=True)
class TumblingWindows:
    """Windows of `size_s` that follow each other. Several of these in one handler need names."""

    size_s: float
    lateness_s: float = 0.0
    write_every_s: float = 2.0
    close_idle_after_s: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.size_s <= 0 or self.lateness_s < 0 or self.write_every_s <= 0:
            raise ValueError("size_s and write_every_s must be above 0, lateness_s not below 0")
        if "/" in self.name:
            raise ValueError(f"name {self.name!r}: write a name without a slash")

    def start_of(self, at: float) -> float:
        """When the window begins that a moment belongs to."""
        return floor(at / self.size_s) * self.size_s

    def is_closed(self, start: float, watermark: float) -> bool:
        return start + self.size_s + self.lateness_s <= watermark

    def of(self, context: Partition) -> PartitionWindows:
        """The windows of the partition that a call is about."""
        known = context.memory.setdefault(f"windows {self.name}", _Memory(context.now))
        return PartitionWindows(self, context.state, known, context.now)


@dataclass(slots=True)
class _Memory:
    """What need not outlive this reading of the partition."""

    last_added_at: float
    # Windows with news that was not written yet, and when each was written last.
    news: set[str] = field(default_factory=set)
    written_at: dict[str, float] = field(default_factory=dict)


class PartitionWindows:
    """The windows of one partition, during one call of the handler."""

    def __init__(self, windows: TumblingWindows, state: State, memory: _Memory, now: float) -> None:
        self._windows = windows
        self._state = state
        self._memory = memory
        self._now = now
        self._front = f"windows/{windows.name}/"
        self._watermark_at = self._front + "watermark"
        self._late_at = self._front + "late"
        self._open_at = self._front + "open"
        # One lookup a call rather than one an event.
        self._watermark: float = state.get(self._watermark_at, -inf)
        self._places: dict[float, str] = {}

    @property
    def late(self) -> int:
        """How many events came after their window was closed, since the state began."""
        return int(self._state.get(self._late_at, 0))

    def slot(self, at: float, key: str) -> dict[str, Any] | None:
        """Where to count what happened at `at` for a key, to be changed in place; None if late."""
        windows, state = self._windows, self._state
        self._memory.last_added_at = self._now
        if at > self._watermark:
            self._watermark = at
            state[self._watermark_at] = at
        start = windows.start_of(at)
        if windows.is_closed(start, self._watermark):
            state[self._late_at] = self.late + 1
            return None
        place = f"{self._places.get(start) or self._open(start)}/{key}"
        found: dict[str, Any] | None = state.get(place)
        if found is None:
            found = state[place] = {}
        return found

    def _open(self, start: float) -> str:
        window = self._places[start] = self._place(start)
        self._memory.news.add(window)
        starts: list[float] = self._state.get(self._open_at, [])
        if start not in starts:
            self._state[self._open_at] = sorted([*starts, start])
        return window

    def _place(self, start: float) -> str:
        return f"{self._front}{start:.15g}"

    def due(self, now: float) -> Iterator[Window]:
        """The windows to write now. Each counts as written when the next is asked for."""
        self._close_idle(now)
        memory = self._memory
        starts: list[float] = list(self._state.peek(self._open_at, ()))
        closed = [start for start in starts if self._windows.is_closed(start, self._watermark)]
        still_open = [start for start in starts if start not in closed]
        due = closed + [start for start in still_open if self._is_due(start, now)]
        by_window = self._keys(due) if due else {}
        for start in due:
            window = self._place(start)
            keys = by_window[window]
            is_closed = start in closed
            texts = tuple((key, self._state.text(place)) for key, place in keys)
            yield Window(start, start + self._windows.size_s, is_closed, texts)
            memory.news.discard(window)
            memory.written_at[window] = now
            self._places.pop(start, None)
            if is_closed:
                self._forget(start, window, keys)

    def _is_due(self, start: float, now: float) -> bool:
        window = self._place(start)
        written_at = self._memory.written_at.get(window)
        if written_at is None:
            return True  # never by us: whoever had the partition before may not have written it
        return window in self._memory.news and now - written_at >= self._windows.write_every_s

    def _keys(self, due: list[float]) -> dict[str, tuple[tuple[str, str], ...]]:
        found: dict[str, list[tuple[str, str]]] = {self._place(start): [] for start in due}
        for place in self._state:
            cut = _nth_slash(place, _DEPTH)
            if cut > 0 and (keys := found.get(place[:cut])) is not None:
                keys.append((place[cut + 1 :], place))
        return {window: tuple(sorted(keys)) for window, keys in found.items()}

    def _forget(self, start: float, window: str, keys: tuple[tuple[str, str], ...]) -> None:
        self._memory.written_at.pop(window, None)
        for _, place in keys:
            del self._state[place]
        starts = [other for other in self._state[self._open_at] if other != start]
        self._state[self._open_at] = starts

    def _close_idle(self, now: float) -> None:
        idle_s = self._windows.close_idle_after_s
        if idle_s is None or now - self._memory.last_added_at < idle_s:
            return
        if self._state.peek(self._open_at, ()) and now - idle_s > self._watermark:
            self._watermark = now - idle_s
            self._state[self._watermark_at] = self._watermark


def _nth_slash(text: str, count: int) -> int:
    """Where the n-th slash is; -1 if there are fewer."""
    at = -1
    for _ in range(count):
        at = text.find("/", at + 1)
        if at < 0:
            return -1
    return at
