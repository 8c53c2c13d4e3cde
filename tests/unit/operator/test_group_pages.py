"""`GET /groups/NAMESPACE/NAME` and metrics of groups: any operator tells them, or says why not."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from aiohttp import ClientSession
from prometheus_client.core import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from support.tree import ROOT
from tidegate.ops.health import Verdict
from tidegate.ops.serving import Address, serve
from tidegate_operator.cache import Cache
from tidegate_operator.freshness import STALE_S
from tidegate_operator.group_pages import _GAUGES, PATH, GroupPages
from tidegate_operator.kinds import CONSUMER_GROUP
from tidegate_operator.leader import Leader
from tidegate_operator.model import GroupKey
from tidegate_operator.outside import Outside
from tidegate_operator.scaling import Mode
from tidegate_operator.spec import read_spec
from tidegate_operator.untold import Untold
from tidegate_operator.watching import Watches
from unit.operator.looked_at import Looks
from unit.operator.observed import NOW
from unit.operator.test_health import SETTINGS
from unit.operator.test_outside import document, reading

HOME = {"namespace": "default", "name": "home"}


class Held(Leader):
    """A Lease that somebody has held for so long."""

    def __init__(self, led_for_s: float) -> None:
        super().__init__(cast(Any, None), SETTINGS, lambda: 0.0, lambda: 0.0, lambda: 0.5)
        self.seconds = led_for_s

    @property
    def led_for_s(self) -> float:
        return self.seconds

    @property
    def holder(self) -> str:
        return "operator-0"


class Operator:
    """One that watches, and need not lead."""

    def __init__(self, led_for_s: float = 1000.0) -> None:
        self.cache, self.leader = Cache(), Held(led_for_s)
        self.watches = Watches(cast(Any, None), self.cache, SETTINGS, lambda: 0.0, lambda *_: None)
        self.watches.complete.set()
        self.untold = Untold()
        self.wall = NOW
        self.pages = GroupPages(
            self.cache, self.watches, self.leader, self.untold, lambda: self.wall
        )

    def hear(self, group: dict[str, Any]) -> None:
        group["metadata"] |= {"uid": "u", "resourceVersion": "1"}
        self.cache.hear(CONSUMER_GROUP, group, is_gone=False)

    def answer(self, name: str = "home") -> tuple[int, str]:
        found = self.pages.answer({**HOME, "name": name})
        return found.status, found.text

    def metrics(self) -> dict[str, float]:
        registry = CollectorRegistry(auto_describe=False)

        class Shown(Collector):
            def collect(_) -> Iterator[Any]:  # noqa: N805
                yield from self.pages.metrics()

        registry.register(Shown())
        lines = generate_latest(registry).decode().splitlines()
        rows = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in rows}


@pytest.fixture
async def operator() -> Operator:
    made = Operator()
    made.hear(document(Looks(reading())))
    return made


async def test_an_autoscaler_reads_numbers_by_their_names(operator: Operator) -> None:
    status, text = operator.answer()
    assert status == 200
    told = json.loads(text)
    assert (told["lagEvents"], told["replicas"], told["lagKind"]) == (16, 2, "exact")
    assert all(isinstance(value, int | float) for name, value in told.items() if name != "lagKind")


async def test_prometheus_is_told_the_same_of_each_group(operator: Operator) -> None:
    group = 'group="home",group_namespace="default"'
    told = operator.metrics()
    prefix = "tidegate_operator_group_"
    assert {
        name.removeprefix(prefix): value for name, value in told.items() if "kind" not in name
    } == {
        f"lag_events{{{group}}}": 16.0,
        f"lag_seconds{{{group}}}": 1.5,
        f"replicas{{{group}}}": 2.0,
        f"replicas_ready{{{group}}}": 2.0,
        f"partitions{{{group}}}": 4.0,
        f"partitions_unread{{{group}}}": 0.0,
    }
    assert told[f'{prefix}lag_kind{{{group},kind="exact"}}'] == 1.0
    assert told[f'{prefix}lag_kind{{{group},kind="unknown"}}'] == 0.0


async def test_a_lag_that_is_not_known_is_503_with_words_and_no_metric(operator: Operator) -> None:
    operator.hear(document(Looks(reading()).fail("OperatorFailed", "It failed.")))
    status, text = operator.answer()
    assert status == 503
    assert text == (
        "ConsumerGroup default/home: its figures are old; Ready says OperatorFailed: It failed.\n"
    )
    told = operator.metrics()
    assert not [name for name in told if "lag_events" in name or "lag_seconds" in name]
    group = 'group="home",group_namespace="default"'
    assert told[f'tidegate_operator_group_lag_kind{{{group},kind="unknown"}}'] == 1.0


async def test_a_status_that_nobody_has_written_for_too_long_is_503_and_no_metric(
    operator: Operator,
) -> None:
    operator.wall = NOW + STALE_S
    assert operator.answer()[0] == 200
    operator.wall = NOW + STALE_S + 60.0
    status, text = operator.answer()
    assert status == 503
    assert "this is as it was 5m ago: no operator has looked at the group since" in text
    assert not [name for name in operator.metrics() if "lag" in name]


async def test_a_group_that_is_not_there_is_404_and_says_so(operator: Operator) -> None:
    assert operator.answer("other") == (
        404, "there is no ConsumerGroup default/other in what this operator looks after\n",
    )  # fmt: skip


def silent(operator: Operator) -> None:
    operator.watches.watches[CONSUMER_GROUP].silent_since = 0.0


def unled(operator: Operator) -> None:
    operator.leader.seconds = 0.0


def just_led(operator: Operator) -> None:
    operator.leader.seconds = 3.0


def begins(operator: Operator) -> None:
    operator.watches.complete.clear()


@pytest.mark.parametrize(
    ("befalls", "says"),
    [
        (silent, "the watch of the ConsumerGroups is silent: what is known of them may be old"),
        (unled, "no operator leads, so nobody looks at the groups"),
        (just_led, "operator-0 has led for 3 s, and may not have looked yet"),
        (begins, "the watches have not told of everything yet"),
    ],
)
async def test_figures_that_may_be_old_are_not_told(
    operator: Operator, befalls: Any, says: str
) -> None:
    befalls(operator)
    assert operator.answer() == (503, f"{says}\n")
    assert operator.metrics() == {}


async def test_a_group_whose_status_cannot_be_written_is_not_told_of(operator: Operator) -> None:
    operator.untold.groups[GroupKey("default", "home")] = "it is forbidden"
    text = "ConsumerGroup default/home: its status cannot be written: it is forbidden\n"
    assert operator.answer() == (503, text)
    assert operator.metrics() == {}


# --- over HTTP


class Nothing:
    """No metrics, and no health of its own."""

    def write(self, _: str = "") -> tuple[bytes, str]:
        return b"", "text/plain"

    def alive(self, _: float) -> Verdict:
        return Verdict(True, "alive")

    def ready(self, _now: float, /) -> Verdict:
        return Verdict(True, "ready")


@asynccontextmanager
async def served(operator: Operator) -> AsyncIterator[str]:
    pages = {PATH: operator.pages.answer}
    endpoints = await serve(Address("127.0.0.1", 0), Nothing(), Nothing(), lambda: 0.0, pages)
    try:
        yield endpoints.url
    finally:
        await endpoints.close()


async def test_it_is_served_at_the_path_that_the_docs_name(operator: Operator) -> None:
    async with served(operator) as url, ClientSession() as session:
        async with session.get(f"{url}/groups/default/home") as answer:
            assert (answer.status, answer.content_type) == (200, "application/json")
            assert (await answer.json())["lagEvents"] == 16
        operator.leader.seconds = 0.0
        async with session.get(f"{url}/groups/default/home") as answer:
            assert (answer.status, answer.content_type) == (503, "text/plain")
            assert "no operator leads" in await answer.text()
        async with session.get(f"{url}/groups/default") as answer:
            assert answer.status == 404


# --- the docs

PAGE, EXAMPLE = ROOT / "docs" / "keda.md", ROOT / "examples" / "keda" / "home-activity.yaml"
NUMBERS = {each.metadata["name"] for each in fields(Outside)} - {"lagKind"}


def test_the_page_lists_every_field_of_the_answer_with_its_meaning() -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    told = [(each.metadata["name"], each.metadata["help"]) for each in fields(Outside)]
    assert [row for row in listed if row[0] in dict(told)] == told, (
        "docs/keda.md and tidegate_operator/outside.py differ"
    )


def test_the_answer_that_the_page_shows_is_one_that_there_can_be() -> None:
    shown = re.findall(r"^\{.*\}$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(shown) == 1
    assert [*json.loads(shown[0])] == [each.metadata["name"] for each in fields(Outside)]


@pytest.mark.parametrize("path", [PAGE, EXAMPLE], ids=lambda path: path.name)
def test_what_keda_is_told_to_look_for_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    places = re.findall(r"valueLocation: (\w+)", text)
    assert places and set(places) <= NUMBERS
    urls = re.findall(r"http://tidegate-operator\S+", text)
    assert urls and all(url.endswith(":8080/groups/homes/home-activity") for url in urls)
    asked = set(re.findall(r"tidegate_operator_\w+", text))
    assert asked <= {name for name, _ in _GAUGES.values()}
    # A metric that is absent would be a 0 to KEDA otherwise.
    assert text.count('ignoreNullValues: "false"') >= text.count("type: prometheus")


def test_the_example_is_a_group_whose_size_is_left_to_keda() -> None:
    group, scaled = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    assert read_spec(group).scaling.mode is Mode.EXTERNAL
    target = scaled["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == (group["kind"], group["metadata"]["name"])
    assert target["apiVersion"] == group["apiVersion"]
    assert scaled["metadata"]["namespace"] == group["metadata"]["namespace"]
