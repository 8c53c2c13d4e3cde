"""Sends an event to every partition of a hub, five times a second, until it is told to stop:
`endless_sender.py CONNECTION_STRING HUB PARTITIONS STOP_FILE`.

It ends when the file is there and the hub has everything, prints how many events each partition
was sent, and fails where the hub has fewer. It is laid into a pod by cluster_counting.py.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing

EVERY_S = 0.2


async def send(connection_string: str, hub: str, partitions: int, stop: Path) -> int:
    """How many events each partition was sent."""
    loop = asyncio.get_running_loop()
    sender = NativeSender(connection_string, hub)
    sent, next_at = 0, loop.time()
    while not stop.exists():
        body = b'{"n":%d}' % sent
        await sender.send([Outgoing(body, partition=str(number)) for number in range(partitions)])
        sent, next_at = sent + 1, next_at + EVERY_S
        await asyncio.sleep(max(next_at - loop.time(), 0.0))
    await sender.flush()
    accepted = sender.accepted
    await sender.close()
    if accepted != sent * partitions:
        raise SystemExit(f"the hub accepted {accepted} events of {sent * partitions}")
    return sent


def main(arguments: Sequence[str]) -> None:
    connection_string, hub, partitions, stop = arguments
    print(asyncio.run(send(connection_string, hub, int(partitions), Path(stop))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
