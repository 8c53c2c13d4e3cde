"""Reads turns in a Python worker of Spark's: a thread with a loop, and readers that stay attached.

Rules:
- One for each process, made by the first task that it runs. Connections and links outlive tasks, so
  that a turn which goes on where the last one ended costs no attach; what begins elsewhere, or
  under another epoch, is attached anew.
- A reader that no turn wanted for a while is closed. One whose place somebody else took is no
  matter until a turn wants it.
- Tasks wait in their own thread; nothing that is asked of the hub waits for another partition.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from tidegate.model import PartitionId
from tidegate.ports import SourceError, StolenError
from tidegate.sources.eventhubs import NativeSource
from tidegate.sources.native.event import Event
from tidegate.sources.native.reader import NativeReader
from tidegate.sources.native.requests import PartitionFacts
from tidegate.spark.desk_client import DeskClient
from tidegate.spark.feed_fetching import Container, FeedFetch
from tidegate.spark.hub_place import HubPlace
from tidegate.spark.positions import Turn
from tidegate.spark.source_place import SourcePlace
from tidegate.spark.tasks import DeskPlace
from tidegate.spark.turn_room import TurnRoom

T = TypeVar("T")
AnyFetch: TypeAlias = "Fetch | FeedFetch"

# So much is gathered before it becomes a batch of Arrow.
_PIECE_BYTES = 2 << 20
_IDLE_S = 20.0
_READER_BYTES = 4 << 20


@dataclass(slots=True)
class _Attached:
    """A reader and where it stands: the last event that it gave to a turn."""

    reader: NativeReader
    room: TurnRoom
    epoch: int | None
    stands: int
    # What came beyond the last turn.
    ahead: list[bytes] = field(default_factory=list)
    idle_since: float | None = None


class Fetch:
    """A turn under way. Its coroutines run on the fetcher's loop."""

    def __init__(self, hub: Hub, turn: Turn, epoch: int | None) -> None:
        self.turn = turn
        self._hub = hub
        self._epoch = epoch
        self._attached: _Attached | None = None
        self._error: StolenError | SourceError | None = None

    async def open(self) -> None:
        """Attaches, or goes on; why that failed is told by `next`."""
        try:
            self._attached = await self._hub.attached(self.turn, self._epoch)
        except (StolenError, SourceError) as error:
            self._error = error

    async def next(self) -> list[bytes]:
        """The next messages, as many as make a piece, or end the turn; none where it is quiet.

        Raises StolenError and SourceError, after all that came before.
        """
        if self._error is not None:
            raise self._error
        attached = self._attached
        assert attached is not None, "opened before"
        found, attached.ahead = attached.ahead, []
        size = sum(map(len, found))
        while size < _PIECE_BYTES and not (found and self._ends_with(found[-1])):
            try:
                got = await attached.reader.receive_payloads()
            except (StolenError, SourceError) as error:
                self._error = error
                if found:
                    return found
                raise
            if not got:
                break
            found += got
            size += sum(map(len, got))
        return found

    def _ends_with(self, payload: bytes) -> bool:
        return Event(payload).sequence_number >= self.turn.to

    def put_back(self, payloads: list[bytes]) -> None:
        """They are beyond the turn: the next one begins with them."""
        if self._attached is not None:
            self._attached.ahead = payloads

    async def facts(self) -> PartitionFacts:
        return await self._hub.source.facts(self.turn.partition)

    async def end(self, stands: int | None) -> None:
        """The turn is over, and its reader stands there; None: it failed."""
        if self._attached is not None:
            await self._hub.release(self.turn.partition, self._attached, stands)


