"""The chart's files agree with each other and with the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import tidegate
from support.tree import ROOT
from tidegate.ops.catalogue import METRICS
from tidegate.spark.gauges import METRICS as SPARK_METRICS

CHART = ROOT / "charts" / "tidegate"
HEALTH = ROOT / "operator" / "tidegate_operator" / "health.py"
METRIC = re.compile(r"\btidegate_[a-z_]+")


def read(name: str) -> Any:
    return yaml.safe_load((CHART / name).read_text(encoding="utf-8"))


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = read("Chart.yaml")
    assert chart["version"] == chart["appVersion"] == tidegate.__version__


def test_the_charts_kinds_are_those_of_the_tree() -> None:
    ours = (ROOT / "crds" / "consumergroups.yaml").read_bytes()
    assert (CHART / "crds" / "consumergroups.yaml").read_bytes() == ours, (
        "python -m tidegate_operator.crd {crds,charts/tidegate/crds}/consumergroups.yaml"
    )


def sections(schema: dict[str, Any], values: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every place of the schema, with the value that is its default."""
    yield path, schema, values
    for name, inner in schema.get("properties", {}).items():
        if name != "global":
            yield from sections(inner, values[name], f"{path}/{name}")


def test_values_and_schema_have_the_same_keys_each_with_words() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = read("values.yaml")
    for path, inner, value in sections(schema, values):
        assert inner["description"].endswith("."), path
        if "properties" in inner:
            assert inner["additionalProperties"] is False, path
            assert value.keys() == inner["properties"].keys() - {"global"}, path


def operators_metrics() -> set[str]:
    """What the operator itself shows."""
    suffixes = {"Gauge": "", "Counter": "_total", "Histogram": "_bucket"}
    found = re.findall(
        r'(Gauge|Counter|Histogram)MetricFamily\(\s*"(tidegate_operator_\w+)"',
        HEALTH.read_text(encoding="utf-8"),
    )
    assert len(found) > 4
    return {name + suffixes[kind] for kind, name in found}


def told() -> dict[str, str]:
    """Every expression that asks Prometheus, by where it stands."""
    found = {
        rule["alert"]: rule["expr"] for group in read("rules/alerts.yaml")["groups"]
        for rule in group["rules"]
    }  # fmt: skip
    board = json.loads((CHART / "dashboards" / "tidegate.json").read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            found[variable["name"]] = variable["definition"]
    return found


@pytest.mark.parametrize("place", sorted(told()))
def test_alerts_and_dashboard_ask_for_metrics_that_are_there(place: str) -> None:
    known = {
        f"{metric.name}_bucket" if metric.kind == "histogram" else metric.name
        for metric in (*METRICS, *SPARK_METRICS)
    } | operators_metrics()
    asked = set(METRIC.findall(told()[place]))
    assert asked
    assert asked <= known, f"not there: {asked - known}"


def test_alerts_ask_with_labels_that_their_metrics_have() -> None:
    labels = {metric.name: {*metric.labels, "group"} for metric in METRICS}
    for place, expression in told().items():
        for name, chosen in re.findall(r"(tidegate_[a-z_]+?)(?:_bucket)?\{([^}]*)\}", expression):
            asked = set(re.findall(r"(\w+)=", chosen)) - {"namespace"}
            assert asked <= labels[name], f"{place}: {name} has {labels[name]}, not {asked}"


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for group in read("rules/alerts.yaml")["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
            assert {"summary", "description"} <= rule["annotations"].keys(), rule["alert"]


def test_every_panel_of_the_dashboard_says_what_it_shows_and_overlaps_no_other() -> None:
    board = json.loads((CHART / "dashboards" / "tidegate.json").read_text(encoding="utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        assert panel["type"] == "row" or panel["description"].endswith("."), panel["title"]
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    assert max(x for x, _ in taken) == 23
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_page_of_metrics_names_every_alert_and_no_other() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    rules = [rule for group in read("rules/alerts.yaml")["groups"] for rule in group["rules"]]
    assert sorted(re.findall(r"^\| `(Tidegate\w+)` \|", page, re.MULTILINE)) == sorted(
        rule["alert"] for rule in rules
    )
    minutes = {"1m": "a minute", "2m": "two minutes", "5m": "five minutes", "10m": "ten minutes"}
    for rule in rules:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{rule['alert']}` |"))
        assert "for" not in rule or f"for {minutes[rule['for']]}" in row, row
