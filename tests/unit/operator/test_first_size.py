"""A group whose size an autoscaler writes has a number for `/scale`, and keeps its size."""

from __future__ import annotations

from typing import Any

import pytest

from support.operated_world import NAME, WORKLOAD, OperatedWorld
from tidegate_operator.kube_errors import Denied

EXTERNAL = {"min": 0, "max": 16, "mode": "External"}


def world_with(**spec: Any) -> OperatedWorld:
    world = OperatedWorld()
    world.put_secret()
    world.create(**spec)
    return world


def size_written(world: OperatedWorld) -> int | None:
    assert world.group is not None
    found = world.group["spec"].get("replicas")
    return None if found is None else int(found)


@pytest.mark.parametrize("least", [0, 1, 3])
def test_a_new_group_begins_with_the_fewest(least: int) -> None:
    world = world_with(scaling={**EXTERNAL, "min": least})
    world.settle()
    assert size_written(world) == least
    assert world.deployment is not None
    assert world.deployment["spec"]["replicas"] == least


def test_a_group_that_is_given_to_an_autoscaler_keeps_its_size() -> None:
    world = world_with(replicas=5, scaling={**EXTERNAL, "mode": "Observe"})
    world.settle()
    world.kube.edit(NAME, {"spec": {"scaling": EXTERNAL, "replicas": None}})
    world.settle()
    assert size_written(world) == 5
    assert world.deployment is not None
    assert world.deployment["spec"]["replicas"] == 5


@pytest.mark.parametrize("mode", ["Auto", "Observe"])
def test_in_the_other_modes_nothing_is_written(mode: str) -> None:
    world = world_with(scaling={**EXTERNAL, "mode": mode})
    world.settle()
    assert size_written(world) is None


def test_what_the_autoscaler_writes_stays_and_is_written_again_where_it_was_taken_out() -> None:
    world = world_with(scaling=EXTERNAL)
    world.settle()
    world.kube.edit(NAME, {"spec": {"replicas": 4}})
    world.settle()
    assert size_written(world) == 4
    world.kube.edit(NAME, {"spec": {"replicas": None}})
    world.settle()
    assert size_written(world) == 4


def test_a_size_outside_of_the_bounds_becomes_the_nearest_of_them() -> None:
    """The API server takes no other, from the autoscaler neither."""
    world = world_with(scaling={**EXTERNAL, "mode": "Observe"}, replicas=9)
    world.settle()
    world.kube.edit(NAME, {"spec": {"scaling": {**EXTERNAL, "max": 6}, "replicas": None}})
    world.settle()
    assert size_written(world) == 6


def test_a_paused_group_gets_the_size_that_it_had_before() -> None:
    world = world_with(scaling={**EXTERNAL, "mode": "Observe"}, replicas=5)
    world.settle()
    world.kube.edit(NAME, {"spec": {"paused": True, "replicas": None}})
    world.settle()
    assert world.status["scaling"]["beforePause"] == 5
    world.kube.edit(WORKLOAD, {"spec": {"replicas": 0}})
    world.start()  # another operator, which knows the status alone
    world.kube.edit(NAME, {"spec": {"scaling": EXTERNAL}})
    world.settle()
    assert size_written(world) == 5
    assert world.deployment is not None
    assert world.deployment["spec"]["replicas"] == 0


def test_a_write_that_is_refused_is_told_and_keeps_nothing_else_from_being_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_with(scaling={**EXTERNAL, "min": 1})
    patch = world.kube.patch

    async def refuses(kind: Any, namespace: str, name: str, changes: Any, **fences: Any) -> Any:
        if "replicas" in changes.get("spec", {}) and kind.name == "ConsumerGroup":
            raise Denied("it may not")
        return await patch(kind, namespace, name, changes, **fences)

    monkeypatch.setattr(world.kube, "patch", refuses)
    world.settle()
    assert WORKLOAD in world.kube.objects
    assert "It may not." in world.condition("Ready")[2]
