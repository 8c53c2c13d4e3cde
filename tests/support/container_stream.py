"""Streams and batches of the source `tidegate` on a container, in a session of the tests' own.

    stream = ContainerStream(spark, group, folder)      # `group` is a ContainerGroup
    stream.start(maxEvents=100)
    stream.wait_until_all_came(60)

Rules: what a batch held is kept when Spark's own work on it has ended; items are told apart by
their numbers, whatever partition they came by.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from support.container_group import ContainerGroup
from support.wait import wait_until

Row = tuple[str, int, int]


class ContainerStream:
    """See the module."""

    def __init__(self, spark: SparkSession, group: ContainerGroup, folder: Path) -> None:
        self.spark = spark
        self.group = group
        self.batches: list[list[Row]] = []
        self._folder = folder
        self._query: Any = None
        # No code of the group's runs, so its file names none.
        text = group.file.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.strip().startswith("handler:")]
        group.file.write_text("\n".join(lines), encoding="utf-8")

    def start(self, *, trigger: dict[str, Any] | None = None, **options: Any) -> Any:
        reader = self.spark.readStream.format("tidegate").option("file", str(self.group.file))
        frame = reader.option("schema", "n bigint").options(**options).load()
        writer = frame.writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self._folder / "life"))
        writer = writer.trigger(**(trigger or {"processingTime": "200 milliseconds"}))
        self._query = writer.start()
        return self._query

    def run_to_the_end(self, **options: Any) -> None:
        """Reads what is there, and ends."""
        query = self.start(trigger={"availableNow": True}, **options)
        assert query.awaitTermination(180), "the query did not end"
        assert query.exception() is None

    def batch(self, **options: Any) -> list[Any]:
        """The rows of `spark.read`."""
        names = {"begin": "from", "to": "to"}
        given = {names.get(name, name): value for name, value in options.items()}
        reader = self.spark.read.format("tidegate").option("file", str(self.group.file))
        rows: list[Any] = reader.option("schema", "n bigint").options(**given).load().collect()
        return rows

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()

    def _take(self, frame: DataFrame, number: int) -> None:
        rows = [(row.partition, row.sequence, row.n) for row in frame.collect()]
        if rows:
            self.batches.append(rows)

    # --- what came

    @property
    def counts(self) -> Counter[int]:
        """How often each item came."""
        return Counter(n for batch in list(self.batches) for _, _, n in batch)

    def partitions(self) -> set[str]:
        return {partition for batch in list(self.batches) for partition, _, _ in batch}

    def missing(self) -> int:
        counts = self.counts
        return sum(number not in counts for number in range(self.group.written))

    def wait_until_all_came(self, seconds: float = 120) -> None:
        def all_came() -> bool:
            problem = self._query.exception()
            assert problem is None, str(problem)
            return self.missing() == 0

        wait_until(all_came, seconds, "all items to come", self.missing)

    def error(self, query: Any) -> str:
        """What a query ends with."""
        wait_until(
            lambda: query.exception() is not None, 120, "the query to fail", lambda: query.status
        )
        return str(query.exception())
