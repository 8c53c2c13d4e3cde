"""How far a partition is handled, told to the member when delivery/cadence.py says so.

Rules: a position is told with the state that came of exactly the events up to it. With checkpoints
by hand, only what the handler marked is told. Within a transaction nothing can be told, so there
handling waits for no checkpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from tidegate.delivery.cadence import Pace
from tidegate.delivery.policy import Policy
from tidegate.handlers.attempt import Ended
from tidegate.handlers.context import Context, is_place
from tidegate.handling import NEVER, Opening, Outcome, Tell
from tidegate.model import Position
from tidegate.ports import SourceEvent

T = TypeVar("T")

# How long what runs when the end is asked for may still take: a write that gets its answer is not
# made again by the next owner.
_LAST_S = 1.0


class Progress:
    """Of one opening of a partition."""

    def __init__(
        self,
        policy: Policy,
        opening: Opening,
        tell: Tell,
        context: Context,
        clock: Callable[[], float],
    ) -> None:
        self._by_hand = policy.checkpoint.by_hand
        self._tell = tell
        self._clock = clock
        self._context = context
        self._stored = opening.state
        self._enqueued_at: float | None = None
        self._pace = Pace(policy.checkpoint, has_state=opening.state is not None)
        # What was handled last shares its place with what comes next: the state has seen it, and
        # no position can say so.
        self._is_between = False
        self._finishing = asyncio.Event()
        self._stands = asyncio.Event()

    @property
    def tell_at(self) -> float:
        return NEVER if self._is_between else self._pace.tell_at

    @property
    def is_finishing(self) -> bool:
        return self._finishing.is_set()

    def finish(self) -> None:
        self._finishing.set()
        self._stands.set()

    def took(self, events: Sequence[SourceEvent], ended: Ended) -> None:
        """An attempt at these events has ended."""
        if not self._by_hand:
            self.advance(events, ended.done, is_due=ended.is_due)
        elif ended.mark is not None:
            mark = ended.mark
            self._context._position = mark.position
            self._tell(Outcome(mark.position, mark.enqueued_at, mark.state or self._stored, True))
        elif ended.is_due and ended.done:
            self._move(events, ended.done)
            self.say(is_due=True)

    def put_aside(self, event: SourceEvent) -> None:
        """An event is a dead letter, and counts as handled."""
        if not self._by_hand:
            self.advance((event,), 1)

    def advance(self, events: Sequence[SourceEvent], count: int, *, is_due: bool = False) -> None:
        """So many of these are handled."""
        if count:
            self._move(events, count)
            if is_due or self._clock() >= self.tell_at:
                self.say(is_due=is_due or self._pace.is_due)

    def state_changed(self) -> None:
        """By a call that had no events."""
        if not self._by_hand:
            self._pace.handled(0)

    def _move(self, events: Sequence[SourceEvent], count: int) -> None:
        last = events[count - 1]
        self._is_between = not is_place(last)
        if not self._is_between:
            self._context._position, self._enqueued_at = last.position, last.enqueued_at
        self._pace.handled(count)

    def say_in_time(self) -> None:
        """Tells what waits to be told, if its time has come."""
        if self._clock() >= self.tell_at:
            self.say(is_due=self._pace.is_due)

    def say_last(self) -> None:
        """Tells what waits to be told, because nothing comes after it."""
        if self._pace.has_news:
            self.say(is_due=False)

    def say(self, *, is_due: bool) -> None:
        if self._is_between:
            return
        position, state = self._context.position, self._context._kept_state
        if state is not None:
            self._pace.has_state = True
        stored = self._stored if state is None else state.encoded()
        self._tell(Outcome(position, self._enqueued_at, stored, is_due))
        self._pace.told(self._clock(), position.sequence, is_due=is_due)

    # --- a budget of duplicates

    def checkpointed(self, position: Position) -> None:
        self._pace.checkpointed(position.sequence)
        self._stands.set()

    async def room(self, count: int) -> bool:
        """Waits until so many events more may be handled; False where all is to end first."""
        while self._pace.must_wait(count) and not self._is_between:
            if self.is_finishing:
                return False
            if self._pace.has_news:
                self.say(is_due=True)
            self._stands.clear()
            await self._stands.wait()
        return True

    async def pause(self, seconds: float) -> None:
        """Waits, but not beyond the end of all."""
        try:
            async with asyncio.timeout(seconds):
                await self._finishing.wait()
        except TimeoutError:
            return

    async def until_end(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of the work; None if it was cancelled: all is to end, and it did not."""
        task = asyncio.ensure_future(work)
        finishing = asyncio.ensure_future(self._finishing.wait())
        try:
            await asyncio.wait([task, finishing], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([task], timeout=_LAST_S)
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=_LAST_S)
        finally:
            finishing.cancel()
            task.cancel()
            # Its error is taken, because asyncio logs one that nobody takes.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task.result() if task.done() and not task.cancelled() else None

    async def end(self) -> None:
        """Waits for the end of all."""
        await self._finishing.wait()
