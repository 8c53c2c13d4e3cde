"""The metrics of a Spark driver, beside those of every member: their names and their values.

Rules: this is the one list; `docs/metrics.md` repeats it and a test compares the two. Names follow
those of ops/catalogue.py, and like those each has the label `group`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from tidegate.ops.catalogue import Metric, table_of
from tidegate.spark.standing import Standing

METRICS = (
    Metric(
        "tidegate_spark_application_info",
        "gauge",
        "Always 1; says Spark's name for the application and what the driver does: starting, "
        "running, retrying or stopping.",
        ("application", "phase"),
    ),
    Metric("tidegate_spark_executors", "gauge", "Executors that can take tasks."),
    Metric("tidegate_spark_batches_total", "counter", "Batches that ended well."),
    Metric(
        "tidegate_spark_batches_failed_total",
        "counter",
        "Batches, and queries, that ended in an error.",
        ("reason",),
    ),
    Metric(
        "tidegate_spark_query_restarts_total",
        "counter",
        "Times that the query was begun anew after it had failed.",
    ),
    Metric("tidegate_spark_failing", "gauge", "1 from a failure to the next batch that ends well."),
    Metric("tidegate_spark_last_batch_number", "gauge", "Number of the last batch."),
    Metric("tidegate_spark_last_batch_events", "gauge", "Events of the last batch."),
    Metric("tidegate_spark_last_batch_seconds", "gauge", "Time that the last batch took."),
    Metric("tidegate_spark_last_batch_timestamp_seconds", "gauge", "When it ended, in Unix time."),
)

Values = Mapping[tuple[str, ...], float]


class Gauges(Collector):
    """What a driver's standing says, as the library's types."""

    def __init__(self, group: str, standing: Standing) -> None:
        self._group = group
        self._standing = standing

    def collect(self) -> Iterable[Family]:
        values = self._values()
        for metric in METRICS:
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = kind(metric.name, metric.meaning, labels=("group", *metric.labels))
            for key, value in sorted(values.get(metric.name, {}).items()):
                family.add_metric([self._group, *key], value)
            yield family

    def _values(self) -> Mapping[str, Values]:
        now = self._standing
        found: dict[str, Values] = {
            "tidegate_spark_application_info": {(now.application, now.phase): 1},
            "tidegate_spark_executors": {(): len(now.executors)},
            "tidegate_spark_batches_total": {(): now.batches},
            "tidegate_spark_batches_failed_total": {(why,): n for why, n in now.failed.items()},
            "tidegate_spark_query_restarts_total": {(): now.restarts},
            "tidegate_spark_failing": {(): float(now.failure is not None)},
        }
        batch = now.last_batch
        if batch is not None:
            found |= {
                "tidegate_spark_last_batch_number": {(): batch.number},
                "tidegate_spark_last_batch_events": {(): batch.events},
                "tidegate_spark_last_batch_seconds": {(): batch.seconds},
                "tidegate_spark_last_batch_timestamp_seconds": {(): batch.at},
            }
        return found


def as_markdown() -> str:
    """The table that `docs/metrics.md` shows."""
    return table_of(METRICS)
