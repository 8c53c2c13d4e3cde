"""`tidegate send` as people run it, on a hub: what arrives, what is said, how it ends."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.eventhub import EventData, EventHubConsumerClient

from support.certificates import make_certificates
from support.wait import wait_until
from tidegate.cli import parser
from tidegate.sending.command import run
from tidegate.settings import EVENTS_SECRET
from tidegate_hub.testing import RunningHub, running_hub

pytestmark = pytest.mark.slow

TRANSPORTS = ("native", "sdk")
_numbers = itertools.count()
PARTITIONS = 4


class HubOfOwn:
    """A hub for one test, and what is in it."""

    def __init__(self, server: RunningHub) -> None:
        self.server = server
        self.name = f"send-{os.getpid()}-{next(_numbers)}"
        server.add_hub(self.name, PARTITIONS)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tidegate", "send", "--hub", self.name, *arguments],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, EVENTS_SECRET: self.server.connection_string, **environment},
        )

    def send(self, text: bytes, *arguments: str, **environment: str) -> tuple[int, str]:
        """Runs the command to its end; gives its code and what it said."""
        process = self.start(*arguments, **environment)
        _, said = process.communicate(text, timeout=60)
        return process.returncode, said.decode()

    def stored(self) -> int:
        """How many events the hub has."""
        ranges = [self.server.range_of(self.name, str(each)) for each in range(PARTITIONS)]
        return sum(next_sequence - first for first, next_sequence in ranges)

    def events(self, count: int) -> list[EventData]:
        """What has arrived: exactly so many, by partition and in order."""
        by_partition: dict[str, list[EventData]] = {}
        lock = threading.Lock()

        def on_batch(context: Any, batch: list[EventData]) -> None:
            with lock:
                by_partition.setdefault(context.partition_id, []).extend(batch)

        def arrived() -> int:
            with lock:
                return sum(map(len, by_partition.values()))

        client = EventHubConsumerClient.from_connection_string(
            self.server.connection_string, consumer_group="$Default", eventhub_name=self.name
        )
        reading = threading.Thread(
            target=client.receive_batch,
            kwargs={"on_event_batch": on_batch, "starting_position": "-1", "max_wait_time": 0.2},
        )
        reading.start()
        try:
            wait_until(lambda: arrived() >= count, 60, f"{count} events to arrive")
        finally:
            client.close()
            reading.join(30)
        assert arrived() == count
        return [event for _, events in sorted(by_partition.items()) for event in events]


@pytest.fixture
def own(hub_server: RunningHub) -> HubOfOwn:
    return HubOfOwn(hub_server)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_line_arrives_as_an_event_and_it_is_said_how_many(
    own: HubOfOwn, transport: str
) -> None:
    lines = [f"line {number}" for number in range(500)]
    code, said = own.send("\n".join(lines).encode(), "--transport", transport)
    assert code == 0
    assert said.startswith("tidegate send: sent 500 events in ")
    assert sorted(event.body_as_str() for event in own.events(500)) == sorted(lines)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_json_line_brings_its_key_and_its_properties(own: HubOfOwn, transport: str) -> None:
    line = {"body": {"a": 1}, "key": "home-7", "properties": {"n": 1, "t": True, "s": "x"}}
    aside = {"body": "to one partition", "partition": "3"}
    text = "\n".join(json.dumps(each) for each in (line, aside)).encode()
    code, said = own.send(text, "--json", "--transport", transport)
    assert code == 0, said
    events = {event.body_as_str(): event for event in own.events(2)}
    found = events['{"a":1}']
    assert found.partition_key == b"home-7"
    properties = {
        (name.decode() if isinstance(name, bytes) else name): value
        for name, value in (found.properties or {}).items()
    }
    text_of = properties.pop("s")
    assert (properties, text_of) in [({"n": 1, "t": True}, each) for each in ("x", b"x")]
    assert events["to one partition"].partition_key is None


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_homes_readings_stay_in_one_partition_and_in_order(own: HubOfOwn, transport: str) -> None:
    code, said = own.send(
        b"", "--homes", "20", "--count", "1000", "--seed", "5", "--transport", transport
    )
    assert code == 0, said
    assert "20 homes with 5 sensors each; --seed 5 sends them again" in said
    events = own.events(1_000)
    turns: dict[str, list[int]] = {}
    for event in events:
        reading = event.body_as_json()
        assert event.partition_key == reading["home"].encode()
        turns.setdefault(reading["sensor"], []).append(reading["turn"])
    assert len(turns) == 100
    assert all(found == list(range(10)) for found in turns.values())


def test_a_line_is_sent_as_soon_as_it_is_there(own: HubOfOwn) -> None:
    process = own.start()
    assert process.stdin is not None
    process.stdin.write(b"first\n")
    process.stdin.flush()
    assert own.events(1)[0].body_as_str() == "first"
    process.stdin.write(b"last, without an end of line")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"sent 2 events" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_sends_what_was_read_and_says_how_much_it_was(
    own: HubOfOwn, number: signal.Signals
) -> None:
    process = own.start("--homes", "10", "--rate", "500")
    assert process.stderr is not None
    assert b"homes" in process.stderr.readline()
    wait_until(lambda: own.stored() > 0, 60, "events to arrive")
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    sent = int(said.decode().split("sent ")[1].split()[0].replace(",", ""))
    assert len(own.events(sent)) == sent


def test_a_bad_line_is_named_after_all_before_it_was_sent(own: HubOfOwn) -> None:
    code, said = own.send(b'{"body": "good"}\n{"bdy": 1}\n{"body": "never"}\n', "--json")
    assert code == 1
    assert "line 2 is not an object with a body" in said
    assert [event.body_as_str() for event in own.events(1)] == ["good"]


def test_a_hub_that_is_not_there_is_said_at_once(own: HubOfOwn) -> None:
    own.name = "no-such-hub"
    code, said = own.send(b"x\n")
    assert code == 1
    assert "amqp:not-found" in said
    assert "Check the names of the hub" in said


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_event_that_is_too_large_is_said_with_its_size(own: HubOfOwn, transport: str) -> None:
    code, said = own.send(b"x" * 1_100_000, "--transport", transport)
    assert code == 1
    assert "an event of 1,100,000 bytes is too large" in said


class _Identity:
    """Stands in for DefaultAzureCredential, which asks what is not there in a test."""

    async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken("token", int(time.time()) + 3600)

    async def __aenter__(self) -> _Identity:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def test_who_names_the_namespace_is_let_in_by_an_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    monkeypatch.setattr("azure.identity.aio.DefaultAzureCredential", _Identity)
    with running_hub(
        tls_port=0, certificate=made.certificate, private_key=made.private_key
    ) as server:
        server.add_hub("open", 1)
        options = ("--namespace", f"localhost:{server.tls_port}", "--homes", "4", "--count", "20")
        arguments = parser(["send"]).parse_args(["send", "--hub", "open", *options])
        # A connection string that stands around is not looked at.
        assert run(arguments, {EVENTS_SECRET: "of somebody else"}) == 0
        assert server.range_of("open", "0") == (0, 20)
    assert "sent 20 events" in capsys.readouterr().err
