"""What a handler is given beside the events.

Rules: one for each opening of a partition; everything public here is for users and documented in
docs/handlers.md. What starts with an underscore is told by `calls` and `partition` alone. A plain
function uses it from its thread while the loop waits for it, so nothing here is locked. One that
is given up goes on beside the loop: the state itself sees to it that nothing of that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tidegate.delivery.state import State
from tidegate.model import PartitionId, Position
from tidegate.ports import SourceEvent


@dataclass(frozen=True, slots=True)
class About:
    """What is the same for all partitions of a member."""

    member: str
    group: str
    source: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What the handler said is done: all up to an event, and the state then."""

    position: Position
    enqueued_at: float | None
    done: int  # events of this call
    state: bytes | None


@runtime_checkable
class Undone(Protocol):
    """What our own helpers keep in `memory` that belongs to the state."""

    def call_ended(self, *, counts: bool) -> None:
        """What the state says since the last of these stands, or is as it was before."""


def is_place(event: SourceEvent) -> bool:
    """Whether reading can go on behind it: not so within what was written in one transaction."""
    return bool(getattr(event, "is_place", True))


class Context:
    """A partition that is ours, during a call."""

    def __init__(
        self,
        about: About,
        partition: PartitionId,
        epoch: int,
        position: Position,
        new_state: Callable[[], State],
        wall: Callable[[], float],
    ) -> None:
        self.member = about.member
        self.group = about.group
        self.source = about.source
        self.partition = partition
        # Rises with every owner: a sink that keeps the highest can refuse a late one.
        self.epoch = epoch
        # Everything up to here is handled.
        self.position = position
        # Everything up to here is in a checkpoint, and is never given again.
        self.checkpointed = position
        # Which try at these events this is, from 1.
        self.attempt = 1
        # Lives as long as this process has the partition; nothing of it is stored.
        self.memory: dict[str, Any] = {}
        self._new_state = new_state
        self._state: State | None = None
        # The state as it goes with `position`, where a call was given up after that.
        self._settled: State | None = None
        self._is_given_up = False
        self._wall = wall
        self._events: Sequence[SourceEvent] = ()
        self._is_cancelled = False
        self._is_due = False
        self._mark: Mark | None = None

    def __repr__(self) -> str:
        return f"<context of partition {self.partition}, epoch {self.epoch}>"

    @property
    def state(self) -> State:
        """The partition's own mapping, stored together with the position."""
        if self._state is None:
            self._state = self._new_state()
        return self._state

    @property
    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self._wall()

    @property
    def cancelled(self) -> bool:
        """Whether this call is no longer waited for: return as soon as you can."""
        return self._is_cancelled

    def checkpoint(self, event: SourceEvent | None = None) -> None:
        """Asks for a checkpoint: of all that this call was given, once it has returned; or, with an
        event, of everything up to it, whatever becomes of the rest."""
        if event is None:
            self._is_due = True
            return
        done = self._place_of(event) + 1
        if not is_place(event):
            # The rest of its transaction has the same place: the last of it is the one to mark.
            return
        self._is_due = True
        state = None
        self._commit()
        if self._state is not None:
            state = self._state.encoded()
        self._mark = Mark(event.position, event.enqueued_at, done, state)

    def _place_of(self, event: SourceEvent) -> int:
        """Which of the events of this call it is."""
        for index, given in enumerate(self._events):
            if given is event:
                return index
        wanted = event.position
        for index, given in enumerate(self._events):
            if given.position == wanted and is_place(given):
                return index
        raise ValueError(f"checkpoint({event!r}): it is not one of the events of this call")

    # --- told by those who call

    def _begin(self, events: Sequence[SourceEvent], attempt: int) -> None:
        self._settle()
        self._events = events
        self.attempt = attempt
        self._is_cancelled = self._is_due = False
        self._mark = None

    def _cancel(self) -> None:
        self._is_cancelled = True

    def _settle(self) -> None:
        """A call begins: what was done until now is told together with its position."""
        self._settled = self._state
        if self._state is not None:
            self._state.settle()

    def _give_up(self) -> None:
        """The call does not come back, and goes on changing the state on its thread."""
        self._is_given_up = True
        if self._settled is not None:
            self._settled.give_up()

    @property
    def _kept_state(self) -> State | None:
        """What is stored with `position`; None where nothing was made of the state so far."""
        return self._settled if self._is_given_up else self._state

    def _commit(self) -> None:
        if self._state is not None:
            self._state.commit()
        self._tell_memory(counts=True)

    def _roll_back(self) -> None:
        # What was given up is left to the call that still runs.
        if self._state is not None and not self._is_given_up:
            self._state.roll_back()
        self._tell_memory(counts=False)

    def _tell_memory(self, *, counts: bool) -> None:
        for kept in self.memory.values():
            if isinstance(kept, Undone):
                kept.call_ended(counts=counts)
