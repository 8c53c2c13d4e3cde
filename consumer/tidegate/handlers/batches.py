"""Delivers one batch after another: carries out what delivery/attempts.py decides.

Rules:
- Nothing counts as handled that the handler has not returned from, or that is not put aside.
- Asked to finish, the call that runs is the last.
- A dead letter that cannot be written is written again, for ever: nothing is dropped. Asked to
  finish, it is given up, and its event is read again.
- While the circuit breaker is open, no event is put aside and none is passed: the one that failed
  is given again alone, once in each interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tidegate.delivery import attempts as deciding
from tidegate.delivery.breaker import Breaker
from tidegate.delivery.letters import Failure, WholeEvent, letter_of
from tidegate.delivery.policy import OnFailure
from tidegate.handlers.attempt import Attempts
from tidegate.handlers.blame import CallFailedError, Raised
from tidegate.handlers.calls import Calls
from tidegate.handlers.context import Context
from tidegate.handlers.progress import Progress
from tidegate.handlers.telling import Troubles, open_text
from tidegate.handlers.tools import Tools
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

    def finish(self) -> None:
        self._attempts.finish()

    async def deliver(self, batch: Events) -> None:
        """Until all of it is done, or all is to end. Raises HungError."""
        todo = deciding.begin(len(batch))
        error: Raised | None = None
        while not self._progress.is_finishing:
            match deciding.next_step(self._policy, todo):
                case deciding.Finished():
                    return
                case deciding.Give(first=first, end=end, attempt=attempt):
                    events = batch if end - first == len(batch) else batch[first:end]
                    if not await self._progress.room(len(events)):
                        return
                    todo, error = await self._give(events, attempt, todo)
                    if error is not None:
                        batch = as_received(batch)
                case deciding.PutAside(index=index, attempts=attempts):
                    if error is None:
                        return
                    if not self._breaker.lets_through():
                        todo, error = await self._probe(batch[index], attempts, error, todo)
                        batch = as_received(batch)
                    elif await self._put_aside(batch[index], attempts, error):
                        todo = deciding.done(todo)
                    else:
                        return
                case deciding.Halt(failures=failures):
                    await self._halt(batch[todo.ranges[0][0]], failures, error)

    async def _give(
        self, events: Events, attempt: int, todo: deciding.Todo
    ) -> tuple[deciding.Todo, Raised | None]:
        begun_at = self._tools.clock()
        try:
            with self._tools.observer.handling(self._context.partition, events):
                ended = await self._attempts.make(events, attempt)
                if (error := ended.error) is not None:
                    self._tools.observer.call_failed(error.kind, error.said, error.trace)
        except HungError as hung:
            self._fact_of_failure(events, attempt, str(hung), is_hung=True)
            raise
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

    async def _probe(
        self, event: SourceEvent, attempts: int, error: Raised, todo: deciding.Todo
    ) -> tuple[deciding.Todo, Raised | None]:
        """Waits while the breaker is open, then gives the one event again, unless all is to end."""
        self._tell_open(event, error)
        await self._progress.pause(self._policy.circuit_breaker.probe_every_s)
        if self._progress.is_finishing or not await self._progress.room(1):
            return todo, error
        return await self._give((event,), attempts + 1, todo)

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