class Hub:
    """One hub: a connection, and its readers. On the fetcher's loop alone."""

    def __init__(self, source: NativeSource) -> None:
        self.source = source
        self._attached: dict[PartitionId, _Attached] = {}
        self._closing = asyncio.get_running_loop().create_task(self._close_idle())

    async def attached(self, turn: Turn, epoch: int | None) -> _Attached:
        """A reader that gives what comes in the turn. Raises StolenError and SourceError."""
        old = self._attached.pop(turn.partition, None)
        if old is not None and (
            old.epoch == epoch
            and old.stands == turn.after.sequence
            and old.idle_since is not None
            and old.reader.is_attached
        ):
            old.idle_since = None
            old.room.left = turn.events - len(old.ahead)
            old.reader.renew_credit()
            self._attached[turn.partition] = old
            return old
        room = TurnRoom(_READER_BYTES, left=turn.events)
        if old is not None:
            room.mean_bytes = old.room.mean_bytes
            await old.reader.close()
        reader = self.source.reader(turn.partition, turn.after, epoch, room)
        made = _Attached(reader, room, epoch, turn.after.sequence)
        try:
            await reader.open()
        except BaseException:
            await reader.close()
            raise
        self._attached[turn.partition] = made
        return made

    async def release(
        self, partition: PartitionId, attached: _Attached, stands: int | None
    ) -> None:
        if stands is not None and attached.reader.is_attached:
            attached.stands = stands
            attached.idle_since = asyncio.get_running_loop().time()
            return
        if self._attached.get(partition) is attached:
            del self._attached[partition]
        await attached.reader.close()

    async def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_IDLE_S / 4)
            for partition, attached in list(self._attached.items()):
                since = attached.idle_since
                if since is not None and loop.time() - since >= _IDLE_S:
                    del self._attached[partition]
                    await attached.reader.close()

    async def close(self) -> None:
        self._closing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._closing
        await self.source.close()


class Fetcher:
    """See the module. Its methods are a task's: they wait in its thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tidegate-fetcher", daemon=True
        )
        self._thread.start()
        self._hubs: dict[SourcePlace, Hub | Container] = {}
        self._desks: dict[DeskPlace, DeskClient] = {}

    def begin(self, place: SourcePlace, turns: Iterable[tuple[Turn, int | None]]) -> list[AnyFetch]:
        """Begins turns, each with its epoch, all at once."""
        return self.run(self._begin(place, tuple(turns)))

    async def _begin(
        self, place: SourcePlace, turns: tuple[tuple[Turn, int | None], ...]
    ) -> list[AnyFetch]:
        hub = await self._hub(place)
        fetches: list[AnyFetch] = [
            FeedFetch(hub, turn) if isinstance(hub, Container) else Fetch(hub, turn, epoch)
            for turn, epoch in turns
        ]
        await asyncio.gather(*(fetch.open() for fetch in fetches))
        return fetches

    async def _hub(self, place: SourcePlace) -> Hub | Container:
        found = self._hubs.get(place)
        if found is None:
            credential: Any = None
            if place.has_identity:
                # Imported here: only who uses an identity pays the time that this import takes.
                from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

                credential = DefaultAzureCredential()
            found = _opened(place, credential)
            self._hubs[place] = found
        return found

    def desk(self, desk: DeskPlace) -> DeskClient:
        """The office's desk, by a connection that is kept."""
        found = self._desks.get(desk)
        if found is None:
            found = self._desks[desk] = DeskClient(desk.address, desk.token)
        return found

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives on the loop."""
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    def close(self) -> None:
        """Ends all of it; a worker just ends."""
        for desk in self._desks.values():
            desk.close()
        self.run(self._close_hubs())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close_hubs(self) -> None:
        for hub in self._hubs.values():
            await hub.close()
        await self._loop.shutdown_default_executor()


def _opened(place: SourcePlace, credential: Any) -> Hub | Container:
    if isinstance(place, HubPlace):
        return Hub(place.source(credential))
    return Container(place.source(credential))


_of_process: tuple[int, Fetcher] | None = None


def fetcher() -> Fetcher:
    """The one of this process."""
    global _of_process  # noqa: PLW0603 - what outlives tasks has no other place in a worker
    if _of_process is None or _of_process[0] != os.getpid():
        _of_process = (os.getpid(), Fetcher())
    return _of_process[1]
