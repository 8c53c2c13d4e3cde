"""Sends what the homes of the scenario say, at a steady pace: a process of its own.

`spark_homes.py CONNECTION_STRING HUB PARTITIONS SECONDS [HOMES]`; prints how many events it sent.
In every minute each home reads six kinds of sensors once; a home's readings are in one partition.

Rules: what is said depends on the number of the event alone; it ends when the hub has everything.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence

from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing

HOMES = 100_000
KINDS = ("motion", "door", "window", "glass", "smoke", "co")
MINUTE_S = 60
_EVERY_S = 0.2
# So that homes that come one after the other are not neighbours: it has no factor in common.
_STRIDE = 7_919


def readings(turn: int, homes: int, partitions: int, at: float) -> list[Outgoing]:
    """What the home says whose turn it is."""
    home, made = turn * _STRIDE % homes, []
    for number, kind in enumerate(KINDS):
        odds = (turn * 31 + number * 17) % 200
        alarm = "true" if odds == 0 and number else "false"
        body = (
            f'{{"home":"home-{home:06}","kind":"{kind}","value":{int(odds < 10)},'
            f'"alarm":{alarm},"at":{at:.3f}}}'
        )
        made.append(Outgoing(body.encode(), partition=str(home % partitions)))
    return made


async def send(
    connection_string: str, hub: str, partitions: int, seconds: float, homes: int
) -> int:
    """Sends for so long; how many events that were."""
    sender = NativeSender(connection_string, hub)
    begun, turn = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        due = int(min(passed + _EVERY_S, seconds) * homes / MINUTE_S)
        at = time.time()
        events = [
            each for number in range(turn, due) for each in readings(number, homes, partitions, at)
        ]
        # A message to a partition holds what comes to it.
        await sender.send(sorted(events, key=lambda event: event.partition))
        turn = due
        await asyncio.sleep(max(begun + passed + _EVERY_S - time.monotonic(), 0))
    await sender.flush()
    accepted = sender.accepted
    await sender.close()
    if accepted != turn * len(KINDS):
        raise SystemExit(f"the hub accepted {accepted} events of {turn * len(KINDS)}")
    return accepted


def main(arguments: Sequence[str]) -> None:
    connection_string, hub, partitions, seconds, *homes = arguments
    told = int(homes[0]) if homes else HOMES
    print(asyncio.run(send(connection_string, hub, int(partitions), float(seconds), told)))


if __name__ == "__main__":
    main(sys.argv[1:])
