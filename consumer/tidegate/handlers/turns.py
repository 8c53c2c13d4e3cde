"""Turns of plain calls: a bounded number runs at once, first come, first served.

delivery/limit.py decides how many; here the process is watched while calls meet. A thread sleeps
and looks how late it wakes up, which is what the event loop and the renewal of leases suffer, too.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque

from tidegate.delivery.limit import FEWEST, START, Watched, limit_after, share

_LOOK_S = 0.2
_SLEEP_S = 0.02

Turn = asyncio.Future[bool]


class Turns:
    """Of all partitions of a process. `limit` calls at the most have their turn."""

    def __init__(self, limit: int = START) -> None:
        self.limit = limit
        self._running = 0
        self._waiting: deque[Turn] = deque()
        self._sleeper: _Sleeper | None = None
        self._is_watching = False
        self._looked_at = self._cpu_s = 0.0

    @property
    def share(self) -> float:
        """The share of the target for the next call, or for one that has its turn now."""
        return share(self.limit, self._running + len(self._waiting))

    def begin(self) -> bool:
        """Take a turn if one is free; call `end` after it."""
        if self._waiting or self._running >= self.limit:
            return False
        self._running += 1
        self._watch()
        return True

    def ask(self) -> Turn:
        """A turn to wait for: True when it has come. To give up waiting, set False or cancel it;
        after a turn, call `end`."""
        turn: Turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._give()
        self._watch()
        return turn

    def end(self) -> None:
        """A call that had its turn is over, or is not waited for any more."""
        self._running -= 1
        self._give()

    def _give(self) -> None:
        while self._waiting and (self._waiting[0].done() or self._running < self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._running += 1
                turn.set_result(True)

    # --- the watch, while calls meet

    def _watch(self) -> None:
        if self._is_watching or self._running + len(self._waiting) < 2:
            return
        self._is_watching = True
        if self._sleeper is None:
            self._sleeper = _Sleeper()
        self._sleeper.begin()
        self._looked_at, self._cpu_s = time.monotonic(), time.process_time()
        asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        assert self._sleeper is not None
        late_s = self._sleeper.late_s
        if len(late_s) < FEWEST:
            asyncio.get_running_loop().call_later(_LOOK_S, self._look)
            return
        self._sleeper.end()
        now, cpu_s = time.monotonic(), time.process_time()
        used = (cpu_s - self._cpu_s) / max(now - self._looked_at, 1e-9)
        waiting = sum(not turn.done() for turn in self._waiting)
        self.limit = limit_after(self.limit, Watched(late_s, used, waiting))
        self._is_watching = False
        self._give()
        self._watch()


class _Sleeper:
    """A thread that sleeps, and how long it waited for the interpreter each time."""

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self._is_wanted = threading.Event()
        threading.Thread(target=self._sleep, name="handler-watch", daemon=True).start()

    def begin(self) -> None:
        self.late_s = []
        self._is_wanted.set()

    def end(self) -> None:
        self._is_wanted.clear()

    def _sleep(self) -> None:
        processor = _Processor()
        while True:
            self._is_wanted.wait()
            before_s, slept_at = processor.waited_s(), time.monotonic()
            time.sleep(_SLEEP_S)
            late_s = time.monotonic() - slept_at - _SLEEP_S
            # A machine that others use is no reason to let fewer calls run.
            self.late_s.append(max(late_s - (processor.waited_s() - before_s), 0.0))


class _Processor:
    """The total time that this thread has waited for a processor, if the system reports it."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._file = None

    def waited_s(self) -> float:
        return int(os.pread(self._file, 100, 0).split()[1]) / 1e9 if self._file is not None else 0.0
