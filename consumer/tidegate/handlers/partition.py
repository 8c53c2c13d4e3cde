"""A partition's events on their way to the user's code: the PartitionHandler of `tidegate run`.

Rules: asked to finish, it ends the call that runs and tells how far it came. What was gathered and
not given is dropped: nobody has handled it, and the next owner reads it again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tidegate.delivery.breaker import Breaker
from tidegate.delivery.gathering import Gathering
from tidegate.delivery.state import State, StateError
from tidegate.handlers.batches import Batches, size_of
from tidegate.handlers.blame import CallFailedError
from tidegate.handlers.calls import Calls
from tidegate.handlers.context import Context
from tidegate.handlers.progress import Progress
from tidegate.handlers.telling import Troubles
from tidegate.handlers.tools import Tools
from tidegate.handling import (
    NEVER,
    Close,
    HungError,
    NewHandler,
    Opening,
    PartitionHandler,
    Tell,
)
from tidegate.model import Position
from tidegate.ports import SourceError, SourceEvent

ON_TIME_EVERY_S = 1.0


class PartitionDelivery(PartitionHandler):
    """See the module."""

    def __init__(self, tools: Tools, opening: Opening, tell: Tell) -> None:
        self._tools = tools
        self._code, policy = tools.code, tools.policy
        self._partition = opening.partition

        def new_state() -> State:
            most, guard = policy.max_state_bytes, threading.Lock()
            return State(opening.partition, opening.state, most, guard)

        self._context = context = Context(
            tools.about, opening.partition, opening.epoch, opening.position, new_state, tools.wall
        )
        self._calls = Calls(
            f"the handler of partition {opening.partition}",
            lambda: tools.threads.of(opening.partition),
            policy.timeout_s,
            policy.told_s,
            context._cancel,
            context._give_up,
            tools.clock,
        )
        self._progress = Progress(policy, opening, tell, context, tools.clock)
        self._troubles = Troubles(opening.partition, tools.report, tools.clock)
        kept = tools.breakers.pop(opening.partition, None)
        self._breaker = kept or Breaker(policy.circuit_breaker)
        self._batches = Batches(
            tools, context, self._calls, self._progress, self._troubles, self._breaker
        )
        self._gathering: Gathering[SourceEvent] = Gathering(
            policy.most_events, policy.batch.max_bytes, policy.batch.max_wait_s, size_of
        )
        self._on_time_at = NEVER
        self._set_clockwork()

    @property
    def wake_at(self) -> float:
        return min(self._gathering.give_at, self._progress.tell_at, self._on_time_at)

    def finish(self) -> None:
        self._progress.finish()
        self._batches.finish()

    def checkpointed(self, position: Position) -> None:
        self._context._checkpointed = position
        self._progress.checkpointed(position)

    async def open(self) -> None:
        on_open = self._code.on_open
        if on_open is not None:
            try:
                await self._calls.run(on_open, self._partition)
            except CallFailedError as error:
                raise SourceError(
                    f"on_open failed: {error}. The partition is not read until on_open succeeds; "
                    "it is tried again by itself."
                ) from error

    async def handle(self, events: Sequence[SourceEvent]) -> None:
        clock, progress = self._tools.clock, self._progress
        if events:
            self._gathering.add(events, clock())
        while not progress.is_finishing:
            batch = self._gathering.take(clock(), self._batches.fitting)
            if not batch:
                break
            await self._batches.deliver(batch)
            await self._on_time()
        await self._on_time()
        progress.say_in_time()

    async def close(self, reason: Close) -> None:
        if reason is not Close.DROPPED:
            self._progress.say_last()
        if reason in (Close.FAILED, Close.STOLEN):
            # The source ended the reader: the next one must not put as many events aside again.
            self._tools.breakers[self._partition] = self._breaker
        on_close = self._code.on_close
        if on_close is not None and not self._calls.is_hung:
            try:
                await self._calls.run(on_close, self._partition, str(reason))
            except (CallFailedError, HungError) as error:
                self._troubles.say("on-close-failed", f"on_close failed: {error}")

    # --- the clockwork

    def _set_clockwork(self) -> None:
        if self._code.on_time is not None:
            self._on_time_at = self._tools.clock() + ON_TIME_EVERY_S

    async def _on_time(self) -> None:
        """Calls `on_time` if it is time; what it changes in the state stands if it returns."""
        on_time, context = self._code.on_time, self._context
        is_time = self._tools.clock() >= self._on_time_at
        if on_time is None or not is_time or self._progress.is_finishing:
            return
        context._begin((), 1)
        try:
            await self._calls.run(on_time, context)
            if context._state is not None and context._state.is_touched:
                context._commit()
                self._progress.state_changed()
        except (CallFailedError, StateError) as error:
            self._troubles.say("on-time-failed", f"on_time failed: {error}")
        finally:
            context._roll_back()
            self._set_clockwork()


def deliveries(tools: Tools) -> NewHandler:
    """Handlers that deliver to the user's code."""

    def new_handler(opening: Opening, tell: Tell) -> PartitionHandler:
        return PartitionDelivery(tools, opening, tell)

    return new_handler
