"""`spark.read` over a range of a hub or of a change feed: for replays, and for looking.

Rules:
- It owns nothing and competes with nobody: no epoch, no ledger. What it reads is the same each
  time, because the range is made of sequence numbers when the query is planned; but of a container
  that tells latest versions, an item that was written again since comes no more.
- Where a group's members read, the hub lets no reader without an epoch in: another consumer group
  is needed, and that is said. A container lets everybody read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from tidegate.ports import StolenError
from tidegate.spark.columns import Columns
from tidegate.spark.container_place import ContainerPlace
from tidegate.spark.feed_batches import ChangePiece, maker_of
from tidegate.spark.feed_fetching import FeedFetch
from tidegate.spark.feed_ranges import ALL_TIMES, Times, feed_turns
from tidegate.spark.fetching import fetcher
from tidegate.spark.hub_place import HubPlace
from tidegate.spark.hub_ranges import competes, hub_turns
from tidegate.spark.options import BatchOptions
from tidegate.spark.positions import Turn
from tidegate.spark.reading_tasks import change_pieces, made_of, pieces, undecodable
from tidegate.spark.reading_turns import Progress
from tidegate.spark.source_place import SourcePlace, place_of


@dataclass(frozen=True)
class Range(InputPartition):
    """What one task reads: a part of one partition."""

    source: SourcePlace
    turn: Turn
    # Changes that were written at other times are left out.
    times: Times = ALL_TIMES


class TidegateReader(DataSourceReader):
    """See the module."""

    def __init__(self, options: BatchOptions, columns: Columns) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[Range]:  # type: ignore[override]
        # Imported here: workers do without.
        from tidegate.commands.wiring import set_up  # noqa: PLC0415

        source = place_of(set_up(Path(self._options.file), os.environ, runs_code=False))
        if isinstance(source, ContainerPlace):
            feeds = asyncio.run(feed_turns(source, self._options))
            return [Range(source, turn, Times.of(self._options)) for turn in feeds]
        if self._options.consumer_group:
            source = replace(source, group=self._options.consumer_group)
        return [Range(source, turn) for turn in asyncio.run(hub_turns(source, self._options))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Where there is no range at all, Spark makes a partition of its own.
        return _read(partition, self._columns) if isinstance(partition, Range) else iter(())


def _read(asked: Range, columns: Columns) -> Iterator[pa.RecordBatch]:
    reading = fetcher()
    maker = maker_of(columns)
    partition, progress = asked.turn.partition, Progress.of(asked.turn)
    (fetch,) = reading.begin(asked.source, [(asked.turn, None)])
    try:
        found = (
            _within(asked.times, change_pieces(reading, fetch, progress))
            if isinstance(fetch, FeedFetch)
            else pieces(reading, fetch, progress)
        )
        for piece in found:
            made = made_of(maker, partition, piece, stops=True)
            if made.faulty:
                raise undecodable(partition, piece, made.faulty[0])
            yield made.batch
    except StolenError as error:
        assert isinstance(asked.source, HubPlace), "a container lets everybody read"
        raise competes(asked.source, partition) from error
    finally:
        reading.run(fetch.end(None))


def _within(times: Times, pieces: Iterator[ChangePiece]) -> Iterator[ChangePiece]:
    for piece in pieces:
        left = [change for change in piece.changes if times.has(change.enqueued_at)]
        if left:
            yield ChangePiece(left)
