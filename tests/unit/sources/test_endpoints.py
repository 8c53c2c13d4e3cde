"""Where a namespace is, how one is let in, where to begin, and which source reads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from tidegate.model import BEGINNING, PartitionEnd, Position, Rewind
from tidegate.ports import NotUnderstoodError, SourceError, SourceEvent
from tidegate.settings import SettingsError
from tidegate.sources.choose import ChosenSource
from tidegate.sources.eventhubs import NativeSettings
from tidegate.sources.native.endpoint import Endpoint, Transport, endpoint_of
from tidegate.sources.native.requests import partition_facts, partition_ids, put_token, read_answer
from tidegate.sources.native.sas import given_token, signed_token
from tidegate.sources.native.selectors import after, from_on
from tidegate.sources.start import From, Start
from tidegate_hub.sas import KeyRule, verify

KEY = "SharedAccessKeyName=name;SharedAccessKey=se=cret="
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "transport", "endpoint"),
    [
        (f"Endpoint=sb://ns.example/;{KEY}", Transport.TCP, ("ns.example", 5671, True)),
        (f"Endpoint=sb://ns.example/;{KEY}", Transport.WEBSOCKET, ("ns.example", 443, True)),
        (f"Endpoint=sb://ns.example:7;{KEY}", Transport.TCP, ("ns.example", 7, True)),
        ("ns.example", Transport.TCP, ("ns.example", 5671, True)),
        (
            f"Endpoint=sb://localhost;{KEY};UseDevelopmentEmulator=true",
            Transport.TCP,
            ("localhost", 5672, False),
        ),
        (
            f"Endpoint=sb://localhost;{KEY};UseDevelopmentEmulator=True",
            Transport.TCP,
            ("localhost", 5671, True),
        ),
    ],
)
def test_an_address_says_where_to_connect(
    text: str, transport: Transport, endpoint: tuple[str, int, bool]
) -> None:
    found = endpoint_of(text, transport)
    assert (found.host, found.port, found.is_tls) == endpoint


def test_a_key_may_contain_equals_signs_and_is_never_shown() -> None:
    found = endpoint_of(f"Endpoint=sb://ns/;{KEY};EntityPath=hub")
    assert (found.key_name, found.key, found.hub) == ("name", "se=cret=", "hub")
    assert "cret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SharedAccessKeyName=a;SharedAccessKey=b", "found no Endpoint"),
        ("Endpoint=sb://ns;SharedAccessKey=secret", "SharedAccessKeyName is missing"),
        ("Endpoint=sb://ns", "found neither"),
        (f"Endpoint=sb://ns;{KEY};SharedAccessSignature=secret", "found both"),
        (f"Endpoint=http://ns;{KEY}", "no address of a namespace"),
        (f"Endpoint=sb://ns:port;{KEY}", "no address of a namespace"),
        ("Endpoint=sb://ns;secret", "part 2 has no value"),
    ],
)
def test_a_connection_string_that_will_not_do_says_why_without_secrets(
    text: str, says: str
) -> None:
    with pytest.raises(SettingsError, match=says) as raised:
        endpoint_of(text)
    assert "secret" not in str(raised.value)
    assert "cret=" not in str(raised.value)


def test_a_signature_of_ours_is_one_that_the_hub_takes() -> None:
    audience = Endpoint("ns.example", 5671).audience("Telemetry")
    token = signed_token(audience, "name", "key", NOW)
    grant = verify(token.text, [KeyRule("name", "key")], NOW + 1, audience)
    assert grant.allows("Listen", "telemetry/ConsumerGroups/g/Partitions/0", NOW + 1)
    assert token.renew_in_s(NOW) == pytest.approx(2_700)
    assert "sig" not in repr(token)


def test_a_signature_that_was_given_ends_when_it_says_and_is_not_renewed() -> None:
    token = given_token("SharedAccessSignature sr=x&sig=y&se=1800000600&skn=z", NOW)
    assert (token.expires_at, token.can_be_renewed) == (1_800_000_600.0, False)


def test_where_to_begin_is_said_by_offset_or_else_by_number_or_time() -> None:
    assert after(BEGINNING) == "amqp.annotation.x-opt-offset > '-1'"
    assert after(Position("720", 5)) == "amqp.annotation.x-opt-offset > '720'"
    assert after(Position(sequence=5)) == "amqp.annotation.x-opt-sequence-number > '5'"
    assert from_on(From(sequence=5)) == "amqp.annotation.x-opt-sequence-number >= '5'"
    assert from_on(From(at=1.5)) == "amqp.annotation.x-opt-enqueued-time >= '1500'"


@pytest.mark.parametrize(
    "start",
    [
        Start("newest"),
        Start("time"),
        Start("latest", at=1.0),
        Start("position"),
        Start("earliest", position=Position("1", 1)),
    ],
)
def test_a_start_that_contradicts_itself_is_refused(start: Start) -> None:
    with pytest.raises(SettingsError, match="start"):
        start.checked()


@pytest.mark.parametrize(
    "settings",
    [
        NativeSettings(reader_bytes=0),
        NativeSettings(buffer_bytes=10, reader_bytes=20),
        NativeSettings(batch_events=0),
        NativeSettings(quiet_s=0),
        NativeSettings(ca_file="no-such-file.pem"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: NativeSettings) -> None:
    with pytest.raises(SettingsError):
        settings.checked()


def test_answers_that_lack_what_is_needed_are_not_understood() -> None:
    with pytest.raises(NotUnderstoodError, match="no partitions"):
        partition_ids({"name": "hub"})
    with pytest.raises(NotUnderstoodError, match="lacks its positions"):
        partition_facts({"begin_sequence_number": 1}, NOW)
    request = put_token(
        UUID(int=1), "me", "sb://ns/hub", signed_token("sb://ns/hub", "n", "k", NOW)
    )
    with pytest.raises(NotUnderstoodError, match="no status-code"):
        read_answer(request)


# --- which source reads


class Stub:
    """A source that reads, or that does not understand its service."""

    def __init__(self, *, understands: bool) -> None:
        self._understands = understands
        self.closed = 0

    async def _say(self, answer: Any) -> Any:
        await asyncio.sleep(0)
        if not self._understands:
            raise NotUnderstoodError("the service said something new")
        return answer

    async def partitions(self) -> tuple[str, ...]:
        found: tuple[str, ...] = await self._say(("0",))
        return found

    async def end(self, partition: str) -> PartitionEnd:
        found: PartitionEnd = await self._say(PartitionEnd(1, "1", None, NOW))
        return found

    async def check_unread(self, partition: str) -> None:
        await self._say(None)

    async def identity(self) -> str:
        found: str = await self._say("hub, created then")
        return found

    async def resolve_start(self, partition: str, rewind: Rewind | None = None) -> Position:
        found: Position = await self._say(BEGINNING)
        return found

    def reader(self, partition: str, position: Position, epoch: int) -> Stub:
        return self

    async def open(self) -> None:
        await self._say(None)

    async def receive(self) -> Sequence[SourceEvent]:
        await self._say(None)
        return ()

    async def close(self) -> None:
        self.closed += 1

    @property
    def known_end(self) -> PartitionEnd | None:
        return None


def chosen(*, native: bool, sdk: bool) -> tuple[ChosenSource, list[str]]:
    said: list[str] = []
    made = ChosenSource(Stub(understands=native), lambda: Stub(understands=sdk), said.append)
    return made, said


async def test_the_native_source_reads_while_it_understands() -> None:
    source, said = chosen(native=True, sdk=True)
    reader = source.reader("0", BEGINNING, 1)
    await reader.open()
    assert await source.partitions() == ("0",)
    assert (said, source.has_fallen_back) == ([], False)


async def test_the_sdk_reads_from_the_first_that_is_not_understood_and_that_is_told_once() -> None:
    source, said = chosen(native=False, sdk=True)
    readers = [source.reader(str(number), BEGINNING, 1) for number in range(3)]
    assert await source.partitions() == ("0",)
    for reader in readers:
        await reader.open()
        assert await reader.receive() == ()
    (line,) = said
    assert "the service said something new" in line
    assert "transport: sdk" in line


async def test_who_asked_before_the_change_gets_the_answer_of_the_sdk_too() -> None:
    source, said = chosen(native=False, sdk=True)
    assert (
        await asyncio.gather(*(source.end("0") for _ in range(3)))
        == [PartitionEnd(1, "1", None, NOW)] * 3
    )
    assert len(said) == 1


async def test_a_reader_that_stops_to_understand_is_opened_again_by_the_sdk() -> None:
    native = Stub(understands=True)
    source = ChosenSource(native, lambda: Stub(understands=True), lambda _: None)
    reader = source.reader("0", BEGINNING, 1)
    await reader.open()
    native._understands = False
    with pytest.raises(SourceError) as raised:
        await reader.receive()
    assert not isinstance(raised.value, NotUnderstoodError)
    again = source.reader("0", BEGINNING, 1)
    await again.open()
    assert source.has_fallen_back


async def test_where_neither_understands_that_is_said() -> None:
    source, _ = chosen(native=False, sdk=False)
    with pytest.raises(NotUnderstoodError):
        await source.partitions()
