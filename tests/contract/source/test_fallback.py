"""A service that drops the connection on what our receiver says is read by the official SDK.

Such a service is a relay in front of a real hub. It knows our receiver by its container id, and
cuts its connection once a given exchange has begun.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from contract.source.hubs import SourceWorld, bodies_from
from support.certificates import make_certificates
from support.wait import wait_until_async
from tidegate.commands.sources import open_hub
from tidegate.group_file.source_spec import EventHubsSpec, TransportKind
from tidegate.model import BEGINNING
from tidegate.ports import SourceError
from tidegate.sources.choose import ChosenSource
from tidegate.sources.eventhubs_sdk import SdkSource
from tidegate.sources.start import Start
from tidegate_hub.testing import running_hub

# The SDK forgets the socket of a connection that was cut, and Python warns of it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LIMIT_S = 30.0
# How the runtime asks again.
AGAIN_S = 2.0
OURS = b"tidegate-"
KEYS = "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE"
# The bytes that show how far a client has come.
EXCHANGES = {
    "the open": OURS,
    "put-token": b"put-token",
    "the request about the hub": b"com.microsoft:eventhub",
    "the attach of a reader": b"/ConsumerGroups/",
}


class Relay:
    """Passes bytes on to a hub, and cuts clients once they have sent what it does not like."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._lines: set[asyncio.Task[None]] = set()
        self.port = 0
        self.disliked: bytes | None = None
        self.only_ours = True
        self.cuts_of_ours = 0
        self.cuts_of_others = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        hub_reader, hub_writer = await asyncio.open_connection("127.0.0.1", self._target)
        back = asyncio.create_task(self._copy(hub_reader, writer))
        try:
            await self._copy(reader, hub_writer, is_watched=True)
        except ConnectionError:
            pass
        finally:
            back.cancel()
            for each in (writer, hub_writer):
                each.transport.abort()
            self._lines.discard(line)

    async def _copy(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        is_watched: bool = False,
    ) -> None:
        seen = b""
        while data := await reader.read(1 << 16):
            if is_watched:
                seen += data
                if self._dislikes(seen):
                    self.cuts_of_ours += OURS in seen
                    self.cuts_of_others += OURS not in seen
                    return
            writer.write(data)
            await writer.drain()

    def _dislikes(self, seen: bytes) -> bool:
        if self.disliked is None or (self.only_ours and OURS not in seen):
            return False
        return self.disliked in seen


class Place:
    """A hub behind a relay, and the source that a group has of it."""

    def __init__(self, world: SourceWorld, relay: Relay, source: ChosenSource) -> None:
        self.world = world
        self.relay = relay
        self.source = source
        self.said: list[str] = []

    async def read(self, count: int) -> list[bytes]:
        """Events as the runtime gets them: it asks again for what failed and may pass."""
        while True:
            reader = self.source.reader("0", BEGINNING, 1)
            try:
                assert await self.source.partitions() == ("0", "1")
                await reader.open()
                return await bodies_from(reader, count)
            except SourceError as error:
                assert not error.is_fatal, error
            finally:
                await reader.close()
            await asyncio.sleep(AGAIN_S)


@pytest_asyncio.fixture
async def place(native: SourceWorld) -> AsyncIterator[Place]:
    relay = Relay(native.server.port)
    await relay.start()
    text = native.server.connection_string.replace(f":{native.server.port}", f":{relay.port}")
    said: list[str] = []
    async with AsyncExitStack() as stack:
        spec = EventHubsSpec(native.hub, "$default")
        source = await open_hub(spec, text, stack, said.append, Start())
        assert isinstance(source, ChosenSource)
        made = Place(native, relay, source)
        made.said = said
        native.send([b"one", b"two"])
        yield made
        await source.close()
    await relay.stop()


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_what_a_service_drops_at_an_exchange_of_ours_the_sdk_reads_and_it_is_reported(
    place: Place, exchange: str
) -> None:
    place.relay.disliked = EXCHANGES[exchange]
    begun = time.monotonic()
    async with asyncio.timeout(LIMIT_S):
        assert await place.read(2) == [b"one", b"two"]
    print(f"{exchange}: {time.monotonic() - begun:.1f} s, {place.relay.cuts_of_ours} cuts")
    assert place.source.has_fallen_back
    (line,) = place.said
    assert "the official SDK reads" in line
    assert "was lost" in line


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_a_service_that_drops_everybody_is_read_by_our_receiver_once_it_is_back(
    place: Place, exchange: str
) -> None:
    relay = place.relay
    relay.only_ours = False
    # The SDK has no such id; what both say first is the name of the protocol.
    relay.disliked = b"AMQP" if exchange == "the open" else EXCHANGES[exchange]
    # Nobody asks the SDK for more than the hub's partitions.
    asks_sdk = exchange != "the attach of a reader"
    reading = asyncio.create_task(place.read(2))
    await wait_until_async(
        lambda: (
            relay.cuts_of_ours + relay.cuts_of_others >= 5
            and (relay.cuts_of_others > 0 or not asks_sdk)
        ),
        LIMIT_S,
        "our receiver and the SDK to be cut",
    )
    relay.disliked = None
    async with asyncio.timeout(LIMIT_S):
        assert await reading == [b"one", b"two"]
    assert not place.source.has_fallen_back
    assert place.said == []


@pytest.mark.parametrize("web_sockets", [False, True])
@pytest.mark.filterwarnings("ignore:ssl=None is deprecated:DeprecationWarning")
async def test_the_sdk_reads_with_tls_by_the_way_that_the_group_names(
    tmp_path: Path, web_sockets: bool
) -> None:
    made = make_certificates(tmp_path)
    with running_hub(tls_port=0, certificate=made.certificate, private_key=made.private_key) as hub:
        hub.add_hub("secure", 2)
        spec = EventHubsSpec(
            "secure",
            "$default",
            transport=TransportKind.SDK,
            web_sockets=web_sockets,
            ca_file=str(made.authority),
        )
        text = f"Endpoint=sb://localhost:{hub.tls_port};{KEYS}"
        async with AsyncExitStack() as stack:
            source = await open_hub(spec, text, stack, print, Start())
            assert isinstance(source, SdkSource)
            try:
                assert await source.partitions() == ("0", "1")
            finally:
                await source.close()
