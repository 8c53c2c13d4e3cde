"""One reader at work: receives, hands to the handler in order, says how far it has come.

Rules:
- The keeper sees a sign of life after every receive, and again and again while the handler has
  events; a handler that hangs past its limit ends the reader, a receive that hangs shows nothing.
- It is asked to close at any time, also while it opens: that waits for nothing of the source.
- The handler's `close` comes before the end is told: nobody else reads before `on_close` is done.
  It is a sign of life, too; what hangs in it ends with the limits of every call.
- What an abandoned handler still says after the end is not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tidegate.handling import NEVER, Close, HungError, NewHandler, Opening, Outcome
from tidegate.keeping import KeepingThread
from tidegate.member import messages as m
from tidegate.model import PartitionEnd, Position
from tidegate.ports import Source, SourceError, SourceEvent, StolenError

_BEAT_S = 2.0
_NO_EVENTS: tuple[SourceEvent, ...] = ()


class RunningReader:
    """From OpenReader to ReaderClosed, or to the source's own end."""

    def __init__(
        self,
        command: m.OpenReader,
        source: Source,
        new_handler: NewHandler,
        tell: Callable[[m.Event], None],
        keeping: KeepingThread,
        clock: Callable[[], float],
    ) -> None:
        self.partition = command.partition
        self.serial = command.serial
        self._reader = source.reader(command.partition, command.position, command.epoch)
        opening = Opening(command.partition, command.position, command.epoch, command.state)
        self._handler = new_handler(opening, self._on_outcome)
        self._tell = tell
        self._keeping = keeping
        self._clock = clock
        self._closing = asyncio.Event()
        self._dropping = asyncio.Event()
        self._is_handling = False
        self._receiving: asyncio.Future[Sequence[SourceEvent]] | None = None
        self.ended = asyncio.Event()

    def ask_to_close(self, *, drain: bool) -> None:
        self._closing.set()
        self._handler.finish()
        if not drain:
            self._dropping.set()

    def checkpointed(self, position: Position) -> None:
        self._handler.checkpointed(position)

    @property
    def known_end(self) -> PartitionEnd | None:
        """How far the partition has come, as the source said with the last event."""
        return self._reader.known_end

    async def run(self) -> None:
        """Reads until it is asked to close, or the source ends it."""
        work = asyncio.create_task(self._work())
        dropping = asyncio.create_task(self._dropping.wait())
        beating = asyncio.create_task(self._beat())
        await asyncio.wait([work, dropping], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
        dropping.cancel()
        error = None if work.cancelled() else work.exception()
        # A slow `on_close` keeps the lease: the next owner waits for it.
        self._is_handling = True
        try:
            await self._handler.close(self._why(error))
        finally:
            beating.cancel()
            self._keeping.forget(self.partition)
        self._tell(self._end(error))
        self.ended.set()
        # Nothing more is handled. The connection may take its time to close: the next owner's
        # higher epoch does not wait for it.
        await self._reader.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_BEAT_S)
            if self._is_handling:
                self._keeping.beat(self.partition)

    async def _work(self) -> None:
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            if await self._opened(closing):
                await self._handler.open()
                self._tell(m.ReaderOpened(self._clock(), self.partition, self.serial))
            while not self._closing.is_set():
                events = await self._received(closing)
                self._keeping.beat(self.partition)
                if events or self._clock() >= self._handler.wake_at:
                    self._is_handling = True
                    await self._handler.handle(events)
                    self._is_handling = False
        finally:
            waits = [wait for wait in (closing, self._receiving) if wait is not None]
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _opened(self, closing: asyncio.Future[Any]) -> bool:
        """Whether it is open; not if it is asked to close meanwhile: the source may be away."""
        opening = asyncio.ensure_future(self._reader.open())
        try:
            await asyncio.wait([opening, closing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            opening.cancel()
            await asyncio.wait([opening])
        if opening.cancelled():
            return False
        opening.result()
        return True

    async def _received(self, closing: asyncio.Future[Any]) -> Sequence[SourceEvent]:
        """The next events; none as soon as the reader is asked to close or the handler wakes."""
        if self._receiving is None:
            self._receiving = asyncio.ensure_future(self._reader.receive())
        wake_at = self._handler.wake_at
        pause = None if wake_at == NEVER else max(wake_at - self._clock(), 0.0)
        waits: list[asyncio.Future[Any]] = [self._receiving, closing]
        await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        if not self._receiving.done() or closing.done():
            return _NO_EVENTS
        received, self._receiving = self._receiving, None
        return received.result()

    def _on_outcome(self, outcome: Outcome) -> None:
        if not self.ended.is_set():
            self._tell(
                m.Handled(
                    self._clock(),
                    self.partition,
                    self.serial,
                    outcome.position,
                    outcome.enqueued_at,
                    outcome.state,
                    outcome.is_due,
                )
            )

    def _why(self, error: BaseException | None) -> Close:
        if isinstance(error, StolenError):
            return Close.STOLEN
        if error is not None:
            return Close.FAILED
        return Close.DROPPED if self._dropping.is_set() else Close.GIVEN

    def _end(self, error: BaseException | None) -> m.Event:
        """What the end means; an error that is neither the source's nor a hang is the caller's."""
        now = self._clock()
        if error is None:
            return m.ReaderClosed(now, self.partition, self.serial)
        if isinstance(error, StolenError):
            return m.ReaderRefused(now, self.partition, self.serial, error.level)
        if isinstance(error, SourceError):
            return m.ReaderFailed(
                now, self.partition, self.serial, str(error), is_fatal=error.is_fatal
            )
        if isinstance(error, HungError):
            error.on_return(self._say_returned)
            return m.ReaderGaveUp(now, self.partition, self.serial, str(error))
        raise error

    def _say_returned(self) -> None:
        self._tell(m.HandlerReturned(self._clock(), self.partition, self.serial))
