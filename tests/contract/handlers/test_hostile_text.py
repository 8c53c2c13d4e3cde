"""An event of a megabyte whose text a handler raises, in the worst form, stops nothing else."""

from __future__ import annotations

import itertools
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from azure.eventhub import EventData, EventHubProducerClient

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timed]

HANDLER = """
import asyncio, time
from seen import see
{async_}def handle(events, context):
    for event in events:
        text = event.body_as_str()
        if text.startswith("{{"):
            see(context.partition, event.body_as_json()["n"])
            see("at", time.time(), event.body_as_json()["n"])
        else:
            see("poison", time.time())
            raise ValueError(text)
"""
# What the search for secrets begins on, with no end to be found.
WORST = ("eyJ-", "eyJaaaaaaaaa.", "Bearer ", "SharedAccessKey = ", "sig=%26sig%3D", "A" * 85 + "=")
POISON = " ".join((each * 160_000)[:160_000] for each in WORST)
LONGEST_S = 1.0
FAILURES = 12
WARM = 20


@pytest.mark.parametrize("async_", ["async ", ""])
def test_a_megabyte_of_adversarial_text_in_an_exception_holds_up_nothing_else(
    new_group: NewGroup, hub_server: RunningHub, async_: str
) -> None:
    group = new_group(
        HANDLER.format(async_=async_),
        delivery="{backoff: {firstSeconds: 0.2, mostSeconds: 0.2}}",
    )
    group.start("a", "--listen", "127.0.0.1:0")
    group.send("1", 0, 1)
    group.wait_until_seen(1, 60)
    with steady(group, hub_server) as sent, asked(group) as answers:
        wait_until(lambda: len(sent) > WARM, 30, "events of another key")
        send_poison(group, hub_server)
        wait_until(lambda: failures(group) >= FAILURES, 60, "the failures", lambda: failures(group))
        last = len(sent)
        group.wait_until_seen(last + 1, 60)
    # When the handler saw each event, less the time of its sending; the first ones waited for the
    # sender's own connection.
    seen = {int(words[2]): float(words[1]) for words in group.seen() if words[0] == "at"}
    waited = {number: seen[number] - sent[number] for number in range(WARM, last + 1)}
    assert max(waited.values()) < LONGEST_S, sorted(waited.values())[-5:]
    print(f"longest waits: event {max(waited.values()):.3f} s, /healthz {max(answers):.3f} s")
    assert len(answers) > 20
    assert max(answers) < LONGEST_S, sorted(answers)[-5:]
    group.stop("a")
    said = group.output("a")
    assert re.search(r" … \([\d,]{7,} characters\)", said), "the line says how long the text was"
    assert max(map(len, said.splitlines())) < 50_000


def failures(group: CommandGroup) -> int:
    return sum(words[0] == "poison" for words in group.seen())


def send_poison(group: CommandGroup, hub: RunningHub) -> None:
    client = EventHubProducerClient.from_connection_string(
        hub.connection_string, eventhub_name=group.hub_name
    )
    with client:
        client.send_batch([EventData(POISON)], partition_id="0")


@contextmanager
def steady(group: CommandGroup, hub: RunningHub) -> Iterator[dict[int, float]]:
    """Events to partition 1 all the time, each with the moment of its sending."""
    sent: dict[int, float] = {}
    stopping = threading.Event()

    def send() -> None:
        client = EventHubProducerClient.from_connection_string(
            hub.connection_string, eventhub_name=group.hub_name
        )
        with client:
            for number in itertools.count(1):
                if stopping.wait(0.05):
                    return
                at = time.time()
                client.send_batch([EventData(f'{{"n": {number}}}')], partition_id="1")
                sent[number] = at

    with running(send, stopping):
        yield sent


@contextmanager
def asked(group: CommandGroup) -> Iterator[list[float]]:
    """The seconds that each answer of /healthz took, asked all the time."""
    found = re.search(r"metrics and health at (http://\S+?)/?\s", group.output("a"))
    assert found is not None, group.output("a")
    url, answers, stopping = f"{found[1]}/healthz", list[float](), threading.Event()

    def ask() -> None:
        while not stopping.wait(0.05):
            began = time.monotonic()
            with urllib.request.urlopen(url, timeout=60) as answer:
                assert answer.status == 200
            answers.append(time.monotonic() - began)

    with running(ask, stopping):
        yield answers


@contextmanager
def running(work: Callable[[], None], stopping: threading.Event) -> Iterator[None]:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(60)
    assert not failed, failed
