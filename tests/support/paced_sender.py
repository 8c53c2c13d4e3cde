"""Sends events to all partitions of a hub in turn, as many in a second as a file says:
`paced_sender.py CONNECTION_STRING HUB PARTITIONS RATE_FILE`.

Each change of the rate is a line, `TIME RATE`, printed when it begins to hold. It is laid into a
pod by cluster_sized.py.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing

_EVERY_S = 0.05


def rate_in(file: Path) -> float:
    """0 where there is nothing yet, or it is being written."""
    try:
        return float(file.read_text())
    except (FileNotFoundError, ValueError):
        return 0.0


async def send(connection_string: str, hub: str, partitions: int, file: Path) -> None:
    sender = NativeSender(connection_string, hub)
    rate, owed, sent = 0.0, 0.0, 0
    before = time.monotonic()
    while True:
        # However long the last turn took.
        now = time.monotonic()
        owed, before = owed + rate * (now - before), now
        told = rate_in(file)
        if told != rate:
            rate = told
            print(f"{time.time():.3f} {rate:g}", flush=True)
        events = [
            Outgoing(b'{"n":%d}' % number, partition=str(number % partitions))
            for number in range(sent, sent + int(owed))
        ]
        sent, owed = sent + len(events), owed - len(events)
        if events:
            await sender.send(events)
        await asyncio.sleep(_EVERY_S)


def main(arguments: Sequence[str]) -> None:
    connection_string, hub, partitions, file = arguments
    asyncio.run(send(connection_string, hub, int(partitions), Path(file)))


if __name__ == "__main__":
    main(sys.argv[1:])
