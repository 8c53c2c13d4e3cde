"""A pipeline of which one executor handles a hundred events a second, and that counts into the
state that stands with the position. It is laid into a ConfigMap by cluster_spark.py, beside the
same handler in plain Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

EACH_S = 0.01


def pipeline(df: Any, context: Any) -> None:
    rows = df.select("partition", "body").mapInArrow(slowly, "partition string, n bigint")
    for row in rows.groupBy("partition").sum("n").collect():
        state = context.state[row[0]]
        state["n"] = state.get("n", 0) + row[1]


def slowly(batches: Iterator[Any]) -> Iterator[Any]:
    """One row for each partition of a batch."""
    import pyarrow as pa  # noqa: PLC0415  not where only the handler is

    for batch in batches:
        time.sleep(EACH_S * batch.num_rows)
        counted: dict[str, int] = {}
        for partition in batch.column(0).to_pylist():
            counted[partition] = counted.get(partition, 0) + 1
        yield pa.RecordBatch.from_pydict(
            {"partition": list(counted), "n": list(counted.values())},
            schema=pa.schema({"partition": pa.string(), "n": pa.int64()}),
        )


def handle(events: Any, context: Any) -> None:
    time.sleep(EACH_S * len(events))
    context.state["n"] = context.state.get("n", 0) + len(events)
