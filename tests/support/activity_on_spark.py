"""A program: the pipeline of the examples over numbered readings, in batches, on a local Spark.

`activity_on_spark.py GROUP_FILE SEED EVENTS_A_BATCH`. It writes to the storage account in STORAGE,
and stands in for the office: every batch is done, and its checkpoint stands at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from support.activity_readings import Numbered, numbered_readings, portions
from tidegate.commands.wiring import set_up
from tidegate.model import Position
from tidegate.spark.pipelines import load_pipeline
from tidegate.spark.positions import Turn, batch_of
from tidegate.spark.running import PipelineRun

COLUMNS = "home string, kind string, value bigint, alarm boolean, at double"
FRONT = "partition string, sequence bigint, enqueued timestamp"


class Desk:
    """What the pipeline asks of the office."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.states: dict[str, bytes | None] = {}
        self.places: dict[str, int] = {}
        self.under_way: dict[str, Turn] = {}

    def turns(self) -> dict[str, Turn]:
        return self.under_way

    def state_of(self, partition: str) -> bytes | None:
        return self.states.get(partition)

    def checkpointed(self, partition: str, epoch: int) -> int | None:
        return self.places.get(partition)

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def main(path: Path, seed: int, events_a_batch: int) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "700m")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    desk = Desk()
    setup = set_up(path, os.environ)
    pipeline = load_pipeline(setup.group.spec.handler.code, path.parent)
    run = PipelineRun(pipeline, desk, setup)
    for number, events in enumerate(portions(numbered_readings(seed), events_a_batch)):
        ends = {event.partition: event.sequence_number for event in events}
        desk.under_way = {
            partition: Turn(partition, 1, _position(desk.places.get(partition, -1)), end)
            for partition, end in ends.items()
        }
        frame = spark.createDataFrame([_row(event) for event in events], f"{FRONT}, {COLUMNS}")
        desk.states |= run.batch(frame, batch_of(desk.under_way.values(), number))
        desk.places |= ends
        run.tidy()
    run.close()
    spark.stop()


def _position(sequence: int) -> Position:
    return Position(str(sequence), sequence)


def _row(event: Numbered) -> tuple[Any, ...]:
    reading = json.loads(event.body)
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    enqueued = datetime.fromtimestamp(event.enqueued_at, UTC)
    return (
        event.partition,
        event.sequence_number,
        enqueued,
        *(reading.get(name) for name in names),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
