"""A real Prometheus that scrapes a consumer and an operator: what the chart asks it, it can answer.

Rules: what is asked with is real: every metric that a consumer shows once everything has happened
to it, and an operator's as a process with a group. The labels of a scrape are those of the chart's
ServiceMonitors.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.cluster_kubectl import Kubectl
from support.operator_process import operator_process
from support.ops_facts import board_of, every_fact, listing
from support.prometheus import Prometheus, programs, running_prometheus
from support.small_api import small_api
from support.small_groups import put_group
from support.tree import ROOT
from support.wait import wait_until
from tidegate.ops import observer as facts
from tidegate.ops.around import Ops, OpsSettings, around
from tidegate.ops.serving import Address

CHART = ROOT / "charts" / "tidegate"
RULES = CHART / "rules" / "alerts.yaml"
METRIC, SELECTED = re.compile(r"\btidegate_\w+"), re.compile(r"(tidegate_\w+)\{([^}]*)\}")
GROUPED = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
# Only a driver of Spark shows them, and a test of the catalogue holds them to what it shows.
OF_SPARK = "tidegate_spark_"

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the dashboard."""

    panel: str
    expression: str
    legend: str

    @property
    def labels(self) -> set[str]:
        """What the legend says of each answer."""
        return set(re.findall(r"\{\{(\w+)\}\}", self.legend))


def dashboard() -> Any:
    return json.loads((CHART / "dashboards" / "tidegate.json").read_text(encoding="utf-8"))


def asked_by_the_dashboard() -> Iterator[Asked]:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            # As Grafana asks where all are chosen.
            expression = re.sub(r"\$(namespace|group)", ".*", target["expr"])
            yield Asked(panel["title"], expression, target.get("legendFormat", ""))


@contextlib.asynccontextmanager
async def consumer() -> AsyncIterator[Ops]:
    """One to which everything happens, again and again."""
    settings = OpsSettings(address=Address("127.0.0.1", 0), has_view=False, log_level="ERROR")
    async with around(
        settings, member="pod-1", group="activity", hub="telemetry", secrets=(), environment={},
        board=board_of(4, 2),
    ) as ops:  # fmt: skip

        async def happen() -> None:
            while True:
                now = time.monotonic()
                owners = {"0": "pod-1", "1": "pod-2", "2": None, "3": "pod-2"}
                ops.observer.hear(facts.Listed(now, listing(owners, ("pod-1", "pod-2"))))
                for fact in every_fact(now):
                    ops.observer.hear(fact)
                await asyncio.sleep(0.3)

        happening = asyncio.create_task(happen())
        try:
            yield ops
        finally:
            happening.cancel()
            await asyncio.wait([happening])


@pytest.fixture
async def prometheus(tmp_path: Path) -> AsyncIterator[Prometheus]:
    """One that has scraped both often enough for rates."""
    await asyncio.to_thread(programs)
    async with contextlib.AsyncExitStack() as stack:
        api = await stack.enter_async_context(small_api())
        put_group(api)
        inside = Kubectl(Path("kubectl"), api.kubeconfig(tmp_path), "homes")
        operator = stack.enter_context(operator_process(inside, tmp_path))
        ops = await stack.enter_async_context(consumer())
        assert ops.url is not None
        targets = {
            "consumers": (int(ops.url.rpartition(":")[2]), {"namespace": "homes", "pod": "pod-1"}),
            "operators": (operator.port, {"namespace": "tidegate", "pod": "op-1"}),
        }
        await asyncio.to_thread(operator.until_leading)
        found = await asyncio.to_thread(
            stack.enter_context, running_prometheus(tmp_path, targets, RULES)
        )
        for metric in (
            "tidegate_operator_reconcile_seconds_count",
            "tidegate_events_handled_total",
        ):
            what = f"count_over_time({metric}[1m]) > 2"
            asked = partial(found.query, what)
            await asyncio.to_thread(wait_until, asked, 30, what)
        assert await asyncio.to_thread(found.are_up)
        yield found


async def test_every_question_of_the_dashboard_and_of_the_alerts_has_an_answer(
    prometheus: Prometheus,
) -> None:
    def wrong() -> list[str]:
        return [*_unanswered(prometheus), *_not_exported(prometheus), *_bad_rules(prometheus)]

    # This loop answers the scrapes, and is not to be held up.
    assert await asyncio.to_thread(wrong) == []


def _unanswered(prometheus: Prometheus) -> Iterator[str]:
    """Questions without an answer, or whose answers do not say what they are of."""
    for asked in asked_by_the_dashboard():
        answers = prometheus.query(asked.expression)
        if not answers:
            yield f"{asked.panel}: nothing is known of {asked.expression}"
        for labels, _ in answers:
            if asked.labels - labels.keys():
                yield f"{asked.panel}: {asked.expression} gives {labels}, not {asked.labels}"


def _not_exported(prometheus: Prometheus) -> Iterator[str]:
    """Metrics and labels that the rules, the variables and the dashboard ask for and nobody has."""
    variables = [each["definition"] for each in dashboard()["templating"]["list"] if
                 each["type"] == "query"]  # fmt: skip
    expressions = [
        *(asked.expression for asked in asked_by_the_dashboard()),
        *(rule["query"] for rule in prometheus.rules()),
        *variables,
    ]
    known = {
        name: [set(labels) for labels in prometheus.series(name)]
        for expression in expressions
        for name in METRIC.findall(expression)
        if not name.startswith(OF_SPARK)
    }
    yield from (f"nobody exports {name}" for name, series in known.items() if not series)
    for expression in expressions:
        grouped = {name.strip() for found in GROUPED.findall(expression) for name in
                   found.split(",")} - {"le"}  # fmt: skip
        for name in set(METRIC.findall(expression)) & known.keys():
            chosen = {label for metric, selectors in SELECTED.findall(expression) if metric == name
                      for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selectors)}  # fmt: skip
            if any(not grouped | chosen <= labels for labels in known[name]):
                yield f"{name} has {known[name][:1]}, and is asked by {grouped | chosen}"
        for name, label in re.findall(r"label_values\((tidegate_\w+).*, (\w+)\)", expression):
            if any(label not in labels for labels in known[name]):
                yield f"{name} has no label {label}"


def _bad_rules(prometheus: Prometheus) -> Iterator[str]:
    rules = prometheus.rules()
    if len(rules) != RULES.read_text(encoding="utf-8").count("- alert:"):
        yield f"it has taken {len(rules)} rules"
    for rule in rules:
        if rule["health"] not in ("ok", "unknown"):
            yield f"{rule['name']}: {rule['health']}: {rule.get('lastError')}"
