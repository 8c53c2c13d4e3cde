"""Sending while the hub fails: what may pass is tried again, and nothing that was read is lost."""

from __future__ import annotations

import asyncio
import itertools
import os
from typing import Any

import pytest

from tidegate.model import BEGINNING
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing
from tidegate.sending.sending import SendError
from tidegate.sources.eventhubs import NativeSource
from tidegate.sources.native.settings import NativeSettings
from tidegate_hub.testing import RunningHub

_numbers = itertools.count()
EVENTS = 2_000
PIECE = 100


class OneHub:
    """A hub of one partition, and what is in it."""

    def __init__(self, server: RunningHub) -> None:
        self.server = server
        self.name = f"send-faults-{os.getpid()}-{next(_numbers)}"
        server.add_hub(self.name, 1)

    def sender(self, **settings: Any) -> NativeSender:
        return NativeSender(
            self.server.connection_string, self.name, settings=NativeSettings(**settings)
        )

    def inject(self, kind: str, **fields: Any) -> str:
        return self.server.inject(kind, hub=self.name, **fields)

    async def bodies(self) -> list[int]:
        """The numbers that were sent, in the order in which they stand."""
        first, end = self.server.range_of(self.name, "0")
        source = NativeSource(self.server.connection_string, self.name, "$Default")
        reader = source.reader("0", BEGINNING, 0)
        await reader.open()
        found: list[int] = []
        try:
            async with asyncio.timeout(30):
                while len(found) < end - first:
                    found += [int(event.content) for event in await reader.receive()]
        finally:
            await reader.close()
            await source.close()
        return found


@pytest.fixture
def one(hub_server: RunningHub) -> OneHub:
    return OneHub(hub_server)


async def send_numbers(one: OneHub, sender: NativeSender) -> None:
    """Sends numbers in pieces, each of which is a batch."""
    try:
        for first in range(0, EVENTS, PIECE):
            await sender.send([Outgoing(b"%d" % n) for n in range(first, first + PIECE)])
        await sender.flush()
    finally:
        await sender.close()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("drop_connection", {"on": "send", "times": 3}),
        ("detach_link", {"on": "send", "times": 3}),
        ("server_busy", {"times": 2, "wait_seconds": 1}),
    ],
)
async def test_everything_arrives_though_the_hub_fails_on_the_way(
    one: OneHub, kind: str, fields: dict[str, Any]
) -> None:
    one.inject(kind, **fields)
    sender = one.sender()
    await send_numbers(one, sender)
    found = await one.bodies()
    assert set(found) == set(range(EVENTS))
    assert sender.accepted == EVENTS


async def test_without_a_failure_everything_arrives_once_and_in_order(one: OneHub) -> None:
    await send_numbers(one, one.sender())
    assert await one.bodies() == list(range(EVENTS))


async def test_after_its_patience_it_says_what_is_wrong_and_how_much_arrived(one: OneHub) -> None:
    sender = one.sender(patience_s=1.0)
    await sender.send([Outgoing(b"1")])
    await sender.flush()
    fault = one.inject("drop_connection", on="send", for_seconds=600)
    with pytest.raises(SendError, match="the connection was lost"):
        await sender.send([Outgoing(b"2")])
        await sender.flush()
    await sender.close()
    assert sender.accepted == 1
    assert one.server.end_fault(fault)


async def test_a_key_that_is_not_taken_is_said_at_once(one: OneHub) -> None:
    fault = one.inject("refuse_token")
    sender = one.sender()
    with pytest.raises(SendError, match=r"the token was refused: .* Check the key"):
        await sender.send([Outgoing(b"1")])
    await sender.close()
    assert one.server.end_fault(fault)
