"""One reader at work: receives, hands to the handler in order, says how far it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from tidegate.keeping import KeepingThread
from tidegate.member import messages as m
from tidegate.model import PartitionId
from tidegate.ports import Source, SourceError, SourceEvent, StolenError


class RunningReader:
    """From OpenReader to ReaderClosed, or to the source's own end."""

    def __init__(
        self,
        command: m.OpenReader,
        source: Source,
        handle: Callable[[PartitionId, Sequence[SourceEvent]], Awaitable[None]],
        tell: Callable[[m.Event], None],
        keeping: KeepingThread,
        clock: Callable[[], float],
    ) -> None:
        self.partition = command.partition
        self.serial = command.serial
        self._reader = source.reader(command.partition, command.position, command.epoch)
        self._handle = handle
        self._tell = tell
        self._keeping = keeping
        self._clock = clock
        self._closing = asyncio.Event()
        self._dropping = asyncio.Event()
        self.ended = asyncio.Event()

    def ask_to_close(self, *, drain: bool) -> None:
        self._closing.set()
        if not drain:
            self._dropping.set()

    async def run(self) -> None:
        """Reads until it is asked to close, or the source ends it."""
        work = asyncio.create_task(self._work())
        dropping = asyncio.create_task(self._dropping.wait())
        await asyncio.wait([work, dropping], return_when=asyncio.FIRST_COMPLETED)
        end: m.Event = m.ReaderClosed(self._clock(), self.partition, self.serial)
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
        dropping.cancel()
        if not work.cancelled():
            end = _end_of(work, end, self._clock(), self.partition, self.serial)
        self._keeping.forget(self.partition)
        self._tell(end)
        self.ended.set()
        # Nothing more is handled. The connection may take its time to close: the next owner's
        # higher epoch does not wait for it.
        await self._reader.close()

    async def _work(self) -> None:
        await self._reader.open()
        self._tell(m.ReaderOpened(self._clock(), self.partition, self.serial))
        while not self._closing.is_set():
            events = await self._received()
            self._keeping.beat(self.partition)
            if events:
                await self._handle(self.partition, events)
                last = events[-1]
                self._tell(
                    m.Handled(
                        self._clock(), self.partition, self.serial, last.position, last.enqueued_at
                    )
                )

    async def _received(self) -> Sequence[SourceEvent]:
        """The next events, or none as soon as the reader is asked to close."""
        receiving = asyncio.ensure_future(self._reader.receive())
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait([receiving, closing], return_when=asyncio.FIRST_COMPLETED)
            return receiving.result() if receiving.done() else ()
        finally:
            receiving.cancel()
            closing.cancel()
            await asyncio.gather(receiving, closing, return_exceptions=True)


def _end_of(
    work: asyncio.Task[None], closed: m.Event, now: float, partition: PartitionId, serial: int
) -> m.Event:
    """What the end of the work means; an error that is not the source's is the caller's."""
    error = work.exception()
    if error is None:
        return closed
    if isinstance(error, StolenError):
        return m.ReaderRefused(now, partition, serial, error.level)
    if isinstance(error, SourceError):
        return m.ReaderFailed(now, partition, serial, str(error))
    raise error
