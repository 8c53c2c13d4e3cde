"""Runs the scenarios of one Python client side by side, so that waiting is shared.

Rules: the SDKs wait in steps of 50 ms and more, which makes one scenario slow and many at once
cheap. The longest are last in the list, so they are begun first. They run on an event loop in a
thread of its own; each pytest case asks for the outcome of its own scenario and raises what that
raised. Scenarios that must be alone come at the end. None can see another: each has its own hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from contract.hub.scenarios import Scenario

AT_ONCE = 12
SCENARIO_SECONDS = 90.0
ALL_SECONDS = 300.0

Play = Callable[[Scenario], Awaitable[None]]


class Performance:
    """The outcome of each scenario, as a future."""

    def __init__(self, scenarios: Sequence[Scenario], play: Play) -> None:
        self._outcomes: dict[str, Future[None]] = {one.name: Future() for one in scenarios}
        self._scenarios = scenarios
        self._play = play
        self._loop: asyncio.AbstractEventLoop
        self._started = threading.Event()
        # While the scenarios run, and only then, they may be cancelled from outside.
        self._lock = threading.Lock()
        self._running: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait()

    def raise_outcome(self, name: str) -> None:
        """Await this scenario's end; raise its error, with its own traceback."""
        self._outcomes[name].result(timeout=ALL_SECONDS)

    def stop(self) -> None:
        """Cancel what is still on, as after a run that ends at its first failure."""
        with self._lock:
            if self._running is not None:
                self._loop.call_soon_threadsafe(self._running.cancel)
        self._thread.join(SCENARIO_SECONDS)
        assert not self._thread.is_alive(), "scenarios are still running after they were cancelled"

    def _run(self) -> None:
        with asyncio.Runner() as runner, contextlib.suppress(asyncio.CancelledError):
            self._loop = runner.get_loop()
            runner.run(self._all())

    async def _all(self) -> None:
        with self._lock:
            self._running = asyncio.current_task()
        self._started.set()
        try:
            await self._play_all()
        finally:
            with self._lock:
                self._running = None

    async def _play_all(self) -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4 * AT_ONCE))
        places = asyncio.Semaphore(AT_ONCE)
        together = [one for one in reversed(self._scenarios) if not one.alone]
        await asyncio.gather(*(self._one(scenario, places) for scenario in together))
        for scenario in self._scenarios:
            if scenario.alone:
                await self._one(scenario, places)

    async def _one(self, scenario: Scenario, places: asyncio.Semaphore) -> None:
        outcome = self._outcomes[scenario.name]
        try:
            async with places, asyncio.timeout(SCENARIO_SECONDS):
                await self._play(scenario)
        except asyncio.CancelledError:
            outcome.cancel()
            raise
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(None)
