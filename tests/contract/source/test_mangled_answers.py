"""Our own receiver gives events or an error of the source, for any bytes from a hub."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from contract.source.hubs import SourceWorld
from tidegate.model import BEGINNING
from tidegate.ports import SourceError
from tidegate.sources.eventhubs import NativeSource
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow

TRIES = 40
# A frame whose length was spoilt is waited for until then.
PATIENCE_S = 2.0


@dataclass(slots=True)
class Spoiler:
    """A way to the hub on which some of what the hub sends is spoilt."""

    target_port: int
    dice: random.Random
    port: int = 0
    share: float = 0.0
    spoilt: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", self.target_port)
        there = asyncio.create_task(self._carry(reader, ours, is_spoilt=False))
        back = asyncio.create_task(self._carry(theirs, writer, is_spoilt=True))
        self.tasks |= {there, back}
        await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        for line in (ours, writer):
            line.close()

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_spoilt: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                if is_spoilt and self.dice.random() < self.share:
                    data = self._spoil(bytearray(data))
                sink.write(data)
                await sink.drain()

    def _spoil(self, data: bytearray) -> bytes:
        self.spoilt += 1
        match self.dice.randrange(4):
            case 0:
                for _ in range(self.dice.randrange(1, 6)):
                    data[self.dice.randrange(len(data))] = self.dice.randrange(256)
            case 1:
                at = self.dice.randrange(len(data))
                del data[at : at + self.dice.randrange(1, 20)]
            case 2:
                at = self.dice.randrange(len(data) + 1)
                data[at:at] = self.dice.randbytes(self.dice.randrange(1, 20))
            case _:
                data[:] = self.dice.randbytes(len(data))
        return bytes(data)


@asynccontextmanager
async def a_spoiler(port: int, seed: int) -> AsyncIterator[Spoiler]:
    spoiler = Spoiler(port, random.Random(seed))
    server = await asyncio.start_server(spoiler.client, "127.0.0.1", 0)
    spoiler.port = server.sockets[0].getsockname()[1]
    try:
        yield spoiler
    finally:
        server.close()
        for task in spoiler.tasks:
            task.cancel()
        await asyncio.gather(*spoiler.tasks, return_exceptions=True)


@pytest.mark.parametrize("seed", range(3))
async def test_bytes_that_are_none_end_what_was_asked_and_nothing_else(
    hub_server: RunningHub, seed: int
) -> None:
    world = SourceWorld(hub_server, "native")
    try:
        await asyncio.to_thread(world.send, [f"event {number}".encode() for number in range(50)])
        async with a_spoiler(hub_server.port, seed) as spoiler:
            text = hub_server.connection_string
            text = text.replace(f":{hub_server.port}", f":{spoiler.port}")
            refused = await spoiled_tries(spoiler, text, world.hub)
            assert spoiler.spoilt > TRIES / 2
            assert refused > TRIES / 4
            # The bytes are right again.
            spoiler.share = 0.0
            assert await tried(text, world.hub) > 0
    finally:
        await world.close()


async def spoiled_tries(spoiler: Spoiler, text: str, hub: str) -> int:
    refused = 0
    for _ in range(TRIES):
        spoiler.share = spoiler.dice.choice((0.1, 0.4))
        try:
            await tried(text, hub)
        except (SourceError, TimeoutError):
            refused += 1
    return refused


async def tried(text: str, hub: str) -> int:
    """How many events were read."""
    source = NativeSource(text, hub, "$default")
    try:
        async with asyncio.timeout(PATIENCE_S):
            await source.partitions()
            await source.end("0")
            reader = source.reader("0", BEGINNING, 1)
            try:
                await reader.open()
                return len(await reader.receive())
            finally:
                await reader.close()
    finally:
        await source.close()
