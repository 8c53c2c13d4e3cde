"""A thread for each partition, on which its plain functions run.

Rules:
- One call after another for a partition, also across the openings of its reader: a call that was
  given up still goes first.
- The threads are daemons: one that hangs keeps no process from ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from tidegate.model import PartitionId

Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class PartitionThread:
    """Runs functions one after another."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """A future of the running loop for what the function gives."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        self._jobs.put((lambda: context.run(function, *arguments), loop, future))
        return future

    def _serve(self) -> None:
        while True:
            function, loop, future = self._jobs.get()
            try:
                outcome, error = function(), None
            except BaseException as raised:  # told to whoever waits, whatever it is
                outcome, error = None, raised
            try:
                loop.call_soon_threadsafe(_settle, future, outcome, error)
            except RuntimeError:  # the loop has ended: nobody waits any more
                return


def _settle(future: asyncio.Future[Any], outcome: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)


class Threads:
    """The threads of all partitions, made when they are needed."""

    def __init__(self) -> None:
        self._threads: dict[PartitionId, PartitionThread] = {}

    def of(self, partition: PartitionId) -> PartitionThread:
        thread = self._threads.get(partition)
        if thread is None:
            thread = self._threads[partition] = PartitionThread(f"handler-{partition}")
        return thread
