"""The keeper's thread of one process: renews leases, whatever the main loop does.

Only a pause of the whole process stops it. What it finds is a notice to the main loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.member import messages as m
from tidegate.member.keeper import Keeper
from tidegate.member.steps import LOST
from tidegate.model import PartitionId
from tidegate.ports import Refusal, Renew, Reply

if TYPE_CHECKING:
    from simulation.process import Process

_POLL_S = 1.0


class KeeperThread:
    """See the module."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._keeper = Keeper(process.settings)
        self._due: float | None = None

    def keep(self, keep: m.Keep) -> None:
        self._keeper.keep(keep)
        self._plan()

    def let_go(self, partition: PartitionId) -> None:
        self._keeper.let_go(partition)

    def _plan(self) -> None:
        wake_at = self._keeper.wake_at
        if wake_at == float("inf"):
            return
        clock = self._process.world.clock
        due = max(self._process.when(wake_at), clock.now)
        if self._due is None or due < self._due:
            self._due = due
            clock.at(due, self.on_time, due)

    def on_time(self, due: float | None = None) -> None:
        """It is time, or the process goes on after a pause."""
        if due is not None:
            if due != self._due:
                return
            self._due = None
        process = self._process
        if process.is_dead or process.halts:
            return
        now = process.local() + 1e-6
        for keep in self._keeper.due(now, self._is_silent):
            self._renew(keep)
        if self._keeper.wake_at <= now:
            # A reader is silent: it is looked at again and again.
            self._due = process.world.clock.now + _POLL_S
            process.world.clock.at(self._due, self.on_time, self._due)
        else:
            self._plan()

    def _is_silent(self, partition: PartitionId) -> bool:
        """No reader can give a sign of life while the loop is blocked."""
        process = self._process
        silent_s = (process.world.clock.now - process.loop_ran_at) * process.rate
        return silent_s > process.settings.reader_silence_s and partition in process.readers

    def _renew(self, keep: m.Keep) -> None:
        process = self._process
        sent_at = process.local()

        def done(_: Reply, refusal: Refusal | None) -> None:
            self._on_renewed(keep, sent_at, refusal)

        operation = Renew(keep.partition, keep.lease_id, keep.etag)
        process.world.storage.call(process.who, process.name, operation, done)

    def _on_renewed(self, keep: m.Keep, sent_at: float, refusal: Refusal | None) -> None:
        process = self._process
        if process.is_dead:
            return
        if process.halts:
            # Told to the thread once the process goes on.
            process.notices.append(lambda: self._on_renewed(keep, sent_at, refusal))
            return
        now = process.local()
        self._keeper.ended(keep, sent_at, now, refusal)
        self._plan()
        partition, lease_id = keep.partition, keep.lease_id
        if refusal is None:
            process.notice(process.feed, m.Renewed(now, sent_at, partition, lease_id))
        elif refusal not in LOST:
            refused = m.RenewalRefused(now, partition, lease_id, keep.etag, refusal)
            process.notice(process.feed, refused)
