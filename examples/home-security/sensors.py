"""Sends the simulated readings of many homes to an event hub, through the official SDK.

Each home has a few sensors and sends one small batch in each period, keyed by the home, so that a
home's readings stay in one partition and in order. What a home reads is drawn as `tidegate send
--homes` draws it. The connection string comes from TIDEGATE_CONNECTION_STRING.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import time
from collections.abc import Iterable

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubProducerClient

from tidegate.sending.sensors import KINDS, Dice, home_name, readings

TICK_S = 0.1


def turns_due(
    homes: int, period_s: float, since_s: float, until_s: float
) -> Iterable[tuple[int, int]]:
    """Whose turn comes in this stretch of time: turn and home. They are spread over the period."""
    first = int(since_s / period_s * homes)
    last = int(until_s / period_s * homes)
    return (divmod(number, homes) for number in range(first, last))


async def send_home(producer: EventHubProducerClient, home: int, turn: int, dice: Dice) -> int:
    """Send what one home reads now; returns the number of events."""
    batch = await producer.create_batch(partition_key=home_name(home))
    drawn = readings(home, turn, time.time(), dice)
    for reading in drawn:
        batch.add(EventData(reading.body))
    await producer.send_batch(batch)
    return len(drawn)


async def send_until(stopped: asyncio.Event, settings: argparse.Namespace) -> int:
    """Send each home's readings at its turn until told to stop; returns the number of events."""
    producer = EventHubProducerClient.from_connection_string(
        os.environ["TIDEGATE_CONNECTION_STRING"], eventhub_name=settings.hub
    )
    dice = random.Random(settings.seed).random
    sent = 0
    async with producer:
        begun, done_until = time.monotonic(), 0.0
        while not stopped.is_set():
            now = time.monotonic() - begun
            for turn, home in turns_due(settings.homes, settings.period_s, done_until, now):
                sent += await send_home(producer, home, turn, dice)
                if stopped.is_set():
                    break
            done_until = now
            await asyncio.sleep(TICK_S)
    return sent


async def main(settings: argparse.Namespace) -> None:
    """Send until SIGTERM or Ctrl-C."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    print(
        f"sensors: {settings.homes} homes with {len(KINDS)} sensors each, a reading every "
        f"{settings.period_s:g} s",
        flush=True,
    )
    sent = await send_until(stopped, settings)
    print(f"sensors: sent {sent:,} readings", flush=True)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The settings of this program."""
    parser = argparse.ArgumentParser(description="Send simulated readings of homes")
    parser.add_argument("--hub", default="telemetry", help="event hub to send to")
    parser.add_argument("--homes", type=int, default=600, help="how many homes")
    parser.add_argument("--period-s", type=float, default=10.0, help="seconds between readings")
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulated world")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    asyncio.run(main(parse()))
