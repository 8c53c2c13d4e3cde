"""Sends to one partition at a steady rate: `paced_sender.py PORT HUB PARTITION RATE SECONDS`.

The body begins with the time at which it was made, so that a reader can tell how old it is. One
event is one frame of tidegate_amqp: the sender takes little of the machine that both share.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from collections.abc import Sequence
from typing import cast

from tidegate_amqp import Connection, ConnectionSettings, SenderLink, Source, Target
from tidegate_amqp.events import CreditChanged, SessionBegun

_PADDING = b"x" * 192
_HEAD = b"\x00\x53\x75\xa0\xc8"  # a data section of 200 bytes


class PacedSender(asyncio.Protocol):
    """One link to one partition."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        settings = ConnectionSettings("paced", hostname="localhost")
        self._connection = Connection(settings, initiator=True)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self._connection.receive(data):
            if isinstance(event, SessionBegun):
                event.session.attach_sender("paced", Source("paced"), Target(self._address))
            elif isinstance(event, CreditChanged):
                self._link: SenderLink = event.link
                if not self.ready.done():
                    self.ready.set_result(None)
        if self._connection.peer is not None and not self._connection.sessions:
            self._connection.begin()
        self.flush()

    def send(self) -> None:
        if self._link.sendable > 0:
            self._link.send(
                _HEAD + struct.pack(">d", time.time()) + _PADDING, tag=b"\x01", settled=True
            )
            self.flush()

    def flush(self) -> None:
        output = self._connection.take_output()
        if output:
            self._transport.write(b"".join(output))


async def send(port: int, address: str, rate: float, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    transport, sender = await loop.create_connection(
        lambda: PacedSender(address), "127.0.0.1", port
    )
    await sender.ready
    next_at, end = loop.time(), loop.time() + seconds
    while next_at < end:
        sender.send()
        next_at += 1 / rate
        await asyncio.sleep(max(next_at - loop.time(), 0))
    transport.close()


def main(arguments: Sequence[str]) -> None:
    port, hub, partition, rate, seconds = arguments
    asyncio.run(send(int(port), f"{hub}/Partitions/{partition}", float(rate), float(seconds)))


if __name__ == "__main__":
    main(sys.argv[1:])
