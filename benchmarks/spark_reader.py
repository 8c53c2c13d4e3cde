"""What a task's `read` costs without Spark: from a socket's bytes to batches of Arrow.

`spark_reader.py BY PORT EVENTS`: a process of its own; prints a name and a number a line. BY is
`ours`, or `sdk`: the source of spark_sdk_source.py, whose rows become Arrow as Spark makes them.
`sdk-seldom` is the same with two long turns of each partition: of a client's coming and going, of
which `read` of Spark's has one for each turn, little is left in it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from spark_events import GROUP, HUB, PARTITIONS, connection_string

# Of each partition, so many are a turn.
_TURN = 3_000


def schema() -> Any:
    from pyspark.sql.types import StructType  # noqa: PLC0415 - part of what is not measured

    made = StructType().add("partition", "string").add("sequence", "long")
    made = made.add("enqueued", "timestamp").add("home", "string").add("sensor", "string")
    return made.add("value", "double").add("at", "timestamp").add("n", "long")


def ours(port: int, events: int) -> Iterator[Any]:
    from tidegate.model import Position  # noqa: PLC0415 - the peer does without
    from tidegate.spark.columns import columns_of  # noqa: PLC0415
    from tidegate.spark.fetching import Fetcher  # noqa: PLC0415
    from tidegate.spark.hub_place import HubPlace  # noqa: PLC0415
    from tidegate.spark.positions import Turn  # noqa: PLC0415
    from tidegate.spark.reading_tasks import read_task  # noqa: PLC0415
    from tidegate.spark.tasks import DeskPlace, ReadTask  # noqa: PLC0415

    class Silent:
        def report(self, read: Any) -> None:
            self.last = read

    class Reading(Fetcher):
        def desk(self, desk: Any) -> Any:
            del desk
            return Silent()

    columns = columns_of(schema())
    place, reading = HubPlace(connection_string(port), HUB, GROUP), Reading()
    last = events // PARTITIONS - 1
    for after in range(-1, last, _TURN):
        for half in (range(PARTITIONS // 2), range(PARTITIONS // 2, PARTITIONS)):
            turns = tuple(
                Turn(str(number), 1, Position(sequence=after), min(after + _TURN, last))
                for number in half
            )
            yield from read_task(ReadTask(1, turns, place, DeskPlace("", "")), columns, reading)
    reading.close()


def by_sdk(port: int, events: int, turn: int) -> Iterator[Any]:
    from pyspark.sql.worker.plan_data_source_read import (  # noqa: PLC0415
        records_to_arrow_batches,
    )

    from spark_sdk_source import SdkRange, SdkSource  # noqa: PLC0415

    source = SdkSource({"connection": connection_string(port)})
    reader = source.streamReader(schema())
    last = events // PARTITIONS - 1
    for after in range(-1, last, turn):
        for number in range(PARTITIONS):
            asked = SdkRange(str(number), after, min(after + turn, last))
            yield from records_to_arrow_batches(reader.read(asked), 10_000, schema(), source)


def main(by: str, port: str, events: str) -> None:
    turn = int(events) // PARTITIONS // 2 if by == "sdk-seldom" else _TURN
    batches = ours(int(port), int(events)) if by == "ours" else by_sdk(int(port), int(events), turn)
    begun, used, got, seen = 0.0, 0.0, 0, 0
    for batch in batches:
        if begun:
            got += batch.num_rows
            continue
        seen += batch.num_rows
        if seen >= PARTITIONS * turn:
            # The first turn of every partition, for which all is imported and connected, counts
            # for nobody.
            begun, used = time.perf_counter(), time.process_time()
    print("us", (time.process_time() - used) / got * 1e6)
    print("rate", got / (time.perf_counter() - begun))


if __name__ == "__main__":
    main(*sys.argv[1:])
