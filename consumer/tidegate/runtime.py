"""Runs one member: the only task group. Commands are carried out, what came of them is fed back.

Rules:
- member.py decides everything; nothing here knows a rule of the ledger.
- One reader a partition at a time, also across tenures: the next waits until the last has ended.
- ReaderClosed is the last that a reader says; what an abandoned handler still does is not counted.
- An operation that raises anything but LedgerError is a bug and ends the process.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping

from tidegate.admission import Admission
from tidegate.handling import NewHandler
from tidegate.keeping import KeepingThread
from tidegate.member import messages as m
from tidegate.member.member import Member
from tidegate.member.retrying import cause_of, retry_pause_s
from tidegate.member.tenure import EMPTIED
from tidegate.model import Figures, PartitionEnd, PartitionId
from tidegate.ports import Ledger, LedgerError, Source, SourceError, StolenError
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.readers import RunningReader
from tidegate.scratch import Leases, Scratch
from tidegate.settings import MemberSettings, SettingsError

# One small request: who adds partitions waits no longer than this for them to be read.
_PARTITIONS_AGAIN_S = 10.0
_HURRY_S = 0.5
_SCRATCH_AGAIN_S = 5.0


class Runtime:
    """One member of a group, running."""

    def __init__(
        self,
        settings: MemberSettings,
        new_ledger: Callable[[], Ledger],
        source: Source,
        new_handler: NewHandler,
        *,
        scratch: Scratch | None = None,
        report: Callable[[m.Report], None] = print,
        watch: Callable[[m.Event | m.Command], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        admission: Admission | None = None,
    ) -> None:
        self._settings = settings.checked()
        # Nothing is read before it has let this member in.
        self._admission = admission
        self._refused: SettingsError | None = None
        self._new_ledger = new_ledger
        self._source = source
        self._new_handler = new_handler
        self._scratch = scratch
        self._report = report
        # Sees every event before the member does, and every command before it is carried out.
        self._watch = watch
        self._clock = clock
        inherited = scratch.read() if scratch is not None else ()
        self._remembered = inherited
        # What was said of the scratch file last.
        self._scratch_trouble = ""
        # A source whose partitions come and go says how, and when a look is worth its price.
        self._lineage: Lineage = getattr(source, "lineage", FLAT)
        self._hurry: asyncio.Event = getattr(source, "hurry", asyncio.Event())
        life = uuid.uuid4().hex
        self.member = Member(self._settings, life, _guid, inherited, self._lineage)
        self._events: asyncio.Queue[m.Event] = asyncio.Queue()
        self._readers: dict[PartitionId, RunningReader] = {}
        # Questions about where partitions begin.
        self._asking: dict[PartitionId, asyncio.Task[None]] = {}
        self._is_over = False

    async def run(self, *beside: Callable[[], Coroutine[None, None, None]]) -> None:
        """Takes part in the group until `stop` was called and everything is handed over.

        What runs `beside` it is cancelled then; its errors are errors of the member. Raises
        SettingsError where the admission refuses the member, which has left by then.
        """
        self._loop = asyncio.get_running_loop()
        self._ledger = self._new_ledger()
        self._keeping = KeepingThread(
            self._settings, self._new_ledger, self._tell_threadsafe, self._clock
        )
        self._keeping.start()
        try:
            async with asyncio.TaskGroup() as self._tasks:
                self._say_scratch()
                endless = (self._watch_partitions, self._remember_again, *beside)
                running = [self._tasks.create_task(each()) for each in endless]
                await self._serve()
                # What was asked of the source is of no use any more, and may take long.
                for task in (*running, *self._asking.values()):
                    task.cancel()
        finally:
            self._keeping.stop()
            await self._ledger.close()
            await self._source.close()
        if self._refused is not None:
            raise self._refused

    def stop(self) -> None:
        """Asks for a clean stop; `run` returns when it is done."""
        self._tell(m.StopAsked(self._clock()))

    def known_ends(self) -> dict[PartitionId, PartitionEnd]:
        """How far partitions have come, as the source said with their events: costs no call."""
        ends = {partition: reader.known_end for partition, reader in self._readers.items()}
        return {partition: end for partition, end in ends.items() if end is not None}

    def measured(
        self,
        figures: Mapping[PartitionId, Figures],
        stuck: frozenset[PartitionId],
        unread: frozenset[PartitionId],
        trouble: str,
        open_circuits: frozenset[PartitionId] = frozenset(),
    ) -> None:
        """Figures of our partitions, and those in trouble, for the member to announce."""
        self._tell(m.FiguresMeasured(self._clock(), figures, stuck, unread, trouble, open_circuits))

    def weighed(self, loads: tuple[tuple[PartitionId, float], ...]) -> None:
        """The loads of our partitions that are known, for the member to announce."""
        self._tell(m.LoadsMeasured(self._clock(), loads))

    # --- events

    def _tell(self, event: m.Event) -> None:
        self._events.put_nowait(event)

    def _tell_threadsafe(self, event: m.Event) -> None:
        self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def _serve(self) -> None:
        while not self._is_over:
            event = await self._next_event()
            self._watch(event)
            for command in self.member.handle(event):
                self._watch(command)
                self._carry_out(command)

    async def _next_event(self) -> m.Event:
        if not self._events.empty():
            return self._events.get_nowait()
        pause = max(self.member.wake_at - self._clock(), 0.0)
        try:
            async with asyncio.timeout(min(pause, 3600.0)):
                return await self._events.get()
        except TimeoutError:
            return m.Woken(self._clock())

    async def _watch_partitions(self) -> None:
        known: tuple[PartitionId, ...] = ()
        cause, failures = "", 0
        while True:
            pause, asked_at = _PARTITIONS_AGAIN_S, self._clock()
            self._hurry.clear()
            try:
                found = await self._source.partitions()
                if not await self._is_admitted():
                    return
            except SourceError as error:
                failures += 1
                if failures == 1 or cause_of(str(error)) != cause:
                    cause = cause_of(str(error))
                    self._say("source-unreadable", str(error))
                pause = retry_pause_s(self._settings.name, failures, is_fatal=error.is_fatal)
            else:
                if failures:
                    self._say("source-readable", "the partitions of the source are known")
                cause, failures = "", 0
                if found != known or self._lineage is not FLAT:
                    known = found
                    self._tell(m.PartitionsKnown(self._clock(), found, asked_at))
            await self._pause(pause)

    async def _is_admitted(self) -> bool:
        """Whether this member may read. Raises SourceError if that is unknown."""
        if self._admission is None:
            return True
        try:
            await self._admission.check(self._ledger)
        except LedgerError as error:
            raise SourceError(f"the record of the source cannot be read: {error}") from error
        except SettingsError as refused:
            self._refused = refused
            self.stop()
            return False
        return True

    async def _pause(self, seconds: float) -> None:
        """Until the source is to be looked at again."""
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return
        # What follows a split, such as others' ends, takes a moment: no look comes right after one.
        await asyncio.sleep(_HURRY_S)

    def _say(self, kind: str, message: str) -> None:
        report = m.Report(kind, None, message)
        self._watch(report)
        self._carry_out(report)

    # --- the scratch file

    def _remember(self, leases: Leases) -> None:
        self._remembered = leases
        if self._scratch is not None:
            self._scratch.write(leases)
            self._say_scratch()

    async def _remember_again(self) -> None:
        """Where that did not work the last time."""
        while self._scratch is not None:
            await asyncio.sleep(_SCRATCH_AGAIN_S)
            if self._scratch.trouble:
                self._remember(self._remembered)

    def _say_scratch(self) -> None:
        trouble = self._scratch.trouble if self._scratch is not None else ""
        if trouble == self._scratch_trouble:
            return
        self._scratch_trouble = trouble
        if trouble:
            self._say("scratch-unusable", trouble)
        else:
            self._say("scratch-written", "the scratch file is written again")

    # --- commands

    def _carry_out(self, command: m.Command) -> None:
        match command:
            case m.Perform():
                self._tasks.create_task(self._perform(command))
            case m.Keep():
                self._keeping.keep(command)
            case m.LetGo():
                self._keeping.let_go(command)
            case m.ResolveStart():
                self._ask(command)
            case m.OpenReader():
                self._open(command)
            case m.CloseReader():
                reader = self._readers.get(command.partition)
                if reader is not None and reader.serial == command.serial:
                    reader.ask_to_close(drain=command.drain)
            case m.Checkpointed():
                reader = self._readers.get(command.partition)
                if reader is not None and reader.serial == command.serial:
                    reader.checkpointed(command.position)
            case m.Remember():
                self._remember(command.leases)
            case m.Report():
                if command.kind == EMPTIED and self._admission is not None:
                    self._admission.again()
                self._report(command)
            case m.Stopped():
                self._is_over = True

    async def _perform(self, command: m.Perform) -> None:
        sent_at = self._clock()
        operation = command.operation
        try:
            reply = await self._ledger.perform(operation)
        except LedgerError as error:
            now, key, asked_s = self._clock(), command.key, error.retry_after_s
            self._tell(
                m.Answered(now, sent_at, key, operation, None, error.refusal, str(error), asked_s)
            )
        else:
            self._tell(m.Answered(self._clock(), sent_at, command.key, operation, reply))

    def _ask(self, command: m.ResolveStart) -> None:
        """Asks where a partition begins, and drops an earlier question: if its lease lapsed
        meanwhile, a late failure of that would be taken for one of the reader."""
        before = self._asking.get(command.partition)
        if before is not None:
            before.cancel()
        self._asking[command.partition] = self._tasks.create_task(self._resolve(command))

    async def _resolve(self, command: m.ResolveStart) -> None:
        partition, serial = command.partition, command.serial
        try:
            if command.rewind is None:
                await self._check_unread(partition)
            position = await self._source.resolve_start(partition, command.rewind)
        except (SourceError, StolenError) as error:
            is_fatal = isinstance(error, SourceError) and error.is_fatal
            self._tell(
                m.ReaderFailed(self._clock(), partition, serial, str(error), is_fatal=is_fatal)
            )
        else:
            self._tell(m.StartResolved(self._clock(), partition, serial, position))

    async def _check_unread(self, partition: PartitionId) -> None:
        """Raises SourceError where a partition that the ledger does not know has a reader."""
        try:
            await self._source.check_unread(partition)
        except StolenError as error:
            raise SourceError(
                f"partition {partition} is read by another reader, by the same consumer group, and "
                "there is no checkpoint of it here: it is left to that reader, and tried again. "
                "If it reads by another ledger, stop it, or give it another consumer group: "
                f"{error}"
            ) from error

    def _open(self, command: m.OpenReader) -> None:
        before = self._readers.get(command.partition)
        reader = self._readers[command.partition] = RunningReader(
            command, self._source, self._new_handler, self._tell, self._keeping, self._clock
        )
        self._tasks.create_task(self._read(reader, before))

    async def _read(self, reader: RunningReader, before: RunningReader | None) -> None:
        if before is not None:
            await before.ended.wait()
        await reader.run()
        if self._readers.get(reader.partition) is reader:
            del self._readers[reader.partition]


def _guid() -> str:
    return str(uuid.uuid4())
