"""What a new start would mend is not alive; what it would not change is only said."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from support.tree import ROOT
from tidegate_operator.cache import Cache
from tidegate_operator.health import OperatorHealth, OperatorMetrics, Vitals
from tidegate_operator.kinds import CONSUMER_GROUP, POD
from tidegate_operator.kube import Kube
from tidegate_operator.leader import Leader
from tidegate_operator.model import GroupKey
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.watching import Watches
from tidegate_operator.workers import Round, Workers

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
HOME = GroupKey("default", "home")


@dataclass
class Process:
    """The parts of an operator, none of which runs."""

    now: float = 1000.0
    vitals: Vitals = field(init=False)

    def __post_init__(self) -> None:
        cache = Cache()

        def clock() -> float:
            return self.now

        async def work(_: GroupKey) -> Round:
            return Round(1.0)

        self.vitals = Vitals(
            SETTINGS,
            cache,
            Watches(cast(Kube, None), cache, SETTINGS, clock, lambda *_: None),
            Leader(cast(Any, None), SETTINGS, clock, clock, lambda: 0.5),
            Workers(work, SETTINGS, clock, lambda: 0.5),
            clock,
        )
        self.health = OperatorHealth(self.vitals)

    def pass_time(self, seconds: float) -> None:
        """While the leader's loop goes on."""
        self.now += seconds
        self.vitals.leader.tried_at = self.now

    def alive(self) -> tuple[bool, str]:
        verdict = self.health.alive(self.now)
        return verdict.is_good, verdict.reason

    def metrics(self) -> dict[str, float]:
        body, _ = OperatorMetrics(self.vitals).write()
        lines = [line for line in body.decode().splitlines() if line.startswith("tidegate_")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def process() -> Iterator[Process]:
    with asyncio.Runner() as runner:
        yield runner.run(_made())


async def _made() -> Process:
    return Process()


def test_a_process_on_which_nothing_happens_is_alive(process: Process) -> None:
    process.pass_time(100_000.0)
    assert process.alive() == (True, "alive")


def test_a_watch_that_stays_silent_is_not_alive(process: Process) -> None:
    process.vitals.watches.watches[POD].silent_since = process.now
    process.pass_time(SETTINGS.unhealthy_s)
    assert process.alive()[0]
    process.pass_time(1.0)
    is_alive, why = process.alive()
    assert not is_alive and "the watch of pods is silent" in why


def test_a_round_that_stands_still_is_not_alive(process: Process) -> None:
    process.vitals.workers.counts.running[HOME] = process.now
    process.pass_time(SETTINGS.unhealthy_s + 1)
    is_alive, why = process.alive()
    assert not is_alive and "default/home" in why


def test_a_loop_of_the_leader_that_stands_still_is_not_alive(process: Process) -> None:
    process.now += SETTINGS.unhealthy_s + 1
    assert not process.alive()[0]


def test_an_operator_is_ready_when_it_has_been_told_of_everything(process: Process) -> None:
    ready = process.health.ready(0.0)
    assert not ready.is_good and "not told of everything" in ready.reason
    process.vitals.watches.complete.set()
    assert process.health.ready(0.0).is_good
    process.health.is_stopping = True
    assert not process.health.ready(0.0).is_good


def test_what_keeps_it_from_being_ready_is_said(process: Process) -> None:
    process.vitals.watches.trouble = "list pods: it may not list pods. Give its role this verb"
    assert "may not list pods" in process.health.ready(0.0).reason


def test_a_status_that_cannot_be_written_is_said_and_makes_nobody_unready(
    process: Process,
) -> None:
    process.vitals.watches.complete.set()
    untold = process.vitals.untold
    for _ in range(3):
        untold.failed(HOME, ValueError("its role may not patch its status"))
    untold.events_failed, untold.events_lost = 5, 2
    ready = process.health.ready(0.0)
    assert ready.is_good and process.alive()[0]
    assert "default/home: its role may not patch its status" in ready.reason
    found = process.metrics()
    assert found["tidegate_operator_groups_untold"] == 1
    assert found["tidegate_operator_status_failures_total"] == 3
    assert found["tidegate_operator_event_failures_total"] == 5
    assert found["tidegate_operator_events_lost_total"] == 2
    untold.written(HOME)
    assert process.metrics()["tidegate_operator_groups_untold"] == 0
    assert "cannot" not in process.health.ready(0.0).reason


def test_metrics_have_the_names_that_dashboards_use(process: Process) -> None:
    metadata = {"namespace": "default", "name": "home", "uid": "1", "resourceVersion": "1"}
    process.vitals.cache.hear(CONSUMER_GROUP, {"metadata": metadata}, is_gone=False)
    process.vitals.workers.counts.failed = 3
    process.vitals.workers.counts.seconds.add(0.02)
    process.now += 7.0
    found = process.metrics()
    assert found["tidegate_operator_groups"] == 1
    assert found["tidegate_operator_groups_failing"] == 0
    assert found["tidegate_operator_failures_total"] == 3
    assert found["tidegate_operator_reconcile_seconds_count"] == 1
    assert found["tidegate_operator_leader"] == 0
    assert found['tidegate_operator_watch_age_seconds{kind="pods"}'] == 7.0


@pytest.mark.parametrize(
    ("status", "reason", "told"),
    [
        ("True", "Ready", 1.0),
        ("False", "CrashLoop", 0.0),
        ("Unknown", "LedgerUnreachable", 0.0),
        ("False", "Paused", None),
        ("False", "Deleting", None),
    ],
)
def test_a_group_of_which_no_consumer_runs_is_told_of_all_the_same(
    process: Process, status: str, reason: str, told: float | None
) -> None:
    metadata = {"namespace": "default", "name": "home", "uid": "1", "resourceVersion": "1"}
    group: dict[str, Any] = {"metadata": metadata}
    name = 'tidegate_operator_group_ready{group="home",group_namespace="default"}'
    process.vitals.cache.hear(CONSUMER_GROUP, group, is_gone=False)
    assert process.metrics()[name] == 0.0, "nobody has looked at it yet"
    ready = {"type": "Ready", "status": status, "reason": reason}
    group |= {"status": {"conditions": [ready]}}
    process.vitals.cache.hear(CONSUMER_GROUP, group, is_gone=False)
    assert process.metrics().get(name) == told


def test_the_page_lists_every_metric_with_its_meaning(process: Process) -> None:
    body, _ = OperatorMetrics(process.vitals).write()
    told = re.findall(r"^# HELP (tidegate_operator_\S+) (.*)$", body.decode(), re.MULTILINE)
    page = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(tidegate_operator_\S+)` \| .* \| (.*) \|$", page, re.MULTILINE)
    assert sorted(listed) == sorted(told)
