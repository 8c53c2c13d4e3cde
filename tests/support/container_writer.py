"""Writes numbered items into a container, as many in a second as a file says:
`container_writer.py CONNECTION_STRING DATABASE CONTAINER RATE_FILE`.

Items of one home are written in the order of their numbers, and each counts only once it is there.
Each change of the rate is a line, `TIME RATE NUMBER`, printed when it begins to hold: the number is
that of the next item. It is laid into a pod by cluster_container.py.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from azure.cosmos.aio import CosmosClient

HOMES = 64
_EVERY_S = 0.1


def rate_in(file: Path) -> float:
    """0 where there is nothing yet, or it is being written."""
    try:
        return float(file.read_text())
    except (FileNotFoundError, ValueError):
        return 0.0


async def write(connection_string: str, database: str, container: str, file: Path) -> None:
    rate, owed, written = 0.0, 0.0, 0
    async with CosmosClient.from_connection_string(connection_string) as client:
        items = client.get_database_client(database).get_container_client(container)
        while True:
            told = rate_in(file)
            if told != rate:
                rate = told
                print(f"{time.time():.3f} {rate:g} {written}", flush=True)
            owed += rate * _EVERY_S
            while owed >= 1:
                home = f"h{written % HOMES}"
                await items.upsert_item({"id": str(written), "home": home, "n": written})
                written, owed = written + 1, owed - 1
            await asyncio.sleep(_EVERY_S)


def main(arguments: Sequence[str]) -> None:
    connection_string, database, container, file = arguments
    asyncio.run(write(connection_string, database, container, Path(file)))


if __name__ == "__main__":
    main(sys.argv[1:])
