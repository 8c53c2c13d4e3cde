"""A hub of a test's own, events for it, and readers of either transport over it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from support.amqp_peer import Peer, SocketLine
from support.hub_messages import batch, data
from tidegate.model import BEGINNING, PartitionEnd, PartitionId, Position
from tidegate.ports import Reader, Source
from tidegate.sources.eventhubs import NativeSource
from tidegate.sources.eventhubs_sdk import SdkSource
from tidegate.sources.start import Start
from tidegate_amqp import Accepted
from tidegate_amqp.sections import BATCH_FORMAT
from tidegate_hub.testing import RunningHub

_numbers = itertools.count(1)

PARTITIONS = 2
_LARGEST_BATCH = 200
_LARGEST_BYTES = 500_000


class TestedSource(Source, Protocol):
    """What both transports offer."""

    async def end(self, partition: PartitionId) -> PartitionEnd: ...


class SourceWorld:
    """One hub, read by one transport."""

    def __init__(self, server: RunningHub, transport: str) -> None:
        self.server = server
        self.transport = transport
        self.hub = f"source-{transport}-{next(_numbers)}"
        server.add_hub(self.hub, PARTITIONS, ["analytics"])
        self._sources: list[TestedSource] = []
        self._readers: list[Reader] = []

    # --- ours

    def source(
        self, start: Start | None = None, *, group: str = "$default", hub: str = "", **options: Any
    ) -> TestedSource:
        text = self.server.connection_string
        made: TestedSource
        if self.transport == "native":
            made = NativeSource(text, hub or self.hub, group, start, **options)
        else:
            made = SdkSource(text, hub or self.hub, group, start)
        self._sources.append(made)
        return made

    def reader(
        self,
        partition: str = "0",
        position: Position = BEGINNING,
        epoch: int = 1,
        source: Source | None = None,
    ) -> Reader:
        """A reader, not open yet; the test's end closes it."""
        made = (source or self.source()).reader(partition, position, epoch)
        self._readers.append(made)
        return made

    async def close(self) -> None:
        for reader in self._readers:
            await reader.close()
        for source in self._sources:
            await source.close()

    # --- the hub's

    def send(self, bodies: Iterable[bytes], partition: str = "0") -> None:
        """Stores events, in order."""
        self.send_messages([data(body) for body in bodies], partition)

    def send_messages(self, messages: list[bytes], partition: str = "0") -> None:
        with Peer(SocketLine(self.server.port)) as peer:
            link = peer.attach_sender(f"{self.hub}/Partitions/{partition}")
            most = max(1, min(_LARGEST_BATCH, _LARGEST_BYTES // max(map(len, messages))))
            for at in range(0, len(messages), most):
                part = batch(*messages[at : at + most])
                assert peer.publish(link, part, message_format=BATCH_FORMAT) == Accepted()

    def inject(self, kind: str, **fields: Any) -> str:
        return self.server.inject(kind, hub=self.hub, **fields)


async def events_from(reader: Reader, count: int, seconds: float = 60.0) -> list[Any]:
    """So many events of a reader, and none more than it gives with them."""
    found: list[Any] = []
    async with asyncio.timeout(seconds):
        while len(found) < count:
            found += await reader.receive()
    return found


async def bodies_from(reader: Reader, count: int, seconds: float = 60.0) -> list[bytes]:
    return [event.content for event in await events_from(reader, count, seconds)]


async def failure_of(ask: Callable[[], Awaitable[object]], seconds: float = 60.0) -> Exception:
    """The error with which something ends, if need be after some tries."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            await ask()
        except Exception as error:
            return error
    raise AssertionError(f"no error came within {seconds:g} s")


async def refusal_of(reader: Reader) -> Exception:
    """Why a reader does not read. The SDK says it late: its receivers open before they attach."""
    try:
        await reader.open()
    except Exception as error:
        return error
    return await failure_of(reader.receive)
