"""What the cluster refuses is told, tried less and less often, and at once where it may go now."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from support.kube_objects import KubeObjects
from support.operated_world import NAME, WORKLOAD, OperatedWorld
from tidegate_operator.kinds import DEPLOYMENT, REPLICA_SET, Document, Kind, name_of
from tidegate_operator.kube_errors import Denied, Invalid, KubeError, Unreachable


class Refusing:
    """A cluster that refuses to have one kind applied."""

    def __init__(self, world: OperatedWorld, kind: str, problem: KubeError) -> None:
        self._apply = world.kube.apply
        self._world = world
        self._kind = kind
        self.problem: KubeError | None = problem
        self.tried_at: list[float] = []
        world.kube.apply = self.apply  # type: ignore[method-assign]

    async def apply(self, document: Document) -> Document:
        if name_of(document).kind.name == self._kind:
            self.tried_at.append(self._world.now)
            if self.problem is not None:
                raise self.problem
        return await self._apply(document)


def made() -> OperatedWorld:
    world = OperatedWorld()
    world.put_secret()
    world.create(replicas=2)
    return world


@pytest.fixture
def world() -> OperatedWorld:
    """A group that stands."""
    world = made()
    world.settle()
    return world


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Invalid("apply Deployment homes/activity: exceeded quota: few"), "Refused"),
        (Denied("apply Deployment homes/activity: may not patch deployments.apps"), "Denied"),
        (Unreachable("apply Deployment homes/activity: a webhook does not answer"), "NoPods"),
    ],
)
def test_what_is_refused_is_tried_less_and_less_often_and_told_all_the_time(
    problem: KubeError, reason: str
) -> None:
    world = made()
    refusing = Refusing(world, "Deployment", problem)
    for _ in range(180):
        world.round()
        if reason != "NoPods":
            assert world.condition("Ready")[1] == reason
    gaps = [later - earlier for earlier, later in pairwise(refusing.tried_at)]
    assert gaps == [1, 2, 3, 6, 12, 24, 45, 45]
    refusing.problem = None
    for _ in range(61):
        world.round()
    assert world.deployment is not None and world.condition("Ready")[1] != "Denied"


def test_what_is_to_be_applied_is_tried_at_once_where_it_is_another(world: OperatedWorld) -> None:
    refusing = Refusing(world, "Deployment", Invalid("the image is not allowed"))
    world.kube.edit(NAME, {"spec": {"image": "bad:1"}})
    for _ in range(40):
        world.round()
    tries = len(refusing.tried_at)
    world.kube.edit(NAME, {"spec": {"image": "bad:2"}})
    world.round()
    assert len(refusing.tried_at) == tries + 1
    world.round()
    assert len(refusing.tried_at) == tries + 2, "and then it pauses for a second again"


def test_it_is_tried_at_once_where_the_watch_tells_of_a_change(world: OperatedWorld) -> None:
    refusing = Refusing(world, "Deployment", Invalid("a webhook does not like it"))
    world.kube.edit(NAME, {"spec": {"image": "bad:1"}})
    for _ in range(40):
        world.round()
    tries = len(refusing.tried_at)
    world.kube.edit(WORKLOAD, {"status": {"readyReplicas": 1}})
    world.round()
    assert len(refusing.tried_at) == tries, "its status is its controller's"
    world.kube.edit(WORKLOAD, {"spec": {"minReadySeconds": 5}})
    world.round()
    assert len(refusing.tried_at) == tries + 1


def test_the_servers_own_pause_is_kept() -> None:
    world = made()
    problem = Unreachable("too many requests")
    problem.retry_after_s = 20.0
    refusing = Refusing(world, "ConfigMap", problem)
    for _ in range(45):
        world.round()
    first, *later = refusing.tried_at
    assert [at - first for at in later] == [20.0, 40.0]


def test_all_that_is_refused_is_told_and_holds_up_nothing_else() -> None:
    world = made()
    Refusing(world, "Service", Invalid("apply Service homes/activity: no more load balancers"))
    Refusing(world, "PodDisruptionBudget", Denied("apply PodDisruptionBudget: may not. Give it."))
    world.settle()
    assert world.deployment is not None and world.deployment["spec"]["replicas"] == 2
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "Refused")
    assert "no more load balancers" in message and "PodDisruptionBudget: may not." in message


def test_the_longest_refusals_leave_room_for_each_other() -> None:
    world = made()
    for kind in ("ConfigMap", "Service", "PodDisruptionBudget"):
        Refusing(world, kind, Invalid(f"apply {kind}: {'why ' * 300}"))
    world.settle()
    message = world.condition("Ready")[2]
    assert len(message) <= 1024
    for kind in ("ConfigMap", "Service", "PodDisruptionBudget"):
        assert f"Apply {kind}: why why" in message


# --- replicas


def replicas(world: OperatedWorld) -> int:
    assert world.deployment is not None
    found: int = world.deployment["spec"]["replicas"]
    return found


def unheard(world: OperatedWorld, changes: Mapping[str, Any]) -> None:
    """Somebody changes the Deployment, and no watch has told of it yet."""
    heard = world.cache.hear
    world.cache.hear = lambda *_, **__: set()  # type: ignore[method-assign]
    world.kube.edit(WORKLOAD, changes)
    world.cache.hear = heard  # type: ignore[method-assign]


def test_replicas_are_written_at_once_where_only_the_status_was_written_in_between(
    world: OperatedWorld,
) -> None:
    world.kube.edit(NAME, {"spec": {"replicas": 4}})
    unheard(world, {"status": {"observedGeneration": 1}})
    world.round()
    assert replicas(world) == 4
    assert world.kube.written.count("patch Deployment") == 2


def test_replicas_are_not_written_blindly_over_what_somebody_else_has_just_written(
    world: OperatedWorld,
) -> None:
    world.kube.edit(NAME, {"spec": {"replicas": 4}})
    # To what is wanted, by somebody else: there is nothing left to write.
    unheard(world, {"spec": {"replicas": 4}})
    world.round()
    assert replicas(world) == 4 and world.kube.written.count("patch Deployment") == 1
    # To more than is wanted: a group does not shrink before its members have handed over.
    world.kube.edit(NAME, {"spec": {"replicas": 5}})
    unheard(world, {"spec": {"replicas": 9}})
    world.round()
    assert replicas(world) == 9 and world.kube.written.count("patch Deployment") == 1


def test_a_deployment_that_changes_all_the_time_is_tried_twice_in_a_round(
    world: OperatedWorld,
) -> None:
    world.kube.edit(NAME, {"spec": {"replicas": 4}})
    patch = KubeObjects.patch

    async def races(kind: Kind, namespace: str, name: str, *rest: Any, **fences: Any) -> Document:
        if kind == DEPLOYMENT:
            fences.pop("uid", None)
            status = world.kube.objects[WORKLOAD].get("status", {}).get("seen", 0)
            unheard(world, {"status": {"seen": status + 1}})
        return await patch(world.kube, kind, namespace, name, *rest, **fences)

    world.kube.patch = races  # type: ignore[method-assign]
    world.round()
    assert replicas(world) == 2 and world.kube.written.count("patch Deployment") == 2
    assert world.condition("Ready")[1] not in ("Conflict", "KubernetesFailed")


# --- ReplicaSets


def refuse_list(world: OperatedWorld, problem: KubeError | None) -> list[float]:
    """When ReplicaSets were asked for."""
    asked_at: list[float] = []
    listed = type(world.kube).list

    async def list_(kind: Kind, namespace: str | None = None, **more: Any) -> list[Document]:
        if kind == REPLICA_SET:
            asked_at.append(world.now)
            if problem is not None:
                raise problem
        return await listed(world.kube, kind, namespace, **more)

    world.kube.list = list_  # type: ignore[method-assign]
    return asked_at


def test_replica_sets_that_may_not_be_listed_are_told_with_what_to_do_and_rarely_asked_for(
    world: OperatedWorld,
) -> None:
    world.notes.replica_sets = None
    problem = Denied("list replicasets of homes: op may not list replicasets.apps. Give its role")
    asked_at = refuse_list(world, problem)
    for _ in range(100):
        world.round()
        assert world.ledger.performed == [], "no roster, while nobody knows who is who"
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "RevisionUnknown")
    assert "may not list replicasets.apps. Give its role" in message
    assert world.condition("Scaling")[:2] == ("Unknown", "RevisionUnknown")
    assert len(asked_at) == 7
    refuse_list(world, None)
    for _ in range(61):
        world.round()
    assert world.condition("Ready")[1] != "RevisionUnknown"
    assert "RevisionUnknown" not in world.notes.troubles


def test_an_api_server_that_is_away_for_a_moment_makes_no_group_unready(
    world: OperatedWorld,
) -> None:
    world.notes.replica_sets = None
    refuse_list(world, Unreachable("list replicasets of homes: no answer"))
    world.round()
    assert world.condition("Ready")[1] != "RevisionUnknown"
    assert world.condition("Scaling")[:2] == ("Unknown", "RevisionUnknown")
