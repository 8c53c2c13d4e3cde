"""The activity of homes, minute by minute, with PySpark: what activity.py does in plain Python.

Called for every batch with a plain DataFrame. It filters, aggregates what the batch has of each
home and kind of sensor, and adds that to the minutes' slices: docs/slices.md.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F  # noqa: N812

NAME = "^[ -~]{1,64}$"
LARGEST = 1_000_000_000
DAY_S = 86_400


def pipeline(df: Any, context: Any) -> None:
    """Adds a batch to the slices of its minutes."""
    context.write_slices(
        counted(df),
        output="activity",
        key="home",
        kinds=["kind"],
        sums=["count", "alarms", "total"],
        least=["least"],
        most=["most", "alarm_at", "last_at"],
        last=["last"],
        flag="alarms",
    )


def counted(df: Any) -> Any:
    """By partition, home, kind and minute."""
    seconds = F.col("at").cast("bigint")
    alarm = F.coalesce(F.col("alarm"), F.lit(False))
    return (
        df.where(usable())
        .withColumn("minute", seconds - seconds % 60)
        .groupBy("partition", "home", "kind", "minute")
        .agg(
            F.max("sequence").alias("sequence"),
            F.count("*").alias("count"),
            F.sum(alarm.cast("bigint")).alias("alarms"),
            F.sum("value").alias("total"),
            F.min("value").alias("least"),
            F.max("value").alias("most"),
            F.max(F.when(alarm, (F.col("at") * 1000).cast("bigint"))).alias("alarm_at"),
            F.max((F.col("at") * 1000).cast("bigint")).alias("last_at"),
            F.max_by("value", "sequence").alias("last"),
        )
    )


def usable() -> Any:
    """Whether a reading can be counted; where something is missing this is null, and it is not."""
    return (
        F.col("home").rlike(NAME)
        & F.col("kind").rlike(NAME)
        & (F.abs("value") <= LARGEST)
        # A sensor whose clock is far off would open slices of another day.
        & (F.abs(F.col("at") - F.col("enqueued").cast("double")) <= DAY_S)
    )
