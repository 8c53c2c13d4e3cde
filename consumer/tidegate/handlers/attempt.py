"""One attempt at a range of events: the handler is called, and its state stands or is undone.

Rules:
- What is done is always a beginning of the range; the state is what those events made of it.
- A handler of single events is called for a slice of time and then says how far it came, so that a
  slow one does not keep its progress to itself; it stops between events when it is asked to finish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.handlers.calls import Calls, is_async
from tidegate.handlers.context import Context, Mark
from tidegate.handlers.loading import UserCode
from tidegate.handling import HungError
from tidegate.ports import SourceEvent

SLICE_S = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended: so many events are done; `error` is of the one after them."""

    done: int
    error: Exception | None = None
    is_due: bool = False
    mark: Mark | None = None


class Attempts:
    """Makes attempts for one partition."""

    def __init__(
        self, code: UserCode, context: Context, calls: Calls, clock: Callable[[], float]
    ) -> None:
        self._code = code
        self._context = context
        self._calls = calls
        self._clock = clock
        self._is_async = is_async(code.handle)
        self._is_finishing = False
        self._done = 0

    def finish(self) -> None:
        """Stops after the event that is being handled, or the batch."""
        self._is_finishing = True

    async def make(self, events: Sequence[SourceEvent], attempt: int) -> Ended:
        """Raises HungError, and CancelledError where it is told to drop what it does."""
        context = self._context
        context._begin(events, attempt)
        self._done = 0
        try:
            await self._call(events)
        except HungError:
            raise
        except Exception as error:
            mark = context._mark
            context._roll_back()
            done = max(self._done, mark.done if mark is not None else 0)
            return Ended(done, error, context._is_due, mark)
        except BaseException:
            context._roll_back()
            raise
        return Ended(self._done, None, context._is_due, context._mark)

    async def _call(self, events: Sequence[SourceEvent]) -> None:
        calls, context = self._calls, self._context
        if self._code.takes_one:
            run = self._each_async if self._is_async else self._each
            await calls.run_as(self._is_async, run, events)
        else:
            await calls.run_as(self._is_async, self._code.handle, events, context)
            context._commit()
            self._done = len(events)

    async def _each_async(self, events: Sequence[SourceEvent]) -> None:
        until = self._clock() + SLICE_S
        for event in events:
            if self._is_to_stop(until):
                return
            await self._code.handle(event, self._context)
            self._count()

    def _each(self, events: Sequence[SourceEvent]) -> None:
        until = self._clock() + SLICE_S
        for event in events:
            if self._is_to_stop(until):
                return
            self._code.handle(event, self._context)
            self._count()

    def _is_to_stop(self, until: float) -> bool:
        now = self._clock()
        # Each event has the whole time limit.
        self._calls.begin(now)
        context = self._context
        is_asked = self._is_finishing or context._is_cancelled or context._is_due
        return self._done > 0 and (is_asked or now >= until)

    def _count(self) -> None:
        self._context._commit()
        self._done += 1
