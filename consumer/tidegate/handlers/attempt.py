"""One attempt at a range of events: the handler is called, and its state stands or is undone.

Rules:
- What is done is always a beginning of the range; the state is what those events made of it.
- A handler of single events is called for a slice of time and then says how far it came, so that a
  slow one does not keep its progress to itself; it stops between events when it is asked to finish.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from types import CoroutineType
from typing import Any

from tidegate.handlers.blame import CallFailedError, Raised, call_failed
from tidegate.handlers.calls import Calls
from tidegate.handlers.context import Context, Mark
from tidegate.handlers.loading import UserCode
from tidegate.handlers.results import is_async, still_to_await
from tidegate.handling import HungError
from tidegate.ports import SourceEvent

SLICE_S = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended: so many events are done; `error` is of what comes after them."""

    done: int
    error: Raised | None = None
    is_due: bool = False
    mark: Mark | None = None
    # The call failed after it had marked its last event, or its only one, as done: the error is of
    # no event that is left.
    is_of_none: bool = False


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

    async def make(self, events: Sequence[SourceEvent], attempt: int, slice_s: float) -> Ended:
        """Raises HungError, and CancelledError where it is told to drop what it does."""
        context = self._context
        context._begin(events, attempt)
        self._done = 0
        try:
            await self._call(events, slice_s)
        except HungError:
            raise
        except CallFailedError as error:
            mark = context._mark
            context._roll_back()
            done = max(self._done, mark.done if mark is not None else 0)
            is_of_none = done > self._done if self._code.takes_one else done == len(events)
            return Ended(done, error.raised, context._is_due, mark, is_of_none)
        except BaseException:
            context._roll_back()
            raise
        return Ended(self._done, None, context._is_due, context._mark)

    async def _call(self, events: Sequence[SourceEvent], slice_s: float) -> None:
        calls = self._calls
        if not self._code.takes_one:
            # A list of the call's own: the handler may sort it, empty it or keep it.
            await calls.run_as(self._is_async, self._code.handle, list(events), self._context)
            self._count(len(events))
            return
        until = self._clock() + slice_s
        if self._is_async:
            await calls.run_as(True, self._each_async, events, until)
            return
        # After an event whose call left something to await, which is done by now.
        while await calls.run_as(False, self._each, events, until):
            self._count(1)

    async def _each_async(self, events: Sequence[SourceEvent], until: float) -> None:
        handle, context, what = self._code.handle, self._context, self._calls.what
        for event in events:
            if self._is_to_stop(until):
                return
            left = handle(event, context)
            if type(left) is CoroutineType:
                left = await left
            if left is not None:
                while (left := still_to_await(what, left)) is not None:
                    left = await left
            self._count(1)

    def _each(self, events: Sequence[SourceEvent], until: float) -> Awaitable[Any] | None:
        """On the thread: the events that are left, up to one whose call leaves something to await,
        which this gives."""
        handle, context, what = self._code.handle, self._context, self._calls.what
        for event in islice(events, self._done, None):
            if self._is_to_stop(until):
                return None
            result = handle(event, context)
            if result is not None and (left := still_to_await(what, result)) is not None:
                return left
            self._count(1)
        return None

    def _is_to_stop(self, until: float) -> bool:
        now = self._clock()
        # Each event has the whole time limit.
        self._calls.begin(now)
        context = self._context
        is_asked = self._is_finishing or context._is_cancelled or context._is_due
        return self._done > 0 and (is_asked or now >= until)

    def _count(self, events: int) -> None:
        """So many are handled, and the state says so. Raises CallFailedError."""
        try:
            self._context._commit()
        except BaseException as error:  # to encode the state runs methods of what is in it
            raise call_failed(error) from None
        self._done += events
