"""The group files of the examples can be used as they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.tree import ROOT
from tidegate.group_file.reading import read_group
from tidegate.handlers.loading import load
from tidegate.spark.pipelines import load_pipeline

FOLDER = ROOT / "examples" / "groups"


@pytest.fixture(autouse=True)
def imports_as_before() -> Iterator[None]:
    paths, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.name)
def test_a_group_file_of_the_examples_can_be_used(path: Path) -> None:
    group = read_group(path.read_text(encoding="utf-8"), path.name)
    assert group.name == path.stem
    assert callable(load(group.spec.handler.code, FOLDER).handle)


def test_there_are_examples() -> None:
    assert len(list(FOLDER.glob("*.yaml"))) >= 2


def test_the_example_on_a_cluster_has_the_pipeline_that_it_names_and_runs_it_in_the_same_way() -> (
    None
):
    text = (ROOT / "examples" / "cluster" / "home-activity-on-spark.yaml").read_text("utf-8")
    group, config_map = yaml.safe_load_all(text)
    pipeline = ROOT / "examples" / "home-security" / "pipeline.py"
    assert config_map["data"]["pipeline.py"] == pipeline.read_text(encoding="utf-8")
    file = ROOT / "examples" / "home-security" / "activity-spark.yaml"
    local = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
    assert group["spec"]["delivery"] == local["delivery"]
    for key in ("schema", "output"):
        assert group["spec"]["spark"][key] == local["spark"][key]


def test_the_pipeline_of_a_container_runs_in_the_same_way_with_all_embedded() -> None:
    run, up = (
        yaml.safe_load((ROOT / "examples" / name).read_text(encoding="utf-8"))["spec"]
        for name in ("orders-spark.yaml", "orders-spark-up.yaml")
    )
    for each in (run["source"]["cosmos"], up["source"]["cosmos"], run["ledger"], up["ledger"]):
        del each["connectionString"]
    assert run == up


def test_the_pipeline_of_a_container_that_the_example_names_can_be_used() -> None:
    pytest.importorskip("pyspark", reason="the pipeline is of PySpark")
    file = ROOT / "examples" / "orders-spark.yaml"
    group = read_group(file.read_text(encoding="utf-8"), file.name)
    assert group.spec.source.cosmos is not None
    assert load_pipeline(group.spec.handler.code, file.parent).function.__name__ == "pipeline"
