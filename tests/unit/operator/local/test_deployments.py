"""Rollouts and sizes of Deployments on this machine: as Kubernetes' own controllers make them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tidegate_operator.facts import DELETION_COST, REVISION_LABEL, pod_facts
from tidegate_operator.kinds import DEPLOYMENT, POD, REPLICA_SET, Document, ObjectName
from tidegate_operator.local.admission import admit
from tidegate_operator.local.controllers import Controllers
from tidegate_operator.local.store import Store

WHERE = "homes"
NAME = ObjectName(DEPLOYMENT, WHERE, "activity")


class World:
    """A Deployment, its controllers, and a kubelet that does what the test says."""

    def __init__(self, replicas: int, seed: int = 1) -> None:
        self.at = 1_000_000.0
        numbers = itertools.count()
        dice = random.Random(seed)
        self.store = Store(lambda: self.at, lambda: f"uid-{next(numbers)}", admit)
        self.controllers = Controllers(
            self.store, lambda letters, count: "".join(dice.choices(letters, k=count))
        )
        self.store.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "activity", "namespace": WHERE},
                "spec": {
                    "replicas": replicas,
                    "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                    "revisionHistoryLimit": 3,
                    "template": template("1"),
                },
            }
        )

    def change(self, **spec: Any) -> None:
        self.store.patch(NAME, {"spec": spec})

    def settle(self) -> None:
        for _ in range(50):
            before = [each["metadata"]["resourceVersion"] for each in self._all()]
            self.controllers.step()
            if before == [each["metadata"]["resourceVersion"] for each in self._all()]:
                return
        pytest.fail("the controllers do not come to rest")

    def _all(self) -> list[Document]:
        return [each for kind in (DEPLOYMENT, REPLICA_SET, POD) for each in self.store.list(kind)]

    def pods(self) -> list[Document]:
        return self.store.list(POD)

    def live(self) -> list[Document]:
        return [pod for pod in self.pods() if "deletionTimestamp" not in pod["metadata"]]

    def ready(self) -> list[Document]:
        return [pod for pod in self.live() if pod_facts(pod).is_ready]

    def make_ready(self, pod: Document, *, is_ready: bool = True) -> None:
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if is_ready else "False"}],
        }
        self.store.write_status(name_of(pod), status)

    def end(self, pod: Document) -> None:
        self.store.end_pod(name_of(pod), pod["metadata"]["uid"])

    def all_ready(self) -> None:
        """Until nothing changes any more."""
        for _ in range(100):
            self.settle()
            waiting = [pod for pod in self.live() if not pod_facts(pod).is_ready]
            going = [pod for pod in self.pods() if "deletionTimestamp" in pod["metadata"]]
            if not waiting and not going:
                return
            for pod in waiting:
                self.make_ready(pod)
            for pod in going:
                self.end(pod)
        pytest.fail("the rollout does not end")

    def deployment(self) -> Document:
        return self.store.get(NAME)


def template(version: str) -> Document:
    return {"metadata": {"labels": {"of": "us"}, "annotations": {"v": version}}, "spec": {}}


def name_of(pod: Document) -> ObjectName:
    return ObjectName(POD, WHERE, pod["metadata"]["name"])


def test_there_are_as_many_pods_as_are_wanted_and_the_status_says_so() -> None:
    world = World(3)
    world.all_ready()
    assert len(world.pods()) == 3
    assert len({pod["metadata"]["name"] for pod in world.pods()}) == 3
    status = world.deployment()["status"]
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (3, 3, 3)
    assert status["observedGeneration"] == world.deployment()["metadata"]["generation"]
    world.change(replicas=5)
    world.all_ready()
    assert len(world.pods()) == 5
    world.change(replicas=0)
    world.all_ready()
    assert world.pods() == []


def test_a_deployment_that_is_paused_from_its_birth_makes_nothing() -> None:
    world = World(2)
    world.change(paused=True)
    world.settle()
    assert world.store.list(REPLICA_SET) == []
    world.change(paused=False)
    world.settle()
    assert len(world.pods()) == 2


def test_a_pod_that_has_gone_is_replaced_at_once_and_one_that_is_going_too() -> None:
    world = World(2)
    world.all_ready()
    first, second = world.pods()
    world.store.delete(name_of(first))
    world.settle()
    assert len(world.live()) == 2
    assert name_of(second) in {name_of(pod) for pod in world.live()}


def test_a_new_template_is_rolled_out_one_by_one_without_ever_missing_anybody() -> None:
    world = World(4)
    world.all_ready()
    world.change(template=template("2"))
    old = {pod["metadata"]["name"] for pod in world.pods()}
    world.settle()
    assert len(world.live()) == 5, "one more than is wanted, and no other yet"
    world.settle()
    assert len(world.live()) == 5, "it waits until the new one is ready"
    (new,) = (pod for pod in world.live() if pod["metadata"]["name"] not in old)
    world.make_ready(new)
    world.settle()
    assert len(world.ready()) == 4
    world.all_ready()
    assert not old & {pod["metadata"]["name"] for pod in world.pods()}
    assert len({pod["metadata"]["labels"][REVISION_LABEL] for pod in world.pods()}) == 1


def test_whom_the_operator_marks_goes_first_but_for_those_that_are_not_ready() -> None:
    world = World(4)
    world.all_ready()
    marked, broken = world.pods()[1], world.pods()[2]
    cost = {"metadata": {"annotations": {DELETION_COST: "-1000"}}}
    world.store.patch(name_of(marked), cost)
    world.make_ready(broken, is_ready=False)
    world.change(replicas=3)
    world.settle()
    assert name_of(broken) not in {name_of(pod) for pod in world.live()}
    world.change(replicas=2)
    world.settle()
    assert name_of(marked) not in {name_of(pod) for pod in world.live()}


def test_the_older_of_two_templates_is_taken_up_again_and_old_ones_are_forgotten() -> None:
    world = World(1)
    for version in ("2", "3", "4", "5", "6", "2", "1"):
        world.change(template=template(version))
        world.all_ready()
    assert len(world.store.list(REPLICA_SET)) <= 4
    (pod,) = world.pods()
    assert pod["metadata"]["annotations"]["v"] == "1"


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_nobody_is_missed_and_no_more_than_one_is_there_besides(seed: int) -> None:
    dice = random.Random(seed)
    world = World(dice.randint(1, 6), seed)
    world.all_ready()
    wanted = world.deployment()["spec"]["replicas"]
    for step in range(60):
        what = dice.random()
        if what < 0.1:
            world.change(template=template(str(step)))
        pods = world.pods()
        if pods and what < 0.9:
            pod = dice.choice(pods)
            if "deletionTimestamp" in pod["metadata"]:
                world.end(pod)
            else:
                world.make_ready(pod)
        world.settle()
        assert len(world.ready()) >= wanted, f"seed {seed}, step {step}"
        assert len(world.live()) <= wanted + 1, f"seed {seed}, step {step}"
    world.all_ready()
    assert len(world.pods()) == wanted, f"seed {seed}"
