"""Reads a hub by ours or by the official SDK, or Kafka by librdkafka, and prints what that took.

`consume_reader.py WHAT BY CONNECTION_STRING EVENTS SECONDS [CA_FILE]`: a process of its own, so
that its CPU time and memory are its own. Prints a name and a number a line.

- `count`: reads EVENTS to a handler that counts; `look`: to one that reads body, number and time.
- `latency`: how old events are when they come, for SECONDS; their bodies say when they were made.
- `idle`: 16 partitions and no events, for SECONDS.
- `memory`: reads EVENTS, after its handlers have stood still until everything that may wait waits.

BY is `native`, `sync` or `aio`; `kafka` takes an address and is for `count` alone.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness import resident_mb, resident_peak_mb

PARTITIONS = 16
HUB, GROUP = "load", "$Default"
_STAND_STILL_S = 3.0
_SDK_BATCH = 300
_KAFKA_BATCH = 1_000
# How long the SDK takes until it has claimed every partition and attached to it.
_SDK_SETTLES_S = 8.0


class Meter:
    """What every handler gives its events to."""

    def __init__(self, what: str, events: int, seconds: float) -> None:
        self.what = what
        self.wanted = events
        self.seconds = seconds
        self.got = 0
        self.first = 0
        self.delays: list[float] = []
        self.looked = 0
        self.over = threading.Event()
        self.resident: list[float] = []
        self._begun = self._used = 0.0
        self._said = False

    def take(self, events: Sequence[Any]) -> None:
        if not events:
            return
        if not self.got:
            self._begun, self._used = time.perf_counter(), time.process_time()
            self.first = len(events)
        self.got += len(events)
        if self.what == "look":
            self._look(events)
        elif self.what == "latency":
            self._age(events)
        elif self.what == "memory":
            self._weigh()
        if self.wanted and self.got >= self.wanted:
            self.finish()

    def _look(self, events: Sequence[Any]) -> None:
        for event in events:
            body = b"".join(event.body)
            if event.sequence_number is not None and event.enqueued_time is not None:
                self.looked += len(body)

    def _age(self, events: Sequence[Any]) -> None:
        now = time.time()
        self.delays += [now - struct.unpack_from(">d", b"".join(each.body))[0] for each in events]

    def _weigh(self) -> None:
        if self.got * 5 // self.wanted > len(self.resident) and len(self.resident) < 5:
            self.resident.append(resident_mb(os.getpid()))

    def finish(self) -> None:
        if self._said:
            return
        self._said = True
        counted = self.got - self.first
        wall, used = time.perf_counter() - self._begun, time.process_time() - self._used
        if self.what in ("count", "look"):
            print("us", used / counted * 1e6)
            print("rate", counted / wall)
        elif self.what == "latency":
            ages = sorted(self.delays)
            print("count", len(ages))
            print("p50_ms", ages[len(ages) // 2] * 1e3)
            print("p99_ms", ages[len(ages) * 99 // 100] * 1e3)
        elif self.what == "memory":
            print("peak_mb", resident_peak_mb(os.getpid()))
            print("growth_mb", self.resident[-1] - self.resident[0])
            print("rate", counted / wall)
        sys.stdout.flush()
        self.over.set()


async def read_native(meter: Meter, text: str, ca_file: str) -> None:
    from tidegate.model import BEGINNING, Position  # noqa: PLC0415 - the peer does without
    from tidegate.sources.eventhubs import NativeSettings, NativeSource  # noqa: PLC0415

    source = NativeSource(text, HUB, GROUP, settings=NativeSettings(ca_file=ca_file))
    begin = BEGINNING
    readers = []
    for number in range(PARTITIONS):
        if meter.what == "latency":
            begin = await source.resolve_start(str(number))
        readers.append(source.reader(str(number), Position(begin.offset, begin.sequence), 1))
    await asyncio.gather(*(reader.open() for reader in readers))
    if meter.what == "memory":
        await asyncio.sleep(_STAND_STILL_S)

    async def read(reader: Any) -> None:
        while not meter.over.is_set():
            meter.take(await reader.receive())

    reading = [asyncio.create_task(read(reader)) for reader in readers]
    await _until_over(meter)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    await source.close()


async def _until_over(meter: Meter) -> None:
    begun, used = time.perf_counter(), time.process_time()
    while not meter.over.is_set():
        await asyncio.sleep(0.05)
        if meter.seconds and time.perf_counter() - begun >= meter.seconds:
            _say_idle(meter, time.process_time() - used, time.perf_counter() - begun)


def _say_idle(meter: Meter, used: float, wall: float) -> None:
    if meter.what == "idle":
        print("core_percent", used / wall * 100, flush=True)
        meter.over.set()
    else:
        meter.finish()


def _sdk_options(text: str, ca_file: str) -> dict[str, Any]:
    options: dict[str, Any] = {"consumer_group": GROUP, "eventhub_name": HUB}
    if ca_file:
        # With TLS the SDK goes to port 5671, whatever the connection string says.
        options["connection_verify"] = ca_file
        options["custom_endpoint_address"] = text.partition(";")[0].removeprefix("Endpoint=")
    return options


def _place(meter: Meter) -> str:
    return "@latest" if meter.what == "latency" else "-1"


def read_sync(meter: Meter, text: str, ca_file: str) -> None:
    from azure.eventhub import EventHubConsumerClient  # noqa: PLC0415 - ours does without

    client = EventHubConsumerClient.from_connection_string(text, **_sdk_options(text, ca_file))
    lock = threading.Lock()

    def take(_context: Any, events: list[Any]) -> None:
        with lock:
            meter.take(events)

    reading = threading.Thread(
        target=client.receive_batch,
        kwargs={
            "on_event_batch": take,
            "starting_position": _place(meter),
            "max_batch_size": _SDK_BATCH,
        },
        daemon=True,
    )
    reading.start()
    _wait_for_sync(meter)
    # What was asked for is said. Closing the client would wait for all that it has fetched.
    os._exit(0)


def _wait_for_sync(meter: Meter) -> None:
    if not meter.seconds:
        meter.over.wait()
        return
    time.sleep(_SDK_SETTLES_S)
    used, begun = time.process_time(), time.perf_counter()
    meter.delays.clear()
    meter.over.wait(meter.seconds)
    _say_idle(meter, time.process_time() - used, time.perf_counter() - begun)


async def read_aio(meter: Meter, text: str, ca_file: str) -> None:
    from azure.eventhub.aio import EventHubConsumerClient  # noqa: PLC0415 - ours does without

    client = EventHubConsumerClient.from_connection_string(text, **_sdk_options(text, ca_file))

    async def take(_context: Any, events: list[Any]) -> None:
        meter.take(events)

    reading = asyncio.create_task(
        client.receive_batch(
            on_event_batch=take, starting_position=_place(meter), max_batch_size=_SDK_BATCH
        )
    )
    if meter.seconds:
        await asyncio.sleep(_SDK_SETTLES_S)
        meter.delays.clear()
    await _until_over(meter)
    reading.cancel()
    os._exit(0)


def read_kafka(meter: Meter, address: str, ca_file: str) -> None:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - the others do without

    options: dict[str, Any] = {
        "bootstrap.servers": address,
        "group.id": "bench",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    if ca_file:
        options |= {"security.protocol": "ssl", "ssl.ca.location": ca_file}
        options["ssl.endpoint.identification.algorithm"] = "none"  # the certificate is localhost's
    consumer = Consumer(options)
    consumer.assign([TopicPartition(HUB, number, 0) for number in range(PARTITIONS)])
    while not meter.over.is_set():
        messages = consumer.consume(_KAFKA_BATCH, 1.0)
        for message in messages:
            if message.error() is not None:
                raise OSError(str(message.error()))
        meter.take([message.value() for message in messages])
    consumer.close()


def main(arguments: Sequence[str]) -> None:
    what, by, text, events, seconds, *rest = arguments
    meter = Meter(what, int(events), float(seconds))
    ca_file = rest[0] if rest else ""
    if by in ("sync", "kafka"):
        (read_sync if by == "sync" else read_kafka)(meter, text, ca_file)
        return
    read: Callable[..., Any] = read_native if by == "native" else read_aio
    asyncio.run(read(meter, text, ca_file))


if __name__ == "__main__":
    main(sys.argv[1:])
