"""An upgrade of the operator does not replace the pods of all groups at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.operated_world import KEY, NAME, SETTINGS, WORKLOAD, OperatedWorld
from tidegate_operator.cache import Cache
from tidegate_operator.engines.inputs import ASKED, TEMPLATE
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT
from tidegate_operator.model import GroupKey
from tidegate_operator.turns import LONGEST_S, Turns

OLD, NEW = "made by the old operator", "made by the new one"
MOST = 3
GROUPS = [GroupKey("default", f"group-{at}") for at in range(8)]


class Fleet:
    """Groups whose Deployments were made by another operator."""

    def __init__(self) -> None:
        self.cache, self.now, self.turns = Cache(), 1000.0, Turns()
        self._version = 0
        for key in GROUPS:
            metadata = {"namespace": key.namespace, "name": key.name, "uid": f"g-{key.name}"}
            self.cache.hear(CONSUMER_GROUP, {"metadata": metadata}, is_gone=False)
            self.stand(key, OLD)

    def stand(self, key: GroupKey, template: str, *, updated: int = 2, pods: int = 2) -> None:
        """Its Deployment, of which so many pods are of what it says now."""
        self._version += 1
        self.cache.hear(DEPLOYMENT, deployment(key, template, updated, pods, self._version),
                        is_gone=False)  # fmt: skip

    def asks(self, key: GroupKey, template: str = NEW, asked: str = "this") -> bool:
        wanted = deployment(key, template, 0, 2, 0)
        wanted["metadata"]["annotations"][ASKED] = asked
        return self.turns.is_next(self.cache, key, [wanted], self.now, MOST)


def deployment(
    key: GroupKey, template: str, updated: int, pods: int, version: int
) -> dict[str, Any]:
    return {
        "kind": DEPLOYMENT.name,
        "metadata": {
            "namespace": key.namespace, "name": key.name, "uid": f"d-{key.name}",
            "resourceVersion": f"{version}", "generation": 1,
            "labels": {"tidegate.dev/group": key.name},
            "annotations": {TEMPLATE: template, ASKED: "this"},
        },
        "spec": {"replicas": pods},
        "status": {
            "observedGeneration": 1, "replicas": pods, "updatedReplicas": updated,
            "availableReplicas": pods,
        },
    }  # fmt: skip


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def test_so_many_groups_begin_and_the_next_one_when_a_rollout_is_over(fleet: Fleet) -> None:
    assert [fleet.asks(key) for key in GROUPS] == [True] * 3 + [False] * 5
    assert [fleet.asks(key) for key in GROUPS[:3]] == [True] * 3, "whoever has begun goes on"
    fleet.stand(GROUPS[0], NEW, updated=1)
    assert not fleet.asks(GROUPS[3]), "the rollout has only begun"
    fleet.stand(GROUPS[0], NEW)
    assert fleet.asks(GROUPS[3])
    assert not fleet.asks(GROUPS[4])


def test_a_rollout_that_does_not_get_on_gives_its_turn_away(fleet: Fleet) -> None:
    for key in GROUPS[:3]:
        assert fleet.asks(key)
        fleet.stand(key, NEW, updated=1)
    fleet.now += LONGEST_S - 1
    assert not fleet.asks(GROUPS[3])
    fleet.now += 2
    assert [fleet.asks(key) for key in GROUPS[3:]] == [True] * 3 + [False] * 2
    assert all(fleet.asks(key) for key in GROUPS[:3]), "and is not undone"


def test_what_the_user_changed_waits_for_nobody(fleet: Fleet) -> None:
    assert [fleet.asks(key, asked="something else") for key in GROUPS] == [True] * 8


def test_nothing_waits_that_replaces_no_pod(fleet: Fleet) -> None:
    for key in GROUPS[:3]:
        assert fleet.asks(key)
    assert fleet.asks(GROUPS[3], template=OLD), "as where somebody changed the Deployment"
    fleet.stand(GROUPS[4], OLD, updated=0, pods=0)
    assert fleet.asks(GROUPS[4])
    assert fleet.asks(GroupKey("default", "made-just-now"))
    assert not fleet.asks(GROUPS[5])


def test_deployments_of_before_there_were_marks_wait_too(fleet: Fleet) -> None:
    for key in GROUPS:
        unmarked = deployment(key, "", 2, 2, 99)
        unmarked["metadata"]["annotations"] = {}
        fleet.cache.hear(DEPLOYMENT, unmarked, is_gone=False)
    assert sum(fleet.asks(key) for key in GROUPS) == MOST


def test_a_leader_that_begins_counts_the_rollouts_that_it_finds(fleet: Fleet) -> None:
    for key in GROUPS[:3]:
        assert fleet.asks(key)
        fleet.stand(key, NEW, updated=1)
    fleet.turns = Turns()
    assert not fleet.asks(GROUPS[3])
    fleet.stand(GROUPS[0], NEW)
    assert fleet.asks(GROUPS[3])


# --- a group of an operator that is upgraded


@pytest.fixture
def world() -> OperatedWorld:
    world = OperatedWorld()
    world.put_secret()
    world.create(scaling={"min": 2, "max": 4})
    world.settle()
    assert world.deployment is not None
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 2)
    generation = world.deployment["metadata"].get("generation")
    status = {"observedGeneration": generation, **counts}
    world.kube.edit(WORKLOAD, {"status": status})
    return world


def upgraded(world: OperatedWorld) -> None:
    """Another operator takes over, while others have all the turns."""
    world.start()
    settings = replace(SETTINGS, image="consumer:2", rollouts_at_once=1)
    world.edges = replace(world.edges, settings=settings)
    other = GroupKey(KEY.namespace, "other")
    live = deployment(other, OLD, 1, 2, 5)
    world.cache.hear(DEPLOYMENT, live, is_gone=False)
    wanted = deployment(other, NEW, 1, 2, 5)
    assert world.edges.turns.is_next(world.cache, other, [wanted], world.now, 1)


def image(world: OperatedWorld) -> str:
    assert world.deployment is not None
    (container,) = world.deployment["spec"]["template"]["spec"]["containers"]
    return str(container["image"])


def test_a_group_that_waits_stays_as_it_is_says_so_and_can_be_scaled(world: OperatedWorld) -> None:
    upgraded(world)
    world.round()
    assert image(world) == "consumer:1"
    assert "waits for its turn" in world.condition("Scaling")[2]
    world.kube.edit(NAME, {"spec": {"replicas": 3}})
    for _ in range(3):
        world.round()
    assert world.deployment is not None and world.deployment["spec"]["replicas"] == 3
    assert image(world) == "consumer:1", "a new size is no wish for new pods"


def test_a_group_that_waits_goes_on_when_it_is_its_turn(world: OperatedWorld) -> None:
    upgraded(world)
    world.round()
    world.now += LONGEST_S
    world.round()
    assert image(world) == "consumer:2"
    assert "turn" not in world.condition("Scaling")[2]


def test_what_its_user_changes_meanwhile_is_done_at_once(world: OperatedWorld) -> None:
    upgraded(world)
    world.round()
    world.kube.edit(NAME, {"spec": {"handler": {"code": "other:handle"}}})
    world.round()
    assert image(world) == "consumer:2"
