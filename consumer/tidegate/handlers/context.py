"""What a handler is given beside the events.

Rules: one for each opening of a partition; everything public here is for users and documented in
docs/handlers.md, and cannot be assigned. What starts with an underscore is told by `calls` and
`partition` alone. A plain
function uses it from its thread while the loop waits for it, so nothing here is locked. One that
is given up goes on beside the loop: the state itself sees to it that nothing of that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.delivery.state import State, Undone
from tidegate.error_text import one_line
from tidegate.model import PartitionId, Position
from tidegate.ports import SourceEvent

# Characters of what a message shows of a value.
_SHOWN = 200


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
        self._about = about
        self._partition = partition
        self._epoch = epoch
        self._position = self._checkpointed = position
        self._attempt = 1
        self._memory: dict[str, Any] = {}
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
        return f"<context of partition {self._partition}, epoch {self._epoch}>"

    @property
    def member(self) -> str:
        return self._about.member

    @property
    def group(self) -> str:
        return self._about.group

    @property
    def source(self) -> str:
        return self._about.source

    @property
    def partition(self) -> PartitionId:
        return self._partition

    @property
    def epoch(self) -> int:
        """Rises with every owner: a sink that keeps the highest can refuse a late one."""
        return self._epoch

    @property
    def position(self) -> Position:
        """Everything up to here is handled."""
        return self._position

    @property
    def checkpointed(self) -> Position:
        """Everything up to here is in a checkpoint, and is never given again."""
        return self._checkpointed

    @property
    def attempt(self) -> int:
        """The number of this attempt at these events, from 1."""
        return self._attempt

    @property
    def memory(self) -> dict[str, Any]:
        """Lives as long as this process has the partition; nothing of it is stored."""
        return self._memory

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
        index = self._place_of(event)
        # Ours, whatever the caller made of the one that it was given.
        event = self._events[index]
        if not is_place(event):
            # The rest of its transaction has the same place: the last of it is the one to mark.
            return
        self._is_due = True
        state = None
        self._commit()
        if self._state is not None:
            state = self._state.encoded()
        self._mark = Mark(event.position, event.enqueued_at, index + 1, state)

    def _place_of(self, event: SourceEvent) -> int:
        """Which of the events of this call it is."""
        for index, given in enumerate(self._events):
            if given is event:
                return index
        wanted = getattr(event, "position", None)
        for index, given in enumerate(self._events):
            if given.position == wanted and is_place(given):
                return index
        raise ValueError(
            f"context.checkpoint({one_line(repr(event), _SHOWN)}): this is not one of the events "
            "of this call. Pass one of them, or nothing"
        )

    # --- told by those who call

    def _begin(self, events: Sequence[SourceEvent], attempt: int) -> None:
        self._settle()
        self._events = events
        self._attempt = attempt
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
        if self._memory:
            # A copy: threads of the user's own may change it meanwhile.
            for kept in list(self._memory.values()):
                if issubclass(type(kept), Undone):
                    kept.call_ended(counts=counts)
