"""What `make demo-cluster` applies is what a cluster takes."""

from __future__ import annotations

import random

import pytest

from demo_cluster import NAMESPACE, ClusterGroups, documents
from support.tree import ROOT
from tidegate_operator.spec import read_spec


@pytest.mark.parametrize("engine", ["python", "spark"])
def test_its_groups_can_be_read_and_have_their_handlers(engine: str) -> None:
    found = documents(engine, 2_000)
    assert {each["metadata"]["namespace"] for each in found} == {NAMESPACE}
    maps = {each["metadata"]["name"]: each["data"] for each in found if "data" in each}
    groups = [each for each in found if each["kind"] == "ConsumerGroup"]
    assert [each["metadata"]["name"] for each in groups] == ["alarms", "activity"]
    for group in groups:
        spec = read_spec(group)
        file = spec.handler.code.partition(":")[0]
        assert spec.handler.config_map is not None
        text = maps[spec.handler.config_map][file]
        assert text == (ROOT / "examples" / "home-security" / file).read_text(encoding="utf-8")
    assert read_spec(groups[1]).engine == engine


def test_a_member_that_is_killed_has_no_time_to_end_well(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def kubectl(*arguments: str) -> str:
        asked.append(arguments)
        return "pod/alarms-a\npod/alarms-b\n" if arguments[0] == "get" else ""

    monkeypatch.setattr("demo_cluster.kubectl", kubectl)
    name = ClusterGroups().kill_one(random.Random(1))
    assert name in ("alarms-a", "alarms-b")
    (way,) = [words for words in asked if words[:3] == ("delete", "pod", name)]
    assert way[3:5] == ("--grace-period", "0")
    assert "--force" in way
