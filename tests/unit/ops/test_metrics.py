"""Metrics: names that stay, numbers that are right, and nothing shown that is not known."""

from __future__ import annotations

import re

import pytest
from prometheus_client import REGISTRY, Counter
from prometheus_client.parser import text_string_to_metric_families

from support.ops_facts import NOW, WALL, board_of, every_fact, handled, tell
from support.tree import ROOT
from tidegate.member.messages import Report
from tidegate.ops import catalogue
from tidegate.ops import observer as facts
from tidegate.ops.board import FELL_BACK, Board
from tidegate.ops.metrics import BOUNDS, Metrics, MetricsText
from tidegate.ops.observer import Observers

Labels = frozenset[tuple[str, str]]
Values = dict[tuple[str, Labels], float]


class Shown:
    """A board and its metrics, and what they say."""

    def __init__(self, board: Board) -> None:
        self.metrics = Metrics("home-activity", board, lambda: WALL)
        self.observer = Observers(board, self.metrics)
        self._text = MetricsText(self.metrics, lambda: NOW, lambda: WALL)

    def text(self, accept: str = "") -> str:
        return self._text.write(accept)[0].decode()

    def values(self) -> Values:
        return {
            (sample.name, frozenset(sample.labels.items()) - {("group", "home-activity")}): (
                sample.value
            )
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
            if sample.name.startswith("tidegate_")
        }

    def value(self, name: str, **labels: str) -> float | None:
        return self.values().get((name, frozenset(labels.items())))


@pytest.fixture
def shown() -> Shown:
    return Shown(board_of(4, 2))


def test_the_page_of_metrics_shows_exactly_ours() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert catalogue.as_markdown() in page, (
        "docs/metrics.md and consumer/tidegate/ops/catalogue.py differ. Replace the table there "
        "with:\n" + catalogue.as_markdown()
    )


def test_names_follow_the_rules_of_prometheus() -> None:
    names = [metric.name for metric in catalogue.METRICS]
    assert len(names) == len(set(names))
    for metric in catalogue.METRICS:
        assert re.fullmatch(r"tidegate_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") is (metric.kind == "counter"), metric.name
        assert metric.kind in ("counter", "gauge", "histogram")
        assert metric.meaning.endswith(".")
        if metric.kind == "histogram":
            assert metric.name.endswith("_seconds")
            assert not metric.labels


def test_every_metric_of_the_page_is_shown_and_no_other(shown: Shown) -> None:
    tell(shown.observer, *every_fact())
    families = {
        family.name: family
        for family in text_string_to_metric_families(shown.text())
        if family.name.startswith("tidegate_")
    }
    assert families.keys() == {metric.name.removesuffix("_total") for metric in catalogue.METRICS}
    for metric in catalogue.METRICS:
        family = families[metric.name.removesuffix("_total")]
        assert family.samples, f"{metric.name} is documented and never has a value"
        assert family.type == metric.kind
        assert family.documentation == metric.meaning
        expected = {"group", *metric.labels}
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == expected, metric.name


def test_events_bytes_and_batches_are_counted_by_partition(shown: Shown) -> None:
    tell(shown.observer, handled("0", 1_100), handled("0", 1_150, events=50), handled("1", 1_100))
    assert shown.value("tidegate_events_handled_total", partition="0") == 150
    assert shown.value("tidegate_bytes_handled_total", partition="0") == 30_000
    assert shown.value("tidegate_batches_handled_total", partition="0") == 2
    assert shown.value("tidegate_events_handled_total", partition="1") == 100


def test_a_counter_stays_when_its_partition_goes_and_its_gauges_go(shown: Shown) -> None:
    tell(shown.observer, handled("0", 1_100), facts.ReaderClosed(NOW, "0", "closed"))
    assert shown.value("tidegate_events_handled_total", partition="0") == 100
    for name, labels in shown.values():
        if ("partition", "0") in labels:
            assert name.endswith("_total"), name


def test_a_partition_that_moves_away_frees_one_gauge_and_no_more(shown: Shown) -> None:
    assert shown.value("tidegate_partition_owned", partition="0") == 1
    assert shown.value("tidegate_partition_owned", partition="1") == 1
    shown.observer.hear(facts.ReaderClosed(NOW, "0", "closed"))
    assert shown.value("tidegate_partition_owned", partition="0") is None
    assert shown.value("tidegate_partition_owned", partition="1") == 1


