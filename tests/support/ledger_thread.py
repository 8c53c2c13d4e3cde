"""A ledger on a thread, an event loop and a connection of its own, for tests without a loop.

Rules: operations may be submitted from any thread, and run side by side. Closing waits for what is
under way; every operation ends within the time limit of its ledger.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from tidegate.ports import Ledger, Operation, Reply


class LedgerThread:
    """Runs a ledger, made by `make` on the thread itself, until `close`."""

    def __init__(self, make: Callable[[], Ledger], name: str = "ledger") -> None:
        self._make = make
        self._ready: Future[Ledger] = Future()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        try:
            self._ledger = self._ready.result()
        except BaseException:
            self._thread.join()
            self._loop.close()
            raise

    def submit(self, operation: Operation) -> Future[Reply]:
        """Begins an operation; its future has the reply, or the LedgerError."""
        return asyncio.run_coroutine_threadsafe(self._ledger.perform(operation), self._loop)

    def perform(self, operation: Operation) -> Reply:
        """Carries out an operation and waits for it: the reply, or a LedgerError."""
        return self.submit(operation).result()

    def close(self) -> None:
        """Waits for what is under way, then ends the thread."""
        asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self._ledger.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._ready.set_result(self._make())
        except BaseException as problem:
            self._ready.set_exception(problem)
            return
        self._loop.run_forever()
