"""One stream of Spark's, measured: a process of its own with its JVM, workers and planner.

`spark_run.py WHAT BY PORT STORAGE EVENTS SECONDS`; prints a name and a number a line.

- `load`: reads EVENTS in batches of 50,000, twice: the second time is measured, from the end of
  its second batch to that of its last, in CPU of all processes of the stream.
- `latency`: batches as fast as they go, for SECONDS, of whatever comes.
- `executors`: as `load`, on a standalone Spark of SECONDS executors with a core each.

BY is `ours` or `sdk` (spark_sdk_source.py). The pipeline aggregates by home, sensor and minute,
and collects.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from spark_events import HUB, SCHEMA, connection_string

BATCH = 50_000
LIMIT_S = 1_200
_WARM_S = 15.0
_GROUP = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: bench}}
spec:
  source:
    eventHubs: {{hub: {hub}, connectionString: {{env: EVENTS}}, start: {start}}}
  ledger: {{container: {container}, connectionString: {{env: STORAGE}}, create: true}}
"""


def session_of(folder: Path, master: str) -> SparkSession:
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(master).appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Streams:
    """Streams of one source."""

    def __init__(self, spark: SparkSession, by: str, port: int, folder: Path, tasks: int) -> None:
        self._spark = spark
        self._by = by
        self._connection = connection_string(port)
        self._folder = folder
        self._tasks = tasks
        self._lives = 0

    def start(self, take: Callable[[DataFrame, int], None], trigger: dict[str, Any]) -> Any:
        """A query that has read nothing yet."""
        self._lives += 1
        frame = self._ours(trigger) if self._by == "ours" else self._sdk()
        writer = frame.writeStream.foreachBatch(take).trigger(**trigger)
        return writer.option("checkpointLocation", str(self._folder / f"{self._lives}")).start()

    def _ours(self, trigger: dict[str, Any]) -> DataFrame:
        from tidegate.spark.source import TidegateDataSource  # noqa: PLC0415 - the peer does without

        self._spark.dataSource.register(TidegateDataSource)
        file = self._folder / f"group-{self._lives}.yaml"
        start = "earliest" if "availableNow" in trigger else "latest"
        container = f"bench-{os.getpid()}-{self._lives}"
        file.write_text(_GROUP.format(hub=HUB, start=start, container=container))
        reader = self._spark.readStream.format("tidegate").option("file", str(file))
        reader = reader.option("schema", SCHEMA).option("tasksPerMember", self._tasks)
        return reader.option("maxEvents", BATCH).load()

    def _sdk(self) -> DataFrame:
        from spark_sdk_source import SdkSource  # noqa: PLC0415 - ours does without

        self._spark.dataSource.register(SdkSource)
        reader = self._spark.readStream.format("sdk").option("connection", self._connection)
        return reader.option("maxEvents", BATCH).load()


def pipeline(frame: DataFrame) -> None:
    minutes = frame.groupBy(
        "partition", "home", "sensor", sql.date_trunc("minute", "at").alias("m")
    )
    minutes.agg(
        sql.count("*").alias("count"), sql.sum("value"), sql.min("value"), sql.max("sequence")
    ).toArrow()


def cpu_s() -> float:
    """What this process, and all that it has started, have used so far."""
    me = psutil.Process()
    used = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        # Of a child that has ended, its parent has the time.
        used += times.user + times.system + times.children_user + times.children_system
    return used


class Marks:
    """Time, CPU and events at the end of each batch."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def take(self, frame: DataFrame, _number: int) -> None:
        pipeline(frame)
        self.points.append((time.perf_counter(), cpu_s()))


def load(streams: Streams, events: int) -> None:
    """Prints what an event costs."""
    for is_measured in (False, True):
        marks = Marks()
        query = streams.start(marks.take, {"availableNow": True})
        if not query.awaitTermination(LIMIT_S):
            raise TimeoutError(f"{events} events were not read within {LIMIT_S} s")
        rows = [progress["numInputRows"] for progress in query.recentProgress]
        if not is_measured:
            continue
        read = [count for count in rows if count]
        if len(read) < 3:
            raise ValueError(f"{len(read)} batches are too few to measure: more events, please")
        points = marks.points[-len(read) :]
        (begun, used), (ended, used_then) = points[1], points[-1]
        counted = sum(read[2:])
        print("us", (used_then - used) / counted * 1e6)
        print("rate", counted / (ended - begun))
        print("events", sum(read))


def latency(streams: Streams, seconds: float) -> None:
    """Prints how long triggers with events took."""
    query = streams.start(Marks().take, {"processingTime": "0 seconds"})
    begun, found = time.monotonic(), {}
    while time.monotonic() - begun < _WARM_S + seconds:
        time.sleep(0.5)
        problem = query.exception()
        if problem is not None:
            raise problem
        for progress in query.recentProgress:
            if progress["numInputRows"] and time.monotonic() - begun > _WARM_S:
                found[progress["batchId"]] = progress["durationMs"]["triggerExecution"]
    query.stop()
    times = sorted(found.values())
    print("triggers", len(times))
    print("p50_ms", times[len(times) // 2])
    print("p95_ms", times[len(times) * 95 // 100])


def main(what: str, by: str, port: str, storage: str, events: str, seconds: str) -> None:
    os.environ |= {"EVENTS": connection_string(int(port)), "STORAGE": storage}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Spark's workers import the peer's source, which no package has.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-spark-")))
        master, tasks = "local[2]", 2
        if what == "executors":
            master, tasks = standalone(folder, int(seconds), stack), 1
        spark = session_of(folder, master)
        stack.callback(spark.stop)
        streams = Streams(spark, by, int(port), folder, tasks)
        if what == "latency":
            latency(streams, float(seconds))
        else:
            load(streams, int(events))


def standalone(folder: Path, executors: int, stack: ExitStack) -> str:
    """The URL of a master with so many executors of one core."""
    import pyspark  # noqa: PLC0415

    from tidegate.spark.java import ensure_java  # noqa: PLC0415
    from tidegate.spark.standalone import Standalone  # noqa: PLC0415

    home = Path(pyspark.__file__).parent
    made = Standalone(home, ensure_java(), folder / "standalone", cores=1, memory_mib=512)
    url = made.start()
    stack.callback(made.stop)
    made.scale(executors)
    return url


if __name__ == "__main__":
    main(*sys.argv[1:])
