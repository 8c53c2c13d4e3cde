"""Our members of the group: one for each live executor, each a Runtime of its own.

Rules:
- A member is there as long as its executor is. One whose executor is gone stops as any member does:
  its partitions go to the others between batches.
- Each announces its own figures, by its own board and meter; what happens to any of them is told to
  the office's observer besides.
- The lease ids of each are kept in a file of its own, so that a driver that is restarted in place
  finds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tidegate.admission import Admission
from tidegate.commands.ends import tell_figures
from tidegate.handling import NewHandler
from tidegate.model import Listing, MemberName
from tidegate.ops.board import Board
from tidegate.ops.meter import Meter
from tidegate.ops.observer import Observer, Observers
from tidegate.ops.witness import Witness
from tidegate.ports import Ledger
from tidegate.runtime import Runtime
from tidegate.scratch import Scratch, ScratchTakenError
from tidegate.settings import MemberSettings, SettingsError
from tidegate.spark.held import HeldSource, Holder


@dataclass(frozen=True, slots=True)
class MemberTools:
    """What members are made of. `settings` are all members', with the driver's name."""

    settings: MemberSettings
    new_ledger: Callable[[], Ledger]
    source: HeldSource
    new_handlers: Callable[[Holder], NewHandler]
    observer: Observer
    scratch: Path | None
    clock: Callable[[], float]
    # Takes secrets out of what members announce.
    hide: Callable[[str], str]
    new_admission: Callable[[], Admission]


class _Member:
    """One of them, running."""

    def __init__(self, tools: MemberTools, name: MemberName) -> None:
        self.board = Board(name)
        self.board.lineage = tools.source.lineage
        meter = Meter(self.board, tools.clock)
        observer = Observers(self.board, meter, tools.observer)
        self._scratch = _scratch(tools.scratch, name)
        self.runtime = Runtime(
            replace(tools.settings, name=name),
            tools.new_ledger,
            tools.source,
            tools.new_handlers(Holder(name, observer)),
            scratch=self._scratch,
            report=lambda _: None,  # heard by `watch`, as everything else
            watch=Witness(observer, tools.clock).watch,
            clock=tools.clock,
            admission=tools.new_admission(),
        )
        every_s = tools.settings.figures_every_s
        self._figures = partial(tell_figures, self.runtime, self.board, meter, every_s, tools.hide)
        self.is_stopping = False

    async def run(self) -> None:
        try:
            await self.runtime.run(self._figures)
            if self._scratch is not None:
                # It has handed over, and Spark gives no number twice.
                self._scratch.remove()
        finally:
            if self._scratch is not None:
                self._scratch.close()

    def stop(self) -> None:
        if not self.is_stopping:
            self.is_stopping = True
            self.runtime.stop()


class Members:
    """See the module. Used on the office's loop; `tasks` ends with the office."""

    def __init__(self, tools: MemberTools, tasks: asyncio.TaskGroup) -> None:
        self._tools = tools
        self._tasks = tasks
        self._wanted: frozenset[MemberName] = frozenset()
        self._running: dict[MemberName, _Member] = {}
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def follow(self, ids: Iterable[str]) -> None:
        """These executors live, and no others."""
        self._wanted = frozenset(f"{self._tools.settings.name}-x{id}" for id in ids)
        for name, member in self._running.items():
            if name not in self._wanted:
                member.stop()
        for name in sorted(self._wanted - self._running.keys()):
            self._start(name)

    @property
    def names(self) -> frozenset[MemberName]:
        return frozenset(self._running)

    def group(self) -> tuple[Listing | None, frozenset[MemberName]]:
        """What the ledger was seen to say last, and which of its members are ours."""
        boards = [m.board for m in self._running.values() if m.board.listed_at is not None]
        last = max(boards, key=lambda board: board.listed_at or 0.0, default=None)
        return (None if last is None else last.listing), self.names

    async def stop(self) -> None:
        """All hand over what they hold, and leave."""
        self.follow(())
        await self._is_empty.wait()

    def _start(self, name: MemberName) -> None:
        self._running[name] = member = _Member(self._tools, name)
        self._is_empty.clear()
        self._tasks.create_task(self._run(name, member), name=name)

    async def _run(self, name: MemberName, member: _Member) -> None:
        try:
            await member.run()
        finally:
            del self._running[name]
            if not self._running:
                self._is_empty.set()
        if name in self._wanted:
            # Its executor came back while it was leaving.
            self._start(name)


def _scratch(folder: Path | None, name: MemberName) -> Scratch | None:
    if folder is None:
        return None
    path = folder / f"{name}.leases"
    try:
        return Scratch(path)
    except (OSError, ScratchTakenError) as error:
        raise SettingsError(f"the folder for leases: {path}: {error}") from None
