"""The source that a group reads by: native, and the official SDK where that is not understood.

Rules:
- It begins native. The first NotUnderstoodError, wherever it comes from, changes the whole source
  over to the SDK, once and for good, and `report` gets the reason. Connections that the service
  drops can lead to one: see native/dropped.py.
- A reader that is open then fails with a SourceError that may pass: it is opened again, by the SDK.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from tidegate.model import PartitionEnd, PartitionId, Position, Rewind
from tidegate.ports import NotUnderstoodError, Reader, Source, SourceError, SourceEvent

T = TypeVar("T")


class EndingSource(Source, Protocol):
    """A source with an identity that reports how far its partitions have come."""

    async def end(self, partition: PartitionId) -> PartitionEnd: ...

    async def identity(self) -> str:
        """Identity of the source, under any of its names; empty if it does not say.

        Raises SourceError.
        """


class ChosenSource:
    """See the module. `fall_back` makes the other source when it is wanted."""

    def __init__(
        self,
        native: EndingSource,
        fall_back: Callable[[], EndingSource],
        report: Callable[[str], None],
    ) -> None:
        self._native = native
        self._fall_back = fall_back
        self._report = report
        self._current = native

    @property
    def has_fallen_back(self) -> bool:
        return self._current is not self._native

    async def partitions(self) -> tuple[PartitionId, ...]:
        return await self._ask(lambda source: source.partitions())

    async def end(self, partition: PartitionId) -> PartitionEnd:
        return await self._ask(lambda source: source.end(partition))

    async def check_unread(self, partition: PartitionId) -> None:
        await self._ask(lambda source: source.check_unread(partition))

    async def identity(self) -> str:
        return await self._ask(lambda source: source.identity())

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        return await self._ask(lambda source: source.resolve_start(partition, rewind))

    def reader(self, partition: PartitionId, position: Position, epoch: int) -> ChosenReader:
        return ChosenReader(self, partition, position, epoch)

    async def close(self) -> None:
        await self._native.close()
        if self.has_fallen_back:
            await self._current.close()

    @property
    def current(self) -> Source:
        return self._current

    async def _ask(self, ask: Callable[[EndingSource], Awaitable[T]]) -> T:
        asked = self._current
        try:
            return await ask(asked)
        except NotUnderstoodError as error:
            if asked is not self._native:
                raise
            self.change(error)
            return await ask(self._current)

    def change(self, error: NotUnderstoodError) -> None:
        """Reads by the SDK from now on, also where another exchange has found that before."""
        if self.has_fallen_back:
            return
        self._report(
            f"{error}. From now on the official SDK reads (transport: sdk), which takes more CPU. "
            "Write transport: sdk to begin with it."
        )
        self._current = self._fall_back()


class ChosenReader:
    """A reader of whatever source is the current one when it opens."""

    def __init__(
        self, source: ChosenSource, partition: PartitionId, position: Position, epoch: int
    ) -> None:
        self._source = source
        self._partition = partition
        self._position = position
        self._epoch = epoch
        self._reader = self._new()

    def _new(self) -> Reader:
        return self._source.current.reader(self._partition, self._position, self._epoch)

    async def open(self) -> None:
        try:
            await self._reader.open()
        except NotUnderstoodError as error:
            await self._reader.close()
            self._source.change(error)
            self._reader = self._new()
            await self._reader.open()

    async def receive(self) -> Sequence[SourceEvent]:
        try:
            return await self._reader.receive()
        except NotUnderstoodError as error:
            self._source.change(error)
            raise SourceError(str(error)) from error

    async def close(self) -> None:
        await self._reader.close()

    @property
    def known_end(self) -> PartitionEnd | None:
        return self._reader.known_end