def test_an_unknown_lag_is_absent_and_never_0() -> None:
    shown = Shown(Board("pod-1"))
    shown.observer.hear(facts.ReaderOpened(NOW, "0", 7))
    assert shown.value("tidegate_lag_events", partition="0") is None
    assert shown.value("tidegate_lag_seconds", partition="0") is None
    assert shown.value("tidegate_lag_kind", partition="0", kind="unknown") == 1
    assert shown.value("tidegate_lag_kind", partition="0", kind="exact") == 0


def test_lag_is_what_the_board_says(shown: Shown) -> None:
    assert shown.value("tidegate_lag_events", partition="0") == 100
    assert shown.value("tidegate_lag_seconds", partition="0") == 2.0


def test_the_fall_back_to_the_sdk_is_shown_for_good(shown: Shown) -> None:
    assert shown.value("tidegate_transport_fallback") == 0
    shown.observer.hear(facts.Reported(NOW, Report(FELL_BACK, None, "something new")))
    shown.observer.hear(facts.Reported(NOW, Report("taken", "1", "another")))
    assert shown.value("tidegate_transport_fallback") == 1


def test_the_group_is_seen_through_the_listing(shown: Shown) -> None:
    assert shown.value("tidegate_group_members") == 2
    assert shown.value("tidegate_group_partitions") == 4
    assert shown.value("tidegate_group_partitions_owned") == 4
    assert shown.value("tidegate_listing_age_seconds") == 1.0
    assert shown.value("tidegate_group_partitions_unread") == 0


def test_each_time_is_in_all_buckets_that_it_does_not_exceed(shown: Shown) -> None:
    for seconds in (0.0001, 0.001, 0.0011, 1_000.0):
        shown.observer.hear(facts.LeaseRenewed(NOW, "0", seconds))
    name = "tidegate_lease_renewal_seconds"
    assert shown.value(f"{name}_bucket", le="0.001") == 2
    assert shown.value(f"{name}_bucket", le="0.0025") == 3
    assert shown.value(f"{name}_bucket", le=f"{BOUNDS[-1]:g}") == 3
    assert shown.value(f"{name}_bucket", le="+Inf") == 4
    assert shown.value(f"{name}_count") == 4
    assert shown.value(f"{name}_sum") == pytest.approx(1_000.0022)


def test_a_refused_operation_is_counted_by_its_refusal(shown: Shown) -> None:
    tell(
        shown.observer,
        facts.LedgerAnswered(NOW, "Acquire", 0.01),
        facts.LedgerAnswered(NOW, "Acquire", 0.01, "held"),
    )
    name = "tidegate_ledger_operations_total"
    assert shown.value(name, operation="Acquire", result="done") == 1
    assert shown.value(name, operation="Acquire", result="held") == 1


def test_a_metric_that_a_handler_registers_is_shown_too(shown: Shown) -> None:
    mine = Counter("alarms_raised", "Alarms that this handler raised.")
    try:
        mine.inc(3)
        assert "alarms_raised_total 3.0" in shown.text()
    finally:
        REGISTRY.unregister(mine)


def test_request_units_are_counted_apart_for_leases_and_what_is_read(shown: Shown) -> None:
    for on, units in (("leases", 10.5), ("monitored", 2.0), ("leases", 1.25)):
        shown.metrics.hear(facts.UnitsSpent(on, units))
    assert shown.value("tidegate_request_units_total", container="leases") == 11.75
    assert shown.value("tidegate_request_units_total", container="monitored") == 2.0


def test_who_asks_for_open_metrics_gets_them_with_one_end(shown: Shown) -> None:
    text = shown.text("application/openmetrics-text; version=1.0.0")
    assert text.count("# EOF") == 1
    assert text.endswith("# EOF\n")


def test_a_name_with_quotes_and_line_feeds_breaks_nothing() -> None:
    board = Board('pod"1\n\\')
    shown = Shown(board)
    labels = {"member": 'pod"1\n\\'}
    (info,) = (key for key in shown.values() if key[0] == "tidegate_member_info")
    assert labels.items() <= set(info[1])
