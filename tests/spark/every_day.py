"""A driver that does what a group's pipeline may do, for tests: `every_day.py FOLDER`.

It reads a Python source in batches, and in `foreachBatch` aggregates, joins, decodes JSON, calls
Python and writes and reads files. What came out is written to FOLDER/said.json at the end. How
Spark is to run (SPARK_HOME, memory) is said by the environment.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls them
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

ROWS = 100  # of each partition in each batch
PARTITIONS = 2
BATCHES = 3
SCHEMA = "home long, at timestamp, body binary"


class Numbers(DataSource):
    """Readings of homes, counted up."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        return NumbersReader()


class Rows(InputPartition):
    def __init__(self, first: int) -> None:
        self.first = first


class NumbersReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"batch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        return {"batch": min(BATCHES, start["batch"] + 1)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        batches = range(start["batch"], end["batch"])
        return [Rows((n * PARTITIONS + k) * ROWS) for n in batches for k in range(PARTITIONS)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        numbers = range(partition.first, partition.first + ROWS)
        bodies = [json.dumps({"sensor": "heat", "value": number}).encode() for number in numbers]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([number % 7 for number in numbers], pa.int64()),
                pa.array([number * 1_000_000 for number in numbers], pa.timestamp("us", tz="UTC")),
                pa.array(bodies, pa.binary()),
            ],
            names=["home", "at", "body"],
        )


def doubled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(value=frame["value"] * 2)


def pipeline(frame: DataFrame, folder: Path) -> dict[str, Any]:
    """A batch through all that is used of Spark; what must come out the same everywhere."""
    spark = frame.sparkSession
    read = frame.select(
        "home", "at", F.from_json(F.decode("body", "utf-8"), "sensor string, value long").alias("b")
    ).select("home", "at", "b.sensor", "b.value")
    twice = F.udf(lambda value: value * 2, "long", useArrow=True)
    homes = read.groupBy("home", "sensor", F.window("at", "1 minute").alias("minute")).agg(
        F.sum(twice("value")).alias("value"),
        F.approx_count_distinct("at").alias("times"),
        F.percentile_approx("value", 0.5).alias("middle"),
    )
    homes.write.mode("append").parquet(str(folder / "homes"))
    stored = spark.read.parquet(str(folder / "homes"))
    names = spark.createDataFrame(
        [(number, f"home {number}") for number in range(7)], "home long, name string"
    )
    joined = (
        stored.join(F.broadcast(names), "home").groupBy("name").agg(F.sum("value").alias("value"))
    )
    for kind in ("orc", "csv", "json"):
        joined.write.mode("overwrite").format(kind).save(str(folder / kind))
    back = spark.read.schema("name string, value long").format("orc").load(str(folder / "orc"))
    best: Any = spark.sql("select max_by(name, value) from {frame}", frame=joined).toPandas()
    by_pandas = read.select("value").mapInPandas(lambda frames: map(doubled, frames), "value long")
    return {
        "rows": read.count(),
        "twice": by_pandas.agg(F.sum("value")).first()[0],  # type: ignore[index]
        "stored": back.agg(F.sum("value")).first()[0],  # type: ignore[index]
        "arrow": joined.toArrow().num_rows,
        "sql": len(best),
    }


def answers(spark: SparkSession) -> dict[str, int]:
    """What Spark's own pages answer: people look at them, and metrics are read there."""
    address = spark.sparkContext.uiWebUrl
    pages = {
        "jobs": "/jobs/",
        "rest": "/api/v1/applications",
        "metrics": "/metrics/executors/prometheus",
    }
    asked = {}
    for name, path in pages.items():
        with urllib.request.urlopen(f"{address}{path}", timeout=30) as answer:
            asked[name] = answer.status
    return asked


def main(folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "700m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.port", "0")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .getOrCreate()
    )
    spark.dataSource.register(Numbers)
    batches: list[dict[str, Any]] = []
    query = (
        spark.readStream.format("numbers")
        .load()
        .writeStream.foreachBatch(lambda frame, _: batches.append(pipeline(frame, folder)))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    while len(batches) < BATCHES and query.isActive:
        query.processAllAvailable()
    said = {"batches": batches, "pages": answers(spark)}
    query.stop()
    spark.stop()
    (folder / "said.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
