"""Delivers one batch after another: carries out what delivery/attempts.py decides.

Rules:
- Nothing counts as handled that the handler has not returned from, or that is not put aside.
- Asked to finish, the call that runs is the last.
- A dead letter that cannot be written is written again, for ever: nothing is dropped. Asked to
  finish, it is given up, and its event is read again.
- While the circuit breaker is open, no event is put aside and none is passed: the one that failed
  is given again alone, once in each interval.
- A call with a batch has as many events as the target time has room for. A batch that took longer
  than a call may is given again in parts.
- Plain calls wait for their turn (turns.py): while many partitions want one, their calls are so
  much shorter that each has its turn within the target.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from tidegate.delivery import attempts as deciding
from tidegate.delivery import sizing as sizes
from tidegate.delivery.breaker import Breaker
from tidegate.delivery.letters import Failure, WholeEvent, letter_of
from tidegate.delivery.limit import SHORT_S
from tidegate.delivery.policy import OnFailure
from tidegate.handlers.attempt import SLICE_S, Attempts, Ended
from tidegate.handlers.blame import CallFailedError, Raised
from tidegate.handlers.calls import Calls, TooSlowError
from tidegate.handlers.context import Context
from tidegate.handlers.progress import Progress
from tidegate.handlers.results import is_async
from tidegate.handlers.telling import Troubles, open_text
from tidegate.handlers.tools import Tools
from tidegate.handlers.turns import Turn
from tidegate.handling import DeadLetterError, HungError
from tidegate.ops import observer as facts
from tidegate.ops.failing import CIRCUIT_CLOSED, CIRCUIT_OPEN
from tidegate.ports import SourceEvent

Events = Sequence[SourceEvent]


def size_of(event: SourceEvent) -> int:
    """Bytes of an event: sources offer more than reading in order needs."""
    return cast(Any, event).size  # type: ignore[no-any-return]


def as_received(events: Events) -> Events:
    """The events without what a failed call may have changed in them."""
    return [cast(Any, event).as_received() for event in events]


class Batches:
    """Of one partition."""

    def __init__(
        self,
        tools: Tools,
        context: Context,
        calls: Calls,
        progress: Progress,
        troubles: Troubles,
        breaker: Breaker,
    ) -> None:
        self._tools = tools
        self._policy = tools.policy
        self._context = context
        self._calls = calls
        self._progress = progress
        self._troubles = troubles
        self._breaker = breaker
        # Whether the open breaker was reported.
        self._is_told_open = False
        self._attempts = Attempts(tools.code, context, calls, tools.clock)
        self._is_plain = not is_async(tools.code.handle)
        self._turn: Turn | None = None
        self._needs_turn = self._is_plain
        # Whether a call with this batch, or with a part of it, took longer than it may.
        self._is_late = False
        # A handler of single events is called for a slice of time, however many there are.
        is_sized = self._policy.target_s > 0 and not tools.code.takes_one
        self._sizing = sizes.inherited(tools.learned.together) if is_sized else None
        # Whether full batches are so fast that their size need not be worked out.
        self._is_cheap = False

    @property
    def fitting(self) -> int | None:
        """How many events a call should have at the most; None if there is no such limit."""
        if self._sizing is None or self._is_cheap:
            return None
        together, target_s = self._tools.learned.together, self._policy.target_s
        return sizes.fitting(self._sizing, together, target_s, self._share)

    @property
    def _share(self) -> float:
        """The share of its time that a call gets while others wait for their turn."""
        return self._tools.turns.share if self._is_plain else 1.0

    def finish(self) -> None:
        self._attempts.finish()
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(False)

    async def deliver(self, batch: Events) -> None:
        """Until all of it is done, or all is to end. Raises HungError."""
        todo = deciding.begin(len(batch))
        error: Raised | None = None
        self._is_late = False
        while not self._progress.is_finishing:
            match deciding.next_step(self._policy, todo):
                case deciding.Finished():
                    return
                case deciding.Give(first=first, end=end, attempt=attempt):
                    if not await self._progress.room(end - first):
                        return
                    todo, error = await self._give(batch, attempt, todo)
                    if error is not None:
                        batch = as_received(batch)
                case deciding.PutAside(index=index, attempts=attempts):
                    if error is None:
                        return
                    if not self._breaker.lets_through():
                        todo, error = await self._probe(batch, attempts, error, todo)
                        batch = as_received(batch)
                    elif await self._put_aside(batch[index], attempts, error):
                        todo = deciding.done(todo)
                    else:
                        return
                case deciding.Halt(failures=failures):
                    await self._halt(batch[todo.ranges[0][0]], failures, error)

    async def _give(
        self, batch: Events, attempt: int, todo: deciding.Todo
    ) -> tuple[deciding.Todo, Raised | None]:
        """Gives the first range, or what a call has room for of it; nothing if all is to end
        before its turn has come."""
        has_turn = self._needs_turn
        if has_turn and not await self._turn_comes():
            return todo, None
        try:
            todo = self._cut(todo)
            first, end = todo.ranges[0]
            events = batch if end - first == len(batch) else batch[first:end]
            begun_at, beside = self._tools.clock(), self._tools.learned.together
            ended = await self._call(events, attempt)
        finally:
            if has_turn:
                self._tools.turns.end()
        error, seconds = ended.error, self._tools.clock() - begun_at
        self._needs_turn = self._is_plain and seconds > SHORT_S
        self._learn(sizes.Call(len(events), seconds), beside, error)
        self._progress.took(events, ended)
        if ended.done:
            self._fact_of_success(events[: ended.done], begun_at)
            was_open = self._breaker.is_open
            self._breaker.handled(ended.done)
            if was_open:
                self._tell_closed()
        before = deciding.done_until(todo, todo.ranges[0][0] + ended.done)
        if error is None:
            self._troubles.over()
            return before, None
        if ended.is_of_none:
            # What comes next has not failed.
            await self._failed((), attempt, error)
            self._troubles.over()
            return before, error
        if self._tools.code.takes_one:
            before = deciding.single_out(before)
        after = deciding.failed(self._policy, before)
        await self._failed(events[ended.done :], attempt, error)
        is_probe = self._breaker.is_open and attempt > self._policy.attempts
        if not is_probe:
            pause_s = deciding.pause_s(self._policy, before, after, self._tools.dice())
            await self._progress.pause(pause_s)
        return after, error

    async def _call(self, events: Events, attempt: int) -> Ended:
        try:
            with self._tools.observer.handling(self._context.partition, events):
                ended = await self._attempts.make(events, attempt, SLICE_S * self._share)
                if (error := ended.error) is not None:
                    self._tools.observer.call_failed(error.kind, error.said, error.trace)
        except HungError as hung:
            self._fact_of_failure(events, attempt, str(hung), is_hung=True)
            raise
        return ended

    # --- turns and sizes

    async def _turn_comes(self) -> bool:
        """Waits for the turn of a plain call; False where all is to end first."""
        if self._tools.turns.begin():
            return True
        turn = self._turn = self._tools.turns.ask()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self._tools.turns.end()
            raise
        finally:
            self._turn = None
        if turn.result() and self._progress.is_finishing:
            self._tools.turns.end()
            return False
        return turn.result()

    def _cut(self, todo: deciding.Todo) -> deciding.Todo:
        """What failed is given again as it was, unless it took longer than a call may."""
        most = self.fitting
        if most is None or (todo.failures and not self._is_late):
            return todo
        return deciding.parted(todo, most)

    def _learn(self, call: sizes.Call, beside: sizes.Together, error: Raised | None) -> None:
        """Learns from the cost of a call. A failed call says nothing about that; one that took too
        long starts again with one event."""
        if self._sizing is None:
            return
        if error is None:
            learned, target_s = self._tools.learned, self._policy.target_s
            most = self._policy.most_events
            self._is_cheap = self._sizing.most >= most and sizes.is_cheap(call, most, target_s)
            if self._is_cheap:
                return
            learned.together = sizes.joined(learned.together, beside, call, target_s)
            self._sizing = sizes.after(self._sizing, call, target_s)
        # `isinstance` asks the error for its class, which may be code of the user's that raises.
        elif issubclass(type(error.error), TooSlowError):
            self._sizing, self._is_late, self._is_cheap = sizes.Sizing(), True, False

    async def _probe(
        self, batch: Events, attempts: int, error: Raised, todo: deciding.Todo
    ) -> tuple[deciding.Todo, Raised | None]:
        """Waits while the breaker is open, then gives the one event again, unless all is to end."""
        self._tell_open(batch[todo.ranges[0][0]], error)
        await self._progress.pause(self._policy.circuit_breaker.probe_every_s)
        if self._progress.is_finishing or not await self._progress.room(1):
            return todo, error
        return await self._give(batch, attempts + 1, todo)

    async def _failed(self, events: Events, attempt: int, error: Raised) -> None:
        if events:
            self._troubles.failed(
                f"the handler fails on events from sequence number {events[0].position.sequence}: "
                f"{error.blamed}",
                self._remedy(),
            )
        self._fact_of_failure(events, attempt, error.blamed)
        on_error = self._tools.code.on_error
        if on_error is not None:
            # None of the events is given to it, so that it cannot mark them either.
            self._context._begin((), attempt)
            try:
                await self._calls.run(on_error, error.error, self._context)
            except CallFailedError as another:
                self._troubles.say("on-error-failed", f"on_error failed: {another}")
            finally:
                self._context._roll_back()

    def _remedy(self) -> str:
        if self._breaker.is_open:
            return "The circuit breaker is open: no event is put aside until the handler succeeds."
        if self._policy.on_failure is OnFailure.RETRY:
            return "The events are given again until it succeeds."
        if self._policy.on_failure is OnFailure.HALT:
            return f"After {self._policy.attempts} attempts the partition stands still."
        return (
            f"An event that fails by itself in {self._policy.attempts} attempts becomes a dead "
            "letter, and the partition continues."
        )

    def _tell_open(self, event: SourceEvent, error: Raised) -> None:
        """Reports once why nothing more is put aside, and what to do."""
        if self._is_told_open:
            return
        self._is_told_open = True
        failed, recent = self._breaker.share()
        settings, sequence = self._policy.circuit_breaker, event.position.sequence
        text = open_text("handler", failed, recent, settings, sequence, error.blamed)
        self._troubles.say(CIRCUIT_OPEN, text)

    def _tell_closed(self) -> None:
        self._is_told_open = False
        self._troubles.say(
            CIRCUIT_CLOSED, "the circuit breaker is closed: the handler has succeeded"
        )

    async def _halt(self, event: SourceEvent, failures: int, error: Raised | None) -> None:
        why = error.blamed if error is not None else "no error"
        self._troubles.say(
            "handler-halted",
            f"stands still after {failures} attempts at events from {event.position.sequence}: "
            f"{why}. Restart its member to try again, or rewind the partition past these events.",
        )
        await self._progress.end()

    async def _put_aside(self, event: SourceEvent, attempts: int, error: Raised) -> bool:
        """Writes a dead letter; False if all is to end before that was possible."""
        letters = self._tools.dead_letters
        if letters is None:
            raise RuntimeError("dead letters were asked for, and nobody keeps them")
        member, now = self._tools.about.member, self._tools.wall()
        failure = Failure(error.said, error.trace, attempts, member, now)
        letter = letter_of(self._context.partition, cast(WholeEvent, event), failure)
        tries = 0
        while not self._progress.is_finishing:
            try:
                where = await self._progress.until_end(letters.put(letter))
                if where is None:
                    raise DeadLetterError("its write was given up")
            except DeadLetterError as problem:
                tries += 1
                self._troubles.failed(
                    f"dead letter {letter.id} cannot be written: {problem}", "It is tried again."
                )
                dice = self._tools.dice()
                await self._progress.pause(self._policy.backoff.pause_s(tries, dice))
            else:
                now = self._tools.clock()
                self._progress.put_aside(event)
                self._breaker.put_aside()
                fact = facts.DeadLettered(now, self._context.partition, 1, where)
                self._tools.observer.hear(fact)
                self._troubles.say(
                    "dead-letter", f"dead letter {letter.id} is at {where}: {error.line}"
                )
                self._troubles.over()
                return True
        return False

    # --- facts

    def _fact_of_success(self, events: Events, begun_at: float) -> None:
        now, last = self._tools.clock(), events[-1]
        self._tools.observer.hear(
            facts.BatchHandled(
                now,
                self._context.partition,
                len(events),
                sum(map(size_of, events)),
                now - begun_at,
                last.position,
                last.enqueued_at,
            )
        )

    def _fact_of_failure(
        self, events: Events, attempt: int, error: str, *, is_hung: bool = False
    ) -> None:
        self._tools.observer.hear(
            facts.BatchFailed(
                self._tools.clock(),
                self._context.partition,
                len(events),
                attempt,
                error,
                self._troubles.is_stuck or self._breaker.is_open,
                is_hung,
            )
        )
