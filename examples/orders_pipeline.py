"""A pipeline of changes: counts each customer's orders, exactly, whatever is killed.

Rules: as orders.py, which does the same without Spark. The states are stored together with the
positions, so that no order counts twice.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it


def pipeline(df: Any, context: Any) -> None:
    counted = df.groupBy("partition", "customer").agg(F.count("*").alias("orders"))
    for row in counted.collect():
        state = context.state[row.partition]
        state[row.customer] = state.get(row.customer, 0) + row.orders
        context.log.info("%s has made %d orders", row.customer, state[row.customer])
