"""What tests share: a world for rounds; an API server and the command for the plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.operated_spark import OWNED, SparkWorld
from support.operated_world import OperatedWorld
from support.plugin_api import PluginApi, plugin_api
from tidegate_operator.plugin.cli import carried_out
from unit.operator.plugin_groups import NAMESPACE, Run, group


@pytest.fixture
def world() -> OperatedWorld:
    """A group of two that nobody has looked at yet."""
    world = OperatedWorld()
    world.put_secret()
    world.create(scaling={"min": 2, "max": 4})
    return world


@pytest.fixture
def groups_api() -> Iterator[PluginApi]:
    """An API server with one group."""
    with plugin_api() as kept:
        kept.put_group(group())
        yield kept


@pytest.fixture
def run(groups_api: PluginApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Carries out these words, as kubectl hands them on; gives the exit code."""
    monkeypatch.setenv("KUBECONFIG", str(groups_api.kubeconfig(tmp_path, NAMESPACE)))

    def carry_out(*words: str) -> int:
        return carried_out(list(words))

    return carry_out


@pytest.fixture
def one() -> SparkWorld:
    """A group of one executor, which owns everything."""
    world = SparkWorld(replicas=1)
    world.begin_driver()
    (member,) = world.count_executors("driver-1", "app-1")
    for partition in OWNED:
        world.own(partition, member)
    world.settle()
    return world


@pytest.fixture
def three() -> SparkWorld:
    """The same of three, of which each owns something."""
    world = SparkWorld(replicas=3)
    world.begin_driver()
    members = world.count_executors("driver-1", "app-1")
    for partition in OWNED:
        world.own(partition, members[int(partition) % 3])
    world.settle()
    return world
