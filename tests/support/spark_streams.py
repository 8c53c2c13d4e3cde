"""Streams of the source `tidegate` without a driver of ours, in a session of the tests' own.

    stream = SparkStream(spark, group, hub, folder)     # `group` is a CommandGroup
    query = stream.start(maxEvents=100)
    stream.wait_for(1000)
    stream.rows                                         # (partition, sequence, n), as they came

Rules: what a batch held is kept when Spark's own work on it has ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from azure.eventhub import EventData, EventHubProducerClient
from pyspark.sql import DataFrame, SparkSession

from support.command_group import CommandGroup
from support.wait import wait_until
from tidegate.spark.source import TidegateDataSource
from tidegate_hub.testing import RunningHub

Row = tuple[str, int, int]


def local_session(folder: Path) -> SparkSession:
    """Two tasks at a time, in one small JVM."""
    settings = {
        "spark.driver.memory": "700m",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.dataSource.register(TidegateDataSource)
    return session


class SparkStream:
    """See the module."""

    def __init__(
        self, spark: SparkSession, group: CommandGroup, hub: RunningHub, folder: Path
    ) -> None:
        self.spark = spark
        self.group = group
        self.hub = hub
        self.batches: list[list[Row]] = []
        self.fails = False
        self._folder = folder
        self._query: Any = None
        # No code of the group's runs, so its file names none.
        text = group.file.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.strip().startswith("handler:")]
        group.file.write_text("\n".join(lines), encoding="utf-8")

    def frame(self, schema: str = "n bigint", **options: Any) -> DataFrame:
        reader = self.spark.readStream.format("tidegate").option("file", str(self.group.file))
        return reader.option("schema", schema).options(**options).load()

    def start(
        self, *, life: str = "life", trigger: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        """A query; those of one life share Spark's checkpoint."""
        writer = self.frame(**options).writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self._folder / life))
        writer = writer.trigger(**(trigger or {"processingTime": "200 milliseconds"}))
        self._query = writer.start()
        return self._query

    def run_to_the_end(self, life: str = "life", **options: Any) -> None:
        """Reads what is there, and ends."""
        query = self.start(life=life, trigger={"availableNow": True}, **options)
        assert query.awaitTermination(180), "the query did not end"
        assert query.exception() is None

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()

    def _take(self, frame: DataFrame, number: int) -> None:
        rows = [(row.partition, row.sequence, row.n) for row in frame.collect()]
        if self.fails:
            raise ValueError("the pipeline fails")
        if rows:
            self.batches.append(rows)

    def send_bodies(
        self,
        bodies: Iterable[bytes],
        partition: str | None = "0",
        key: str | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """Events as they are, to a partition or by a key."""
        client = EventHubProducerClient.from_connection_string(
            self.hub.connection_string, eventhub_name=self.group.hub_name
        )
        with client:
            batch = client.create_batch(partition_id=partition, partition_key=key)
            for body in bodies:
                event = EventData(body)
                event.properties.update(properties or {})
                batch.add(event)
            client.send_batch(batch)

    # --- what came

    @property
    def rows(self) -> list[Row]:
        return [row for batch in list(self.batches) for row in batch]

    @property
    def counts(self) -> Counter[tuple[str, int]]:
        """How often each event came."""
        return Counter((partition, n) for partition, _, n in self.rows)

    def in_order(self) -> dict[str, list[int]]:
        """The sequence numbers of each partition, as they came."""
        found: dict[str, list[int]] = defaultdict(list)
        for partition, sequence, _ in self.rows:
            found[partition].append(sequence)
        return found

    def wait_for(self, events: int, seconds: float = 120) -> None:
        """Waits until so many different events came."""

        def is_there() -> bool:
            problem = self._query.exception()
            assert problem is None, str(problem)
            return len(self.counts) >= events

        wait_until(is_there, seconds, f"{events} events to come", detail=lambda: len(self.counts))

    def wait_until_handled(self, events: int, seconds: float = 60) -> None:
        """Waits until the ledger says that so many events are handled."""

        def handled() -> int:
            checkpoints = self.group.listing().checkpoints.values()
            return sum(each.position.sequence + 1 for each in checkpoints)

        wait_until(
            lambda: handled() >= events, seconds, f"{events} events to be handled", detail=handled
        )

    def error(self, query: Any) -> str:
        """What a query ends with."""
        wait_until(
            lambda: query.exception() is not None, 120, "the query to fail", lambda: query.status
        )
        return str(query.exception())


NewStream = Callable[..., SparkStream]


def sent(stream: SparkStream, first: int, end: int) -> int:
    """Numbered events to every partition; gives how many."""
    for partition in range(stream.group.partitions):
        stream.group.send(str(partition), first, end)
    return (end - first) * stream.group.partitions
