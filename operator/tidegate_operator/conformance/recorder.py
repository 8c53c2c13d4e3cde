"""The handler and the pipeline of `tidegate conformance`: what they are given they write down, in
append blobs that the agent reads. It is laid into a ConfigMap, so that it imports nothing of ours.

A line is `TIME WHO PARTITION EPOCH STREAM FIRST LAST NUMBER handled`, and is written before its
events count as handled, so that nothing is handled that is not written. The SDK may append it twice
where a reply is lost: then its number, which no other line of the blob has, is there twice. Where
it could not be written the handler fails, and the same line with `failed` at its end goes before
the next ones: whether it is there or not, it handled nothing.

CONFORMANCE_STORAGE is the connection string, CONFORMANCE_SEEN the container, a space and the folder
in it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# Which life of its member this process is.
BEGUN = f"{time.time():.3f}"
# Items of a container belong to so many homes; each home's have an order of their own.
HOMES = 64
# An append blob takes 50,000 appends.
_APPENDS = 40_000
_numbers = itertools.count()
# Lines of calls that failed, which the next append tells.
_failed: list[str] = []


def runs(events: Sequence[Any], partition: str) -> Iterator[tuple[str, int, int]]:
    """Stream, first and last of what was given, as ranges without a gap."""
    # A change of a container is a dict, which has a number of its own as well.
    if not isinstance(events[0], dict):
        yield from _ranges(partition, [event.sequence_number for event in events])
        return
    homes: dict[int, list[int]] = {}
    for change in events:
        homes.setdefault(change["n"] % HOMES, []).append(change["n"] // HOMES)
    for home, numbers in homes.items():
        yield from _ranges(f"home-{home}", numbers)


def _ranges(stream: str, numbers: list[int]) -> Iterator[tuple[str, int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield stream, first, last
            first = number
        last = number
    yield stream, first, last


class Pen:
    """One life's blobs: another one when it has had its appends."""

    def __init__(self) -> None:
        self._count = 0
        self._blob: Any = None
        self._lock = asyncio.Lock()

    async def write(self, member: str, lines: str) -> None:
        from azure.storage.blob.aio import BlobClient  # noqa: PLC0415

        async with self._lock:
            if self._count % _APPENDS == 0:
                if self._blob is not None:
                    await self._blob.close()
                container, folder = os.environ["CONFORMANCE_SEEN"].split(" ")
                name = f"{folder}/{member}-{BEGUN}-{self._count // _APPENDS}"
                address = os.environ["CONFORMANCE_STORAGE"]
                self._blob = BlobClient.from_connection_string(address, container, name)
                await self._blob.create_append_blob()
            self._count += 1
            told = with_failed(lines)
        try:
            await self._blob.append_block(told.encode())
        except Exception:
            note_failed(told)
            raise


_pen = Pen()


def lines_of(member: str, partition: str, epoch: int, found: Iterable[tuple[str, int, int]]) -> str:
    now = f"{time.time():.3f}"
    return "".join(
        f"{now} {member}#{BEGUN} {partition} {epoch} {stream} {first} {last} {next(_numbers)} "
        "handled\n"
        for stream, first, last in found
    )


def with_failed(lines: str) -> str:
    """What is to be appended: first what is yet to be told of calls that failed."""
    told = "".join(_failed) + lines
    _failed.clear()
    return told


def note_failed(told: str) -> None:
    """That nobody knows whether this was appended, and that the handler fails."""
    _failed.extend(f"{line.rpartition(' ')[0]} failed\n" for line in told.splitlines())


async def handle(events: Sequence[Any], context: Any) -> None:
    found = runs(events, context.partition)
    lines = lines_of(context.member, context.partition, context.epoch, found)
    await _pen.write(context.member, lines)


def pipeline(df: Any, context: Any) -> None:
    """The same on Spark: one row for each partition of a batch."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    counted = df.groupBy("partition").agg(
        F.min("sequence").alias("first"), F.max("sequence").alias("last"), F.count("*").alias("n")
    )
    lines = ""
    for row in counted.collect():
        if row["n"] != row["last"] - row["first"] + 1:
            raise ValueError(
                f"partition {row['partition']}: {row['n']} events between {row['first']} and "
                f"{row['last']}"
            )
        turn = context.turns[row["partition"]]
        found = [(row["partition"], row["first"], row["last"])]
        lines += lines_of(turn.member or context.member, row["partition"], turn.epoch, found)
    if lines:
        _append(context.member, lines)


_count = 0


def _append(member: str, lines: str) -> None:
    """Of a driver: one blob for each batch would do as well, and these are fewer."""
    from azure.storage.blob import BlobClient  # noqa: PLC0415

    global _count  # noqa: PLW0603
    container, folder = os.environ["CONFORMANCE_SEEN"].split(" ")
    name = f"{folder}/{member}-{BEGUN}-{_count // _APPENDS}"
    address = os.environ["CONFORMANCE_STORAGE"]
    with BlobClient.from_connection_string(address, container, name) as blob:
        if _count % _APPENDS == 0:
            blob.create_append_blob()
        _count += 1
        told = with_failed(lines)
        try:
            blob.append_block(told.encode())
        except Exception:
            note_failed(told)
            raise
