"""The thread that renews leases: a loop and a connection of its own (rule 2).

A handler that blocks the main loop cannot stop it. Which lease is due is decided by
member/keeper.py; here it is carried out, and what came of it is told to the main loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from tidegate import event_loop
from tidegate.member.keeper import Keeper
from tidegate.member.messages import Keep, LetGo, RenewalRefused, Renewed
from tidegate.member.steps import LOST
from tidegate.model import PartitionId
from tidegate.ports import Ledger, LedgerError, Refusal, Renew
from tidegate.settings import MemberSettings

_STOP_S = 10.0


class KeepingThread:
    """Renews what it is told to keep until it is stopped."""

    def __init__(
        self,
        settings: MemberSettings,
        new_ledger: Callable[[], Ledger],
        tell: Callable[[Renewed | RenewalRefused], None],
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._keeper = Keeper(settings)
        self._new_ledger = new_ledger
        self._tell = tell
        self._clock = clock
        self._beats: dict[PartitionId, float] = {}
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._run, name="tidegate-keeper", daemon=True)

    # --- called from the main loop

    def start(self) -> None:
        self._thread.start()
        self._loop = self._started.result(_STOP_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_S)

    def keep(self, keep: Keep) -> None:
        self._loop.call_soon_threadsafe(self._on_keep, keep)

    def let_go(self, command: LetGo) -> None:
        self._loop.call_soon_threadsafe(self._keeper.let_go, command.partition)

    def beat(self, partition: PartitionId) -> None:
        """A reader gives a sign of life."""
        self._beats[partition] = self._clock()

    def forget(self, partition: PartitionId) -> None:
        """A reader is closed: it need give no sign."""
        self._beats.pop(partition, None)

    # --- on the thread

    def _run(self) -> None:
        event_loop.run(self._serve())

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        ledger = self._new_ledger()
        self._started.set_result(asyncio.get_running_loop())
        try:
            async with asyncio.TaskGroup() as tasks:
                renewing: set[asyncio.Task[None]] = set()
                while not self._stopping.is_set():
                    for keep in self._keeper.due(self._clock(), self._is_silent):
                        task = tasks.create_task(self._renew(ledger, keep))
                        renewing.add(task)
                        task.add_done_callback(renewing.discard)
                    await self._wait()
                # Nothing is ours any more: storage may take long to say so.
                for task in renewing:
                    task.cancel()
        finally:
            await ledger.close()

    async def _wait(self) -> None:
        pause = min(max(self._keeper.wake_at - self._clock(), 0.0), 1.0)
        self._changed.clear()
        waits = [
            asyncio.ensure_future(self._changed.wait()),
            asyncio.ensure_future(self._stopping.wait()),
        ]
        await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    def _on_keep(self, keep: Keep) -> None:
        self._keeper.keep(keep)
        self._changed.set()

    def _is_silent(self, partition: PartitionId) -> bool:
        beat = self._beats.get(partition)
        return beat is not None and self._clock() - beat > self._settings.reader_silence_s

    async def _renew(self, ledger: Ledger, keep: Keep) -> None:
        sent_at = self._clock()
        refusal: Refusal | None = None
        try:
            await ledger.perform(Renew(keep.partition, keep.lease_id, keep.etag))
        except LedgerError as error:
            refusal = error.refusal
        now = self._clock()
        self._keeper.ended(keep, sent_at, now, refusal)
        # The thread may sleep until something that is due later.
        self._changed.set()
        if refusal is None:
            self._tell(Renewed(now, sent_at, keep.partition, keep.lease_id))
        elif refusal not in LOST:
            self._tell(RenewalRefused(now, keep.partition, keep.lease_id, keep.etag, refusal))
