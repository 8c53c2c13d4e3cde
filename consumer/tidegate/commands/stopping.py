"""Graceful shutdown of a member: what a signal asks for, and what an end before that costs.

Rules: the first signal asks the member to finish its batches, write its checkpoints and hand over;
the second, or the end of the grace period, ends the process at once and says what that costs.
tidegate_http.shutdown enforces both, whatever the handler does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidegate.runtime import Runtime
from tidegate_http.shutdown import SHUTDOWN, Listener


class Stopping:
    """See the module."""

    def __init__(
        self,
        runtime: Runtime,
        grace_s: float,
        say: Callable[[str], None],
        leave_view: Callable[[], object],
    ) -> None:
        self._runtime = runtime
        self._grace_s = grace_s
        self._say = say
        self._leave_view = leave_view
        self._task: asyncio.Task[object] | None = None
        self.is_cut = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Listens to signals while the current task runs the member."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        listener = Listener(self._on_asked, self._on_cut, self._on_forced, loop)
        try:
            with SHUTDOWN.listening(listener, self._grace_s):
                yield
        finally:
            SHUTDOWN.end()

    def _on_asked(self, name: str) -> None:
        self._say(
            f"stopping after {name}: the member finishes its batches, writes its checkpoints and "
            f"hands its partitions over, for at most {self._grace_s:g} s. Ask again to end at once."
        )
        self._runtime.stop()

    def _on_cut(self, why: str) -> None:
        self.is_cut = True
        self._say(f"the process ends before that is done: {why}. {self.cost()}")
        if self._task is not None:
            self._task.cancel()

    def _on_forced(self) -> str:
        self._leave_view()
        return self.cost()

    def cost(self) -> str:
        """What an end at once means for the partitions that are still ours."""
        held = sorted([*self._runtime.member.tenures])
        if not held:
            return "No partition is ours any more: nothing is handled twice."
        return (
            f"Partitions {', '.join(held)} were not handed over: others wait for their leases to "
            "end, and what was handled since their last checkpoints is handled again."
        )
