"""Group commit: what was published is flushed together, and then answered together.

Rules: a flush covers only what was appended before it began; while one runs, what comes waits for
the next. A flush that fails refuses what waited for it, and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidegate_hub.storage.errors import StorageError
from tidegate_hub.storage.store import Store

Confirm = Callable[[StorageError | None], None]


class GroupCommit:
    """Calls back once everything appended before is on disk, or with why it is not."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
        while self._waiting:
            confirms, self._waiting = self._waiting, []
            failure: StorageError | None = None
            try:
                await asyncio.to_thread(self._store.sync)
            except StorageError as error:
                failure = error
            for confirm in confirms:
                confirm(failure)
            self._told += len(confirms)
            self._round_ended.set()
            self._round_ended.clear()
        self._task = None

    async def finish(self) -> None:
        """Waits until all is confirmed that came before this call; clients may go on sending."""
        wanted = self._asked
        while self._told < wanted:
            await self._round_ended.wait()
