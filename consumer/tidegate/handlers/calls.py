"""One call of the user's code, async or plain, with its time limit.

Rules:
- An async function runs in a task of its own, a plain one on the partition's thread; the loop goes
  on meanwhile.
- What takes longer than its limit is told: `context.cancelled`, and an async one is cancelled. What
  does not come back then within `told_s` is given up: HungError.
- When the caller is cancelled, the user's code is told as well, and is waited for as long.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from tidegate.handlers.loading import Function
from tidegate.handlers.threads import PartitionThread
from tidegate.handling import HungError


class TooSlowError(Exception):
    """The handler took longer than it may, and stopped when it was told."""


def is_async(function: Function) -> bool:
    """Whether calling it gives something to await."""
    # What an object with `__call__` gives is seen from that.
    seen = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(inspect.unwrap(seen))


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
        self._what = what
        self._thread = thread
        self._limit_s = limit_s
        self._told_s = told_s
        self._tell = tell
        self._give_up = give_up
        self._clock = clock
        # A call did not come back: nothing more is called.
        self.is_hung = False
        self._begun_at = 0.0

    def begin(self, now: float) -> None:
        """The time limit counts from here: also called for each event of a call."""
        self._begun_at = now

    async def run(self, function: Function, *arguments: Any) -> Any:
        """What the function gives, or raises."""
        return await self.run_as(is_async(function), function, *arguments)

    async def run_as(self, is_awaited: bool, function: Function, *arguments: Any) -> Any:
        """The same for a function that is known to be async, or plain."""
        self.begin(self._clock())
        if is_awaited:
            work: asyncio.Future[Any] = asyncio.ensure_future(_awaited(function(*arguments)))
        else:
            work = self._thread().run(function, *arguments)
        try:
            while not work.done():
                left = self._begun_at + self._limit_s - self._clock()
                if left <= 0:
                    break
                await asyncio.wait([work], timeout=left)
        except asyncio.CancelledError:
            await self._stop(work, is_awaited=is_awaited)
            raise
        if work.done():
            if work.cancelled():
                raise RuntimeError(f"{self._what} cancelled itself")
            return work.result()
        await self._stop(work, is_awaited=is_awaited)
        return self._late(work)

    async def _stop(self, work: asyncio.Future[Any], *, is_awaited: bool) -> None:
        """Tells the user's code, and waits a while for it to come back."""
        self._tell()
        if is_awaited:
            work.cancel()
        await asyncio.wait([work], timeout=self._told_s)
        if not work.done():
            self.is_hung = True
            self._give_up()

    def _late(self, work: asyncio.Future[Any]) -> Any:
        took = f"{self._what} took longer than {self._limit_s:g} s"
        if not work.done():
            raise HungError(
                f"{took} and did not come back {self._told_s:g} s after it was told to stop. Its "
                "partition is given away; the code still runs. Give calls to others a time limit, "
                "look at context.cancelled, or raise spec.delivery.timeoutSeconds.",
                lambda tell: work.add_done_callback(lambda _: tell()),
            )
        if work.cancelled():
            raise TooSlowError(f"{took} and was cancelled")
        return work.result()


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made
