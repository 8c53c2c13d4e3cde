"""What our own receiver promises beside the contract: transports, tokens, many links, bytes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from azure.core.credentials import AccessToken

from contract.source.hubs import SourceWorld, bodies_from, events_from
from support.certificates import Certificates, make_certificates
from support.wait import wait_until, wait_until_async
from tidegate.model import BEGINNING
from tidegate.ports import SourceError
from tidegate.settings import SettingsError
from tidegate.sources.eventhubs import NativeSettings, NativeSource, Transport
from tidegate_hub.testing import RunningHub, running_hub

KEYS = "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secure(certificates: Certificates) -> Iterator[RunningHub]:
    """A hub with TLS that checks tokens."""
    with running_hub(
        check_sas=True,
        tls_port=0,
        certificate=certificates.certificate,
        private_key=certificates.private_key,
    ) as hub:
        hub.add_hub("secure", 2)
        yield hub


def trusting(certificates: Certificates, **more: Any) -> NativeSettings:
    return NativeSettings(ca_file=str(certificates.authority), **more)


async def reads(source: NativeSource) -> None:
    """One source asks and reads, and is closed."""
    try:
        assert await source.partitions() == ("0", "1")
        reader = source.reader("0", BEGINNING, 1)
        await reader.open()
        await reader.close()
    finally:
        await source.close()


@pytest.mark.parametrize("transport", list(Transport))
async def test_it_reads_with_tls_and_a_signature_that_is_checked(
    secure: RunningHub, certificates: Certificates, transport: Transport
) -> None:
    text = f"Endpoint=sb://localhost:{secure.tls_port};{KEYS}"
    await reads(
        NativeSource(
            text, "secure", "$default", transport=transport, settings=trusting(certificates)
        )
    )


async def test_it_reads_over_plain_websockets(native: SourceWorld) -> None:
    bodies = [b"x" * size for size in (1, 100, 70_000, 100_000)]
    native.send(bodies)
    reader = native.reader(source=native.source(transport=Transport.WEBSOCKET))
    await reader.open()
    assert await bodies_from(reader, 4) == bodies


async def test_a_certificate_that_nobody_trusts_is_fatal(secure: RunningHub) -> None:
    text = f"Endpoint=sb://localhost:{secure.tls_port};{KEYS}"
    source = NativeSource(text, "secure", "$default")
    try:
        with pytest.raises(SourceError, match="Set ca_file") as raised:
            await source.partitions()
        assert raised.value.is_fatal
    finally:
        await source.close()


async def test_a_wrong_key_is_fatal_and_never_shown(
    secure: RunningHub, certificates: Certificates
) -> None:
    text = f"Endpoint=sb://localhost:{secure.tls_port};{KEYS}".replace("SAS_KEY", "OTHER")
    source = NativeSource(text, "secure", "$default", settings=trusting(certificates))
    try:
        with pytest.raises(SourceError, match="the token was refused") as raised:
            await source.partitions()
        assert raised.value.is_fatal
        assert "OTHER" not in str(raised.value)
    finally:
        await source.close()


class Identity:
    """A credential that counts how often it was asked."""

    def __init__(self, life_s: float = 3_600) -> None:
        self.asked = 0
        self._life_s = life_s

    async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        assert scopes == ("https://eventhubs.azure.net/.default",)
        self.asked += 1
        return AccessToken(f"token-{self.asked}", int(time.time() + self._life_s))


@pytest.fixture
def trusting_hub(certificates: Certificates) -> Iterator[RunningHub]:
    """A hub with TLS that takes every token: it could not check those of an identity."""
    with running_hub(
        tls_port=0, certificate=certificates.certificate, private_key=certificates.private_key
    ) as hub:
        hub.add_hub("open", 2)
        yield hub


async def test_an_identity_lets_it_in_and_its_token_is_renewed_before_it_ends(
    trusting_hub: RunningHub, certificates: Certificates
) -> None:
    identity = Identity(life_s=4)  # renewed after the shortest pause of five seconds
    source = NativeSource(
        f"localhost:{trusting_hub.tls_port}",
        "open",
        "$default",
        credential=identity,
        settings=trusting(certificates),
    )
    try:
        assert await source.partitions() == ("0", "1")
        assert identity.asked == 1
        await wait_until_async(lambda: identity.asked >= 2, 30, "the token to be renewed")
        assert await source.partitions() == ("0", "1")
        assert trusting_hub.connections() == 1
    finally:
        await source.close()


def test_an_identity_is_never_used_without_tls(native: SourceWorld) -> None:
    with pytest.raises(SettingsError, match="a key and an identity were given"):
        NativeSource(native.server.connection_string, native.hub, "$default", credential=Identity())


def test_a_hub_without_a_key_and_without_an_identity_is_refused_with_what_to_write() -> None:
    with pytest.raises(SettingsError, match="no key was given: write a connection string"):
        NativeSource("h.servicebus.windows.net", "h", "$default")


async def test_a_right_that_lapsed_is_renewed_and_reading_goes_on(native: SourceWorld) -> None:
    native.send([b"one"])
    reader = native.reader()
    await reader.open()
    assert await bodies_from(reader, 1) == [b"one"]
    native.inject(
        "detach_link",
        condition="amqp:link:detach-forced",
        description="Unauthorized access. 'Listen' claim(s) are required.",
    )
    native.send([b"two"])
    assert await bodies_from(reader, 1) == [b"two"]


async def test_more_links_than_a_session_takes_are_read_over_one_connection(
    native: SourceWorld,
) -> None:
    count = 300
    native.server.grow_hub(native.hub, count)
    source = native.source()
    # Those of the tests before this one may still be going.
    wait_until(lambda: native.server.connections() == 0, 30, "a hub that nobody is connected to")
    readers = [native.reader(str(number), source=source) for number in range(count)]
    await asyncio.gather(*(reader.open() for reader in readers))
    assert native.server.connections() == 1
    for number in (0, 250, 260, 299):
        native.send([b"%d" % number], str(number))
        assert await bodies_from(readers[number], 1) == [b"%d" % number]


async def test_what_waits_is_bounded_in_bytes_and_nothing_is_lost(native: SourceWorld) -> None:
    size, count = 10_000, 400
    native.send([b"%d " % number + b"x" * size for number in range(count)])
    settings = NativeSettings(buffer_bytes=100_000, reader_bytes=100_000, batch_events=5)
    reader: Any = native.reader(source=native.source(settings=settings))
    await reader.open()
    most = 0
    got: list[int] = []
    while len(got) < count:
        events = await reader.receive()
        got += [int(event.content.split(b" ")[0]) for event in events]
        most = max(most, reader.room.waiting_bytes)
    assert got == list(range(count))
    # The first credit is given before anything is known of the events' sizes.
    assert most <= 32 * (size + 200) + 100_000


async def test_how_far_a_partition_has_come_is_told_with_its_events(native: SourceWorld) -> None:
    native.send([b"x"] * 500)
    reader: Any = native.reader()
    await reader.open()
    events = await events_from(reader, 500)
    assert reader.known_end.sequence == 499
    assert reader.known_end.offset == events[-1].offset
    assert reader.known_end.enqueued_at == events[-1].enqueued_at


async def test_opening_takes_one_round_trip(native: SourceWorld) -> None:
    """Attach and credit go out together: a slow attach is waited for once."""
    source = native.source()
    await source.partitions()
    native.send([b"x"])
    native.inject("delay", on="attach", seconds=0.3, times=1)
    reader = native.reader(source=source)
    begun = time.monotonic()
    await reader.open()
    assert await bodies_from(reader, 1) == [b"x"]
    assert 0.3 <= time.monotonic() - begun < 15
