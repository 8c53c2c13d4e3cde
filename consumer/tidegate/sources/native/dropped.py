"""The difference between a service that goes away and one that does not understand this transport.

Rules:
- An exchange is the opening of a connection, a request or an attach. It is in doubt when the
  service ended the connection, or the link without a reason, in the middle of it. One that succeeds
  is in doubt no more.
- While an exchange is dropped again and again, the official SDK is asked, in the background,
  whether the service answers it. A service or a network that is down answers neither.
- An exchange that is in doubt for long, and is dropped once more after the SDK got an answer, is
  NotUnderstoodError.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.sources.native.refusals import DroppedError

# Drops of an exchange in a row before the SDK is asked.
_DROPS = 2
# A service that moves a partition or restarts is back sooner.
_LONG_S = 10.0
# The time that the SDK has for its answer, and the pause before it is asked again.
_ANSWER_S = 10.0
_AGAIN_S = 5.0


class _Doubt:
    """An exchange that was dropped: the time of the first drop, and the drops in a row."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.drops = 0


class DroppedExchanges:
    """The exchanges of one source. Without `sdk_reads` nothing is ever in doubt."""

    def __init__(self, sdk_reads: Callable[[], Awaitable[object]] | None = None) -> None:
        self._sdk_reads = sdk_reads
        self._doubts: dict[str, _Doubt] = {}
        self._asking: asyncio.Task[None] | None = None
        self._ask_again_at = 0.0
        self._sdk_read_at = 0.0

    @contextlib.contextmanager
    def exchange(self, name: str) -> Iterator[None]:
        """One try of an exchange. Raises NotUnderstoodError in place of a DroppedError where the
        service answers the SDK."""
        begun_at = asyncio.get_running_loop().time()
        try:
            yield
        except DroppedError as error:
            if self._is_refused(name, begun_at):
                raise NotUnderstoodError(
                    f"{error}. That happened each time at {name}, and the official SDK gets its "
                    "answers from this service"
                ) from error
            raise
        self._doubts.pop(name, None)

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def _is_refused(self, name: str, begun_at: float) -> bool:
        doubt = self._doubts.setdefault(name, _Doubt(begun_at))
        doubt.drops += 1
        is_long = begun_at - doubt.since >= _LONG_S
        if is_long and doubt.since < self._sdk_read_at < begun_at:
            return True
        if doubt.drops >= _DROPS:
            self._ask()
        return False

    def _ask(self) -> None:
        is_busy = self._asking is not None and not self._asking.done()
        now = asyncio.get_running_loop().time()
        if self._sdk_reads is not None and not is_busy and now >= self._ask_again_at:
            self._asking = asyncio.create_task(self._try_sdk(self._sdk_reads), name="try-sdk")

    async def _try_sdk(self, sdk_reads: Callable[[], Awaitable[object]]) -> None:
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(_ANSWER_S):
                await sdk_reads()
        except (SourceError, TimeoutError):
            # The service is not there for the SDK either: this transport is not the cause.
            self._sdk_read_at = 0.0
        else:
            self._sdk_read_at = now()
        finally:
            # Also if it fails in another way, which is reported as that of any task.
            self._ask_again_at = now() + _AGAIN_S
