"""The metrics of a driver: the page shows them all, and they say how it stands."""

from __future__ import annotations

import re

from prometheus_client import CollectorRegistry, generate_latest

from support.tree import ROOT
from tidegate.ops import catalogue
from tidegate.spark import gauges
from tidegate.spark.failures import Failure
from tidegate.spark.gauges import Gauges
from tidegate.spark.standing import LastBatch, Standing


def text_of(standing: Standing) -> str:
    registry = CollectorRegistry()
    registry.register(Gauges("activity", standing))
    return generate_latest(registry).decode()


def test_the_page_of_metrics_shows_exactly_those_of_a_driver() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert gauges.as_markdown() in page, (
        "docs/metrics.md and consumer/tidegate/spark/gauges.py differ. Replace the table there "
        "with:\n" + gauges.as_markdown()
    )


def test_names_follow_those_of_every_member() -> None:
    names = [metric.name for metric in gauges.METRICS]
    assert not {*names} & {metric.name for metric in catalogue.METRICS}
    for metric in gauges.METRICS:
        assert re.fullmatch(r"tidegate_spark_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") is (metric.kind == "counter"), metric.name
        assert metric.meaning.endswith(".")


def test_a_driver_that_has_just_begun_says_nothing_of_batches() -> None:
    text = text_of(Standing())
    assert 'tidegate_spark_application_info{application="",group="activity",phase="starting"}' in (
        text
    )
    assert "tidegate_spark_last_batch_number{" not in text


def test_failing_lasts_until_the_next_batch_that_ends_well() -> None:
    standing = Standing()
    standing.has_failed(Failure("PipelineFailed", "why"))
    standing.has_failed(Failure("PipelineFailed", "why"))
    text = text_of(standing)
    assert 'tidegate_spark_failing{group="activity"} 1.0' in text
    failed = 'tidegate_spark_batches_failed_total{group="activity",reason="PipelineFailed"} 2.0'
    assert failed in text
    standing.handled(LastBatch(3, 50.0, 12, 0.25))
    text = text_of(standing)
    assert 'tidegate_spark_failing{group="activity"} 0.0' in text
    assert failed in text
    assert 'tidegate_spark_last_batch_events{group="activity"} 12.0' in text
    assert 'tidegate_spark_batches_total{group="activity"} 1.0' in text
