"""Sends numbered events to every partition of a hub, at a steady pace, each exactly once:
`numbered_sender.py CONNECTION_STRING HUB PARTITIONS FIRST END SECONDS [BEGIN]`.

With BEGIN, a time, they are readings of homes from then on (numbered_readings.py).

Rules: batches are built by hand (tidegate.sending), so that this takes little of the machine that
all share; it ends when the hub has everything, and with an error where it has not.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

from support.numbered_events import event
from support.numbered_readings import reading
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing

_EVERY_S = 0.2
_AT_ONCE = 1_000

# Of a partition and a number.
Body = Callable[[int, int], bytes]


async def send(
    connection_string: str,
    hub: str,
    partitions: int,
    first: int,
    end: int,
    seconds: float,
    body: Body,
) -> None:
    loop = asyncio.get_running_loop()
    sender = NativeSender(connection_string, hub)
    begun, sent = loop.time(), first
    while sent < end:
        share = (loop.time() - begun + _EVERY_S) / seconds
        due = min(end, first + int((end - first) * share), sent + _AT_ONCE)
        for partition in range(partitions):
            name, numbers = str(partition), range(sent, due)
            await sender.send([Outgoing(body(partition, n), partition=name) for n in numbers])
        sent = due
        await asyncio.sleep(0 if share >= 1 else _EVERY_S)
    await sender.flush()
    accepted, wanted = sender.accepted, (end - first) * partitions
    await sender.close()
    if accepted != wanted:
        raise SystemExit(f"the hub accepted {accepted} events of {wanted}")


def main(arguments: Sequence[str]) -> None:
    connection_string, hub, partitions, first, end, seconds, *begin = arguments

    def body(partition: int, number: int) -> bytes:
        return reading(partition, number, float(begin[0])) if begin else event(number)

    counts = (int(partitions), int(first), int(end))
    asyncio.run(send(connection_string, hub, *counts, float(seconds), body))


if __name__ == "__main__":
    main(sys.argv[1:])
