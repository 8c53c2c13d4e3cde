"""A clean stop on SIGTERM and Ctrl-C, within a time of grace.

Rules: the first signal asks the member to finish its batches, write its checkpoints and hand over;
the second, or the end of the grace, ends the process at once and says what that costs. A process
that does not end by itself even then is ended here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidegate.commands.codes import Code
from tidegate.commands.early import SIGNALS, end_when_asked
from tidegate.runtime import Runtime

_LAST_S = 3.0


class Stopping:
    """See the module."""

    def __init__(self, runtime: Runtime, grace_s: float, say: Callable[[str], None]) -> None:
        self._runtime = runtime
        self._grace_s = grace_s
        self._say = say
        self._task: asyncio.Task[object] | None = None
        self._loop = asyncio.get_running_loop()
        self._grace: asyncio.TimerHandle | None = None
        self.is_cut = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Listens to signals while the current task runs the member."""
        self._task = asyncio.current_task()
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self.on_signal)
        try:
            yield
        finally:
            for number in SIGNALS:
                self._loop.remove_signal_handler(number)
            self._after()
            if self._grace is not None:
                self._grace.cancel()

    def _after(self) -> None:
        """What is left is to close; where the process is being cut, that has its own end."""
        if not self.is_cut:
            end_when_asked()
            return
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def on_signal(self) -> None:
        if self._grace is not None:
            self._cut("asked a second time")
            return
        self._say(
            "batches are finished, checkpoints written and partitions handed over, for at most "
            f"{self._grace_s:g} s. Ask again to end at once."
        )
        self._grace = self._loop.call_later(
            self._grace_s, self._cut, f"the {self._grace_s:g} s of grace are over"
        )
        self._runtime.stop()

    def _cut(self, why: str) -> None:
        if self.is_cut:
            return
        self.is_cut = True
        self._say(f"the process ends before that is done: {why}. {self.cost()}")
        # What hangs may hang on: a handler that blocks the loop, storage that does not answer.
        guard = threading.Timer(_LAST_S, os._exit, (Code.CUT,))
        guard.daemon = True
        guard.start()
        if self._task is not None:
            self._task.cancel()

    def cost(self) -> str:
        """What an end at once means for the partitions that are still ours."""
        held = sorted(self._runtime.member.tenures)
        if not held:
            return "No partition is ours any more: nothing is handled twice."
        return (
            f"Partitions {', '.join(held)} were not handed over: others wait for their leases to "
            "end, and what was handled since their last checkpoints is handled again."
        )
