"""One task for each group: it wakes when something happened to its group, or when it is time.

Rules:
- Rounds of one group follow one another; groups are side by side, at most so many at once.
- Two rounds of a group are never closer than `closest_s`: what happens meanwhile is one wake-up.
- A round that fails harms no other group. It is tried again after a pause that doubles, with a
  dice in it, and never sooner than the server asked for; the failure is kept until a round goes
  well. There is no hot loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tidegate.ops.metrics import Times
from tidegate_operator.model import GroupKey
from tidegate_operator.pauses import asked_pause_s, pause_s
from tidegate_operator.settings import OperatorSettings

_log = logging.getLogger("tidegate.operator.workers")


@dataclass(frozen=True, slots=True)
class Round:
    """How a round ended: when to look again at the latest."""

    again_s: float
    # The group is gone, and nothing of it is left to do.
    is_over: bool = False


@dataclass(slots=True)
class RoundCounts:
    """What the rounds came to, for metrics and health."""

    failed: int = 0
    seconds: Times = field(default_factory=Times)
    # When each round that runs now began.
    running: dict[GroupKey, float] = field(default_factory=dict)


class Workers:
    """See the module. `work` is one round of a group."""

    def __init__(
        self,
        work: Callable[[GroupKey], Awaitable[Round]],
        settings: OperatorSettings,
        now: Callable[[], float],
        dice: Callable[[], float],
        expected: tuple[type[Exception], ...] = (),
    ) -> None:
        """What is expected to fail now and then is told without its traceback."""
        self._work = work
        self._expected = expected
        self._settings = settings
        self._now = now
        self._dice = dice
        self._room = asyncio.Semaphore(settings.rounds_at_once)
        self._bells: dict[GroupKey, asyncio.Event] = {}
        self._tasks: dict[GroupKey, asyncio.Task[None]] = {}
        self._is_open = False
        self.counts = RoundCounts()
        # Why a group's last round failed, in words, and since when they do.
        self.failures: dict[GroupKey, tuple[str, float]] = {}

    @property
    def groups(self) -> frozenset[GroupKey]:
        return frozenset(self._tasks)

    async def run(self, groups: Callable[[], frozenset[GroupKey]]) -> None:
        """Works on these, and on every group that is woken, until it is cancelled."""
        self._is_open = True
        try:
            for key in groups():
                self.wake(key)
            await asyncio.Event().wait()
        finally:
            self._is_open = False
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.clear()
            self._bells.clear()
            self.failures.clear()
            self.counts.running.clear()

    def wake(self, key: GroupKey) -> None:
        """Something happened to this group."""
        if not self._is_open:
            return
        if key not in self._tasks:
            self._bells[key] = asyncio.Event()
            self._tasks[key] = asyncio.create_task(self._rounds(key), name=f"group {key}")
        self._bells[key].set()

    async def _rounds(self, key: GroupKey) -> None:
        bell, failures = self._bells[key], 0
        while True:
            bell.clear()
            try:
                async with self._room:
                    ended = await self._one(key)
            except Exception as problem:
                failures += 1
                again_s = self._fail(key, failures, problem)
            else:
                failures = 0
                self.failures.pop(key, None)
                if ended.is_over and not bell.is_set():
                    del self._tasks[key], self._bells[key]
                    return
                again_s = ended.again_s
            await self._rest(bell, again_s, has_failed=failures > 0)

    async def _one(self, key: GroupKey) -> Round:
        began = self.counts.running[key] = self._now()
        try:
            return await self._work(key)
        finally:
            self.counts.running.pop(key, None)
            self.counts.seconds.add(self._now() - began)

    def _fail(self, key: GroupKey, failures: int, problem: Exception) -> float:
        self.counts.failed += 1
        is_defect = not isinstance(problem, self._expected)
        settings = self._settings
        pause = pause_s(failures, settings.first_pause_s, settings.longest_pause_s, self._dice)
        again_s = max(pause, asked_pause_s(problem))
        words = f"{type(problem).__name__}: {problem}"
        before = self.failures.get(key)
        self.failures[key] = (words, before[1] if before is not None else self._now())
        if before is None or before[0] != words:
            trace = problem if is_defect else None
            _log.error("group %s: a round failed: %s", key, words, exc_info=trace)
        return again_s

    async def _rest(self, bell: asyncio.Event, again_s: float, *, has_failed: bool) -> None:
        """Until the bell rings or it is time, never later. It does not cut a failure's pause."""
        at_least = again_s if has_failed else self._settings.closest_s
        await asyncio.sleep(at_least)
        left = again_s - at_least
        if left > 0 and not bell.is_set():
            try:
                async with asyncio.timeout(left * (1 - 0.15 * self._dice())):
                    await bell.wait()
            except TimeoutError:
                return
