"""Writing to and reading from a hub in a process of its own, with what was acknowledged noted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage
from azure.eventhub.exceptions import EventHubError

from support.amqp_peer import Peer, SocketLine
from support.hub_messages import batch, data, part
from support.hub_process import HubProcess
from tidegate_amqp import Accepted
from tidegate_amqp import events as happened
from tidegate_amqp.sections import BATCH_FORMAT, DATA, MESSAGE_ANNOTATIONS

HUB = "telemetry"


class Found(NamedTuple):
    """A stored event: its body, which is a number, and where it is."""

    number: int
    sequence: int
    offset: str


def feed(partition: str, group: str = "$Default") -> str:
    return f"{HUB}/ConsumerGroups/{group}/Partitions/{partition}"


def read_all(hub: HubProcess, partition: str, selector: str | None = None) -> list[Found]:
    """All events of a partition, from the beginning or where the selector says."""
    with Peer(SocketLine(hub.port)) as peer:
        link = peer.attach_receiver(feed(partition), selector=selector)
        link.grant(1_000_000, drain=True)
        peer.until(lambda: link.credit == 0, "the end of the partition", 60)
        return [_found(each.payload) for each in peer.messages(link, 0)]


def _found(payload: bytes) -> Found:
    at = part(payload, MESSAGE_ANNOTATIONS)
    body = bytes(part(payload, DATA))
    return Found(int(body.split(b" ")[0]), at["x-opt-sequence-number"], at["x-opt-offset"])


class Writer:
    """Writes on a thread of its own until the hub is gone, and notes what was acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        raise NotImplementedError

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive(), "the writer did not notice that its hub is gone"


class PeerWriter(Writer):
    """Sends numbered batches to a partition as fast as it is answered, until the hub is gone."""

    def __init__(self, hub: HubProcess, partition: str, numbers: Iterator[int]) -> None:
        self._hub, self._partition, self._numbers = hub, partition, numbers
        super().__init__()

    def _run(self) -> None:
        with Peer(SocketLine(self._hub.port)) as peer:
            link = peer.attach_sender(f"{HUB}/Partitions/{self._partition}")
            under_way: dict[int, list[int]] = {}
            while not peer.is_over:
                while len(under_way) < 8:
                    numbers = [next(self._numbers) for _ in range(25)]
                    messages = batch(*(data(b"%d of a peer" % number) for number in numbers))
                    under_way[peer.send(link, messages, message_format=BATCH_FORMAT)] = numbers
                peer.pump(5)
                for outcome in peer.of(happened.Outcome):
                    assert outcome.state == Accepted()
                    for delivery_id in range(outcome.first, outcome.last + 1):
                        self.acknowledged += under_way.pop(delivery_id, [])
                peer.events.clear()


class SdkWriter(Writer):
    """The official SDK doing the same, a batch at a time."""

    def __init__(self, hub: HubProcess, partition: str, numbers: Iterator[int]) -> None:
        self._partition, self._numbers = partition, numbers
        self._client = EventHubProducerClient.from_connection_string(
            hub.connection_string, eventhub_name=HUB, retry_total=0
        )
        super().__init__()

    def _run(self) -> None:
        with self._client:
            while True:
                numbers = [next(self._numbers) for _ in range(10)]
                events: list[EventData | AmqpAnnotatedMessage] = [
                    EventData(f"{number} of the SDK") for number in numbers
                ]
                try:
                    self._client.send_batch(events, partition_id=self._partition)
                except EventHubError:
                    return  # the hub was killed
                self.acknowledged += numbers
