"""One call of the user's code, async or plain, with its time limit.

Rules:
- An async function runs in a task of its own, a plain one on the partition's thread; the loop goes
  on meanwhile. Whatever a call returns, if it is awaitable it is awaited, within the same limit.
- However the user's code ends, `sys.exit` and the like included, that is a CallFailedError. It is
  made where the code ran, for its texts are the user's code as well.
- What takes longer than its limit is told: `context.cancelled`, and an async one is cancelled. If
  it returns then, nobody knows how much it left out: the call has failed. What does not come back
  within `told_s` is given up: HungError.
- When the caller is cancelled, the user's code is told as well, and is waited for as long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from tidegate.handlers.blame import call_failed
from tidegate.handlers.loading import Function
from tidegate.handlers.results import is_async, still_to_await
from tidegate.handlers.threads import PartitionThread
from tidegate.handling import HungError

Left = Awaitable[Any] | None


class TooSlowError(Exception):
    """The handler took longer than it may, and stopped when it was told."""


class Calls:
    """Makes calls for one partition."""

    def __init__(
        self,
        what: str,
        thread: Callable[[], PartitionThread],
        limit_s: float,
        told_s: float,
        tell: Callable[[], None],
        give_up: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.what = what
        self._thread = thread
        self._limit_s = limit_s
        self._told_s = told_s
        self._tell = tell
        self._give_up = give_up
        self._clock = clock
        # A call did not come back: nothing more is called.
        self.is_hung = False
        self._begun_at = 0.0
        self._is_told = False

    def begin(self, now: float) -> None:
        """The time limit counts from here: also called for each event of a call."""
        self._begun_at = now

    async def run(self, function: Function, *arguments: Any) -> None:
        """Returns when the function is done. Raises CallFailedError and HungError."""
        await self.run_as(is_async(function), function, *arguments)

    async def run_as(self, is_awaited: bool, function: Function, *arguments: Any) -> bool:
        """The same for a function that is known to be async, or plain; gives whether a plain one
        left something to await."""
        self.begin(self._clock())
        self._is_told = False
        if is_awaited:
            await self._end_of(asyncio.ensure_future(self._called(function, arguments)), True)
            return False
        left: Left = await self._end_of(self._thread().run(self._plain, function, arguments), False)
        if left is not None:
            await self._end_of(asyncio.ensure_future(self._awaited(left)), True)
        return left is not None

    # --- within the task or the thread of the call

    def _plain(self, function: Function, arguments: tuple[Any, ...]) -> Left:
        """What is left to await of a call."""
        try:
            return still_to_await(self.what, function(*arguments))
        except BaseException as error:
            raise call_failed(error) from None

    async def _called(self, function: Function, arguments: tuple[Any, ...]) -> None:
        try:
            left = still_to_await(self.what, function(*arguments))
            while left is not None:
                left = still_to_await(self.what, await left)
        except BaseException as error:
            self._raise(error)

    async def _awaited(self, left: Left) -> None:
        try:
            while left is not None:
                left = still_to_await(self.what, await left)
        except BaseException as error:
            self._raise(error)

    def _raise(self, error: BaseException) -> NoReturn:
        if self._is_told and issubclass(type(error), asyncio.CancelledError):
            raise error
        raise call_failed(error) from None

    # --- around it

    async def _end_of(self, work: asyncio.Future[Any], is_task: bool) -> Any:
        """What the work gives. Raises what it raises, and HungError."""
        try:
            while not work.done():
                left = self._begun_at + self._limit_s - self._clock()
                if left <= 0:
                    break
                await asyncio.wait([work], timeout=left)
        except asyncio.CancelledError:
            await self._stop(work, is_task=is_task)
            raise
        if not work.done():
            await self._stop(work, is_task=is_task)
            self._fail_late(work)
        if work.cancelled():
            raise call_failed(RuntimeError(f"{self.what} cancelled its own task"))
        return work.result()

    async def _stop(self, work: asyncio.Future[Any], *, is_task: bool) -> None:
        """Tells the user's code, and waits a while for it to come back."""
        self._is_told = True
        self._tell()
        if is_task:
            work.cancel()
        await asyncio.wait([work], timeout=self._told_s)
        if not work.done():
            self.is_hung = True
            self._give_up()
        # How it ends after all is looked at, or Python would log that nobody did.
        work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def _fail_late(self, work: asyncio.Future[Any]) -> NoReturn:
        took = f"{self.what} took longer than {self._limit_s:g} s"
        if not work.done():
            raise HungError(
                f"{took} and did not come back {self._told_s:g} s after it was told to stop. Its "
                "partition is given away; the code still runs. Give calls to others a time limit, "
                "look at context.cancelled, or raise spec.delivery.timeoutSeconds.",
                lambda tell: work.add_done_callback(lambda _: tell()),
            )
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error
        ended = "was cancelled" if work.cancelled() else "returned when it was told to stop"
        raise call_failed(TooSlowError(f"{took} and {ended}"))
