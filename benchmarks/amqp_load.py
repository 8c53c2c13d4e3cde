"""Load for a hub that costs the client next to nothing: hand-built batches, and a frame counter.

The official SDK spends tens of microseconds on an event, so it cannot show what a hub can do. Here
the session is set up by tidegate_amqp; then batches are sent as they are, and received bytes are
only cut into frames and counted.
"""

from __future__ import annotations

import asyncio
import struct
from typing import cast

from tidegate_amqp import Connection, ConnectionSettings, SenderLink, Source, Target
from tidegate_amqp.encode import encode_binary
from tidegate_amqp.events import CreditChanged, LinkAttached, Outcome, SessionBegun
from tidegate_amqp.sections import BATCH_FORMAT

MAX_BATCH_BYTES = 1_000_000
_IN_FLIGHT = 8
_WIDE_OPEN = 0x7FFFFFFF
_U32 = struct.Struct(">I").unpack_from
_HEADER_BYTES = 8  # of a frame, and all that a protocol header is
_PROTOCOL = int.from_bytes(b"AMQP")
_TRANSFER_CODE = 0x14


def plain_batch(size: int, limit: int = MAX_BATCH_BYTES) -> tuple[bytes, int]:
    """A batch of events with bodies of `size` bytes, and how many they are."""
    inner = b"\x00\x53\x75" + encode_binary(b"x" * size)
    item = b"\x00\x53\x75" + encode_binary(inner)
    count = max(1, limit // len(item))
    return item * count, count


def count_transfers(data: bytes) -> tuple[int, int]:
    """How many transfers begin in the whole frames of these bytes, and where those frames end."""
    at, size, transfers = 0, len(data), 0
    while at + _HEADER_BYTES <= size:
        length = _U32(data, at)[0]
        end = at + (_HEADER_BYTES if length == _PROTOCOL else length)
        if end > size:
            break
        if end > at + 10 and data[at + 10] == _TRANSFER_CODE:
            transfers += 1
        at = end
    return transfers, at


class _Client(asyncio.Protocol):
    """Sets up a connection and a session, then does what a subclass wants."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = loop.create_future()
        settings = ConnectionSettings(
            "load", hostname="localhost", incoming_window=_WIDE_OPEN, max_frame_size=65_536
        )
        self.connection = Connection(settings, initiator=True)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.connection.receive(data):
            self.on_event(event)
        if self.connection.peer is not None and not self.connection.sessions:
            self.connection.begin()
        self.flush()

    def on_event(self, event: object) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        output = self.connection.take_output()
        if output:
            self.transport.write(b"".join(output))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the hub closed the connection"))


class BatchSender(_Client):
    """Sends a batch so many times to a hub or one of its partitions; done when all are accepted."""

    def __init__(self, address: str, batch: bytes, times: int) -> None:
        super().__init__()
        self._address = address
        self._batch = batch
        self._left = times
        self._open = 0

    def on_event(self, event: object) -> None:
        if isinstance(event, SessionBegun):
            event.session.attach_sender("load", Source("load"), Target(self._address))
        elif isinstance(event, CreditChanged):
            self._link = event.link
            self._send()
        elif isinstance(event, Outcome):
            self._open -= event.last - event.first + 1
            self._send()
            if not self._left and not self._open and not self.done.done():
                self.done.set_result(None)

    def _send(self) -> None:
        link: SenderLink = self._link
        while self._left and self._open < _IN_FLIGHT and link.sendable > 0:
            link.send(self._batch, tag=b"\x01", message_format=BATCH_FORMAT)
            self._left -= 1
            self._open += 1


class FrameCounter(_Client):
    """Receives from partitions over one connection until so many events have come.

    The connection is given whole frames alone, so it holds nothing back when counting begins.
    """

    def __init__(self, hub: str, partitions: int, events: int) -> None:
        super().__init__()
        self._hub = hub
        self._partitions = partitions
        self._left = events
        self._attached = 0
        self._is_counting = False
        self._rest = b""

    def on_event(self, event: object) -> None:
        if isinstance(event, SessionBegun):
            for number in range(self._partitions):
                address = f"{self._hub}/ConsumerGroups/$Default/Partitions/{number}"
                event.session.attach_receiver(f"load-{number}", Source(address), Target("load"))
        elif isinstance(event, LinkAttached):
            self._attached += 1
            if self._attached == self._partitions:
                for link in event.link.session.links.values():
                    link.grant(_WIDE_OPEN)  # type: ignore[attr-defined]
                self._is_counting = True

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        transfers, end = count_transfers(data)
        self._rest = data[end:]
        if not self._is_counting:
            super().data_received(data[:end])
            return
        self._left -= transfers
        if self._left <= 0 and not self.done.done():
            self.done.set_result(None)


async def send_batches(port: int, address: str, batch: bytes, times: int) -> None:
    """Sends a batch so many times; returns when the hub has accepted every one."""
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_connection(
        lambda: BatchSender(address, batch, times), "127.0.0.1", port
    )
    await client.done
    transport.abort()


async def count_events(port: int, hub: str, partitions: int, events: int) -> None:
    """Receives so many events from the start of a hub's partitions."""
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_connection(
        lambda: FrameCounter(hub, partitions, events), "127.0.0.1", port
    )
    await client.done
    transport.abort()
