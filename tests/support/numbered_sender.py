"""Sends numbered events to every partition of a hub, at a steady pace, each exactly once:
`numbered_sender.py CONNECTION_STRING HUB PARTITIONS FIRST END SECONDS`.

Rules: batches are built by hand (tidegate.sending), so that this takes little of the machine that
all share; it ends when the hub has everything, and with an error where it has not.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from support.numbered_events import event
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing

_EVERY_S = 0.2
_AT_ONCE = 1_000


async def send(
    connection_string: str, hub: str, partitions: int, first: int, end: int, seconds: float
) -> None:
    loop = asyncio.get_running_loop()
    sender = NativeSender(connection_string, hub)
    begun, sent = loop.time(), first
    while sent < end:
        share = (loop.time() - begun + _EVERY_S) / seconds
        due = min(end, first + int((end - first) * share), sent + _AT_ONCE)
        bodies = [event(number) for number in range(sent, due)]
        for partition in range(partitions):
            await sender.send([Outgoing(body, partition=str(partition)) for body in bodies])
        sent = due
        await asyncio.sleep(0 if share >= 1 else _EVERY_S)
    await sender.flush()
    accepted, wanted = sender.accepted, (end - first) * partitions
    await sender.close()
    if accepted != wanted:
        raise SystemExit(f"the hub accepted {accepted} events of {wanted}")


def main(arguments: Sequence[str]) -> None:
    connection_string, hub, partitions, first, end, seconds = arguments
    asyncio.run(send(connection_string, hub, int(partitions), int(first), int(end), float(seconds)))


if __name__ == "__main__":
    main(sys.argv[1:])
