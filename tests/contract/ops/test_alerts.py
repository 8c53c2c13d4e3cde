"""The chart's alerts by Prometheus' own tool: each fires when it should, and only then.

Rules: samples are half a minute apart; `_` is a sample that is not there. Labels are those that a
scrape of the chart's ServiceMonitors gives, beside the metric's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.prometheus import promtool
from support.tree import ROOT

RULES = ROOT / "charts" / "tidegate" / "rules" / "alerts.yaml"
STEP_S = 30
GROUP = 'namespace="homes", group="activity"'
OPERATOR = 'namespace="tidegate"'
OF_GROUP = {"namespace": "homes", "group": "activity"}
OF_PARTITION = {**OF_GROUP, "partition": "3"}


@dataclass(frozen=True)
class Case:
    """Series, when the alert fires and when it does not, and what it then says."""

    alert: str
    what: str
    series: Mapping[str, str]
    fires_at_s: Sequence[int] = ()
    silent_at_s: Sequence[int] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


def consumer(name: str, more: str = "", pod: str = "a") -> str:
    return f'{name}{{{GROUP}, pod="{pod}"{", " + more if more else ""}}}'


def operator(name: str, more: str = "", pod: str = "op-1") -> str:
    return f'{name}{{{OPERATOR}, pod="{pod}"{", " + more if more else ""}}}'


REPORTS, LETTERS = "tidegate_reports_total", "tidegate_events_dead_lettered_total"
LOST, TAKEN, TENTH = 'kind="events-lost"', 'kind="name-taken"', 'partition="3"'
UNREAD, WAITS = "tidegate_group_partitions_unread", "tidegate_lag_seconds"
READY, LEADER = "tidegate_operator_group_ready", "tidegate_operator_leader"
ACTIVITY, ALARMS = (f'group_namespace="homes", group="{name}"' for name in ("activity", "alarms"))
GONE = "Events of homes/activity are gone that nobody has handled"
ASIDE = "Events of homes/activity were put aside"

CASES = (
    Case(
        "TidegatePartitionWithoutReader", "for a minute, by the member that sees most",
        {consumer(UNREAD): "0x3 2x20", consumer(UNREAD, pod="b"): "0x23"},
        [180, 300], [120, 150], OF_GROUP, "2 partitions of homes/activity have no reader",
    ),
    Case(
        "TidegatePartitionWithoutReader", "a take-over, and a member that has not listed yet",
        {consumer(UNREAD): "0 1 0x20", consumer(UNREAD, pod="b"): "_x20"}, (), [30, 60, 90, 120],
    ),
    Case(
        "TidegateEventsWait", "for five minutes, in one partition",
        {consumer(WAITS, TENTH): "90x20", consumer(WAITS, 'partition="4"'): "1x20"},
        [300, 400], [240], OF_GROUP, "Events of homes/activity wait 1m 30s",
    ),
    Case(
        "TidegateEventsWait", "within the limit, and not known",
        {consumer(WAITS, TENTH): "60x20", consumer(WAITS, 'partition="4"'): "_x20"}, (), [600],
    ),
    Case(
        "TidegatePartitionStuck", "for two minutes",
        {consumer("tidegate_partition_stuck", TENTH): "1x20"},
        [120], [90], OF_PARTITION, "Partition 3 of homes/activity is stuck",
    ),
    Case(
        "TidegatePartitionStuck", "that moves away frees its gauge",
        {consumer("tidegate_partition_stuck", TENTH): "1x3 stale"}, (), [90, 120, 300],
    ),
    Case(
        "TidegateEventsLost", "at once",
        {consumer("tidegate_lag_kind", f'{TENTH}, kind="lost"'): "0 1x9"},
        [30, 120], [0], OF_PARTITION, "Retention has passed partition 3 of homes/activity",
    ),
    Case(
        "TidegateEventsLost", "a lag that is exact",
        {
            consumer("tidegate_lag_kind", f'{TENTH}, kind="lost"'): "0x9",
            consumer("tidegate_lag_kind", f'{TENTH}, kind="exact"'): "1x9",
        },
        (), [120],
    ),
    Case(
        "TidegateEventsGone", "the first, of a counter that was not there before",
        {consumer(REPORTS, LOST): "_x29 1x40"}, [900, 1200], [840, 1530], OF_GROUP, GONE,
    ),
    Case(
        "TidegateEventsGone", "the first of a member, beside one that is an old story",
        {consumer(REPORTS, LOST): "9x80", consumer(REPORTS, LOST, pod="new"): "_x29 1x40"},
        [900], [840, 1530], OF_GROUP, GONE,
    ),
    Case(
        "TidegateEventsGone", "once more",
        {consumer(REPORTS, LOST): "1x29 2x40"}, [960], [840, 1530], OF_GROUP, GONE,
    ),
    Case(
        "TidegateEventsGone", "long ago, another report, and a restart in place",
        {
            consumer(REPORTS, LOST): "7x40 _x9",
            consumer(REPORTS, 'kind="taken"'): "_x29 5x20",
            consumer(REPORTS, LOST, pod="b"): "3x29 _x20",
        },
        (), [900, 1200, 1380],
    ),
    Case(
        "TidegateSlowerTransport", "at once",
        {consumer("tidegate_transport_fallback"): "0 1x9"},
        [30], [0], OF_GROUP, "homes/activity reads by the official SDK",
    ),
    Case(
        "TidegateDeadLetters", "the first of a partition",
        {consumer(LETTERS, TENTH): "_x29 4x40"}, [900], [840, 1530], OF_GROUP, ASIDE,
    ),
    Case(
        "TidegateDeadLetters", "more of a partition",
        {consumer(LETTERS, TENTH): "4x29 5x40"}, [960], [840, 1530], OF_GROUP, ASIDE,
    ),
    Case("TidegateDeadLetters", "long ago", {consumer(LETTERS, TENTH): "4x60"}, (), [900, 1500]),
    Case(
        "TidegateMemberInTrouble", "by the kind of its trouble",
        {consumer(REPORTS, TAKEN): "_x29 1x40", consumer(REPORTS, 'kind="stopping"'): "_x29 1x40"},
        [900], [840, 1530], {**OF_GROUP, "kind": "name-taken"},
        "A member of homes/activity reports name-taken",
    ),
    Case(
        "TidegateMemberInTrouble", "what is no trouble",
        {consumer(REPORTS, 'kind="stopping"'): "_x29 1x40"}, (), [900],
    ),
    Case(
        "TidegatePipelineFails", "for five minutes",
        {consumer("tidegate_spark_failing"): "1x20"},
        [300], [270], OF_GROUP, "The pipeline of homes/activity fails, and goes on failing",
    ),
    Case(
        "TidegatePipelineFails", "for a batch", {consumer("tidegate_spark_failing"): "1x5 0x20"},
        (), [300, 420],
    ),
    Case(
        "TidegateGroupNotReady", "for ten minutes, whoever of the operators says so",
        {operator(READY, ACTIVITY): "0x30", operator(READY, ACTIVITY, "op-2"): "1x30"},
        [600], [570], {"group_namespace": "homes", "group": "activity"},
        "The group homes/activity is not ready",
    ),
    Case(
        "TidegateGroupNotReady", "ready, and one that is paused, of which nothing is said",
        {operator(READY, ACTIVITY): "1x40", operator(READY, ALARMS): "0x10 stale"}, (), [600, 900],
    ),
    Case(
        "TidegateNoOperatorActs", "two that wait for each other",
        {operator(LEADER): "0x20", operator(LEADER, pod="op-2"): "0x20"},
        [300], [270], {}, "No Tidegate operator acts",
    ),
    Case(
        "TidegateNoOperatorActs", "there is none", {}, [300], [270], {}, "No Tidegate operator acts"
    ),
    Case(
        "TidegateNoOperatorActs", "one leads, and another one after a while",
        {operator(LEADER): "1x10 stale", operator(LEADER, pod="op-2"): "0x12 1x20"}, (), [300, 600],
    ),
    Case(
        "TidegateOperatorHearsNothing", "of one kind",
        {
            operator("tidegate_operator_watch_age_seconds", 'kind="pods"'): "400x9",
            operator("tidegate_operator_watch_age_seconds", 'kind="deployments"'): "3x9",
        },
        [30], (), {"namespace": "tidegate", "pod": "op-1"},
        "The Tidegate operator op-1 has heard nothing of the cluster for 6m 40s",
    ),
    Case(
        "TidegateOperatorHearsNothing", "compared half a minute ago",
        {operator("tidegate_operator_watch_age_seconds", 'kind="pods"'): "60x9"}, (), [120],
    ),
    Case(
        "TidegateOperatorCannotTell", "for ten minutes",
        {operator("tidegate_operator_groups_untold"): "2x30"},
        [600], [570], {"namespace": "tidegate"},
        "The status of 2 groups cannot be written, and is not what it says",
    ),
    Case(
        "TidegateOperatorCannotTell", "for a moment",
        {operator("tidegate_operator_groups_untold"): "2x3 0x40"}, (), [600],
    ),
    Case(
        "TidegateOperatorFails", "for ten minutes",
        {operator("tidegate_operator_groups_failing"): "3x30"},
        [600], [570], {"namespace": "tidegate"},
        "The Tidegate operator cannot do what it should for 3 groups",
    ),
    Case(
        "TidegateOperatorFails", "for a moment",
        {operator("tidegate_operator_groups_failing"): "3x5 0x30"}, (), [600],
    ),
)  # fmt: skip


def alerts() -> dict[str, Mapping[str, Any]]:
    content = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return {rule["alert"]: rule for group in content["groups"] for rule in group["rules"]}


def test_prometheus_takes_the_rules_as_they_are() -> None:
    ran = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{len(alerts())} rules found" in ran.stdout


def test_each_alert_is_seen_to_fire_and_to_be_silent() -> None:
    assert {case.alert for case in CASES if case.fires_at_s} == alerts().keys()
    assert {case.alert for case in CASES if case.silent_at_s} == alerts().keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.what}")
def test_an_alert(case: Case, tmp_path: Path) -> None:
    rule = alerts()[case.alert]
    expected = {
        "exp_labels": {**case.labels, **rule["labels"]},
        "exp_annotations": {
            "summary": case.summary,
            "description": re.sub(
                r"\{\{ \$labels\.(\w+) \}\}",
                lambda found: case.labels.get(found[1], ""),
                rule["annotations"]["description"],
            ),
        },
    }
    looks = [(at, [expected]) for at in case.fires_at_s] + [(at, []) for at in case.silent_at_s]
    test = {
        "interval": f"{STEP_S}s",
        "input_series": [{"series": name, "values": said} for name, said in case.series.items()],
        "alert_rule_test": [
            {"eval_time": f"{at}s", "alertname": case.alert, "exp_alerts": fires}
            for at, fires in looks
        ],
    }
    file = tmp_path / "test.yaml"
    content = {"rule_files": [str(RULES)], "evaluation_interval": f"{STEP_S}s", "tests": [test]}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    ran = promtool("test", "rules", file)
    assert ran.returncode == 0, ran.stdout + ran.stderr
