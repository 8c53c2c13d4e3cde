"""Reads the readings of all homes with the official SDK and prints one summary line a second.

`Tally` is pure: it is told each reading and the time, and says what the second was like. The
connection string comes from TIDEGATE_CONNECTION_STRING.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient, PartitionContext

LINE_EVERY_S = 1.0


class Tally:
    """What was read: in all, and since the last line."""

    def __init__(self) -> None:
        self.total = 0
        self._homes: set[str] = set()
        self._partitions: set[str] = set()
        self._since_line = 0
        self._alarms: list[str] = []
        self._newest = 0.0

    def add(self, partition: str, reading: dict[str, Any]) -> None:
        """Count one reading."""
        self.total += 1
        self._since_line += 1
        self._homes.add(reading["home"])
        self._partitions.add(partition)
        self._newest = max(self._newest, reading["at"])
        if reading["alarm"]:
            self._alarms.append(f"{reading['home']} {reading['kind']}")

    def line(self, now: float, seconds: float) -> str:
        """One line on the stretch since the last line, which then begins anew."""
        behind = f"{now - self._newest:.2f} s behind" if self._newest else "nothing yet"
        alarms = f"{len(self._alarms)} alarms"
        if self._alarms:
            alarms += f" (last: {self._alarms[-1]})"
        text = (
            f"{time.strftime('%H:%M:%S', time.gmtime(now))}  {self._since_line / seconds:5.0f} "
            f"events/s  {len(self._homes)} homes  {len(self._partitions)} partitions  "
            f"{behind}  {alarms}"
        )
        self._since_line = 0
        self._alarms.clear()
        return text


async def print_lines(tally: Tally) -> None:
    """Print the tally once a second, for ever."""
    last = time.monotonic()
    while True:
        await asyncio.sleep(LINE_EVERY_S)
        now = time.monotonic()
        print(tally.line(time.time(), now - last), flush=True)
        last = now


async def main(settings: argparse.Namespace) -> None:
    """Read until SIGTERM or Ctrl-C."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    tally = Tally()

    async def handle(partition: PartitionContext, events: Sequence[EventData]) -> None:
        for event in events:
            tally.add(partition.partition_id, event.body_as_json())

    consumer = EventHubConsumerClient.from_connection_string(
        os.environ["TIDEGATE_CONNECTION_STRING"],
        consumer_group=settings.group,
        eventhub_name=settings.hub,
    )
    async with consumer:
        reading = asyncio.create_task(consumer.receive_batch(handle, starting_position="-1"))
        printing = asyncio.create_task(print_lines(tally))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        printing.cancel()
        stopping.cancel()
        if not reading.done():
            reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
    print(f"reader: read {tally.total:,} readings", flush=True)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The settings of this program."""
    parser = argparse.ArgumentParser(description="Read the readings of homes, a line a second")
    parser.add_argument("--hub", default="telemetry", help="event hub to read from")
    parser.add_argument("--group", default="$Default", help="consumer group of the hub")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    asyncio.run(main(parse()))
