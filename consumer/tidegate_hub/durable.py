"""Group commit: what was published is flushed together, and then answered together.

Rules: a flush covers only what was appended before it began; while one runs, what comes waits for
the next. A flush that fails, in whatever way, refuses what waited for it, and says so. A disk that
hangs keeps nobody from stopping the hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from tidegate_hub.storage.errors import StorageError
from tidegate_hub.storage.store import Store

Confirm = Callable[[StorageError | None], None]

# How long stopping waits for the disk to take what was sent.
FINISH_LIMIT_S = 4.0


class GroupCommit:
    """Calls back once everything appended before is on disk, or with why it is not."""

    def __init__(self, store: Store, report: Callable[[str], None] = print) -> None:
        self._store = store
        self._report = report
        self._waiting: list[Confirm] = []
        self._task: asyncio.Task[None] | None = None
        self._asked = self._told = 0
        self._round_ended = asyncio.Event()

    def when_durable(self, confirm: Confirm) -> None:
        self._waiting.append(confirm)
        self._asked += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._waiting:
                confirms, self._waiting = self._waiting, []
                failure = await self._sync()
                for confirm in confirms:
                    self._tell(confirm, failure)
                self._told += len(confirms)
                self._round_ended.set()
                self._round_ended.clear()
        finally:
            self._task = None

    async def _sync(self) -> StorageError | None:
        try:
            await on_a_thread(self._store.sync)
        except StorageError as error:
            return error
        except Exception as error:
            self._report(f"a flush to disk failed: {error!r}")
            return StorageError(f"the flush to disk failed: {error!r}")
        return None

    def _tell(self, confirm: Confirm, failure: StorageError | None) -> None:
        try:
            confirm(failure)
        except Exception as error:
            self._report(f"a send could not be answered after its flush: {error!r}")

    async def finish(self, limit_s: float = FINISH_LIMIT_S) -> None:
        """Waits until all is confirmed that came before this call; clients may go on sending."""
        wanted = self._asked
        try:
            async with asyncio.timeout(limit_s):
                while self._told < wanted:
                    await self._round_ended.wait()
        except TimeoutError:
            self._report(
                f"the disk has not taken within {limit_s:g} s what was sent last: "
                f"{wanted - self._told} sends stay unanswered"
            )


async def on_a_thread(function: Callable[[], None]) -> None:
    """Runs what may wait for a disk on a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def end(error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failure: Exception | None = None
        try:
            function()
        except Exception as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop has ended
            loop.call_soon_threadsafe(end, failure)

    threading.Thread(target=run, name="tidegate-hub-disk", daemon=True).start()
    await done
