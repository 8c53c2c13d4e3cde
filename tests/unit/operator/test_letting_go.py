"""A ledger that goes with its group: in time, in whatever order things are taken away."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from support.operated_world import KEY, NAME, WORKLOAD, OperatedWorld
from tidegate.model import LeaseState, Presence
from tidegate.ports import Announce, Join, RenewPresence
from tidegate_operator.freshness import FINALIZER
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, SECRET, Document, Kind, ObjectName
from tidegate_operator.kube_errors import Denied, Invalid, KubeError, Unreachable

_AT_MOST_S = 900


@pytest.fixture
def world() -> OperatedWorld:
    """A group that says onDelete: Delete, stands, and is being deleted."""
    world = OperatedWorld()
    world.put_secret()
    world.create(delivery={"timeoutSeconds": 300})
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Delete"}}})
    for _ in range(5):
        world.round()
    world.delete()
    return world


def until_gone(world: OperatedWorld) -> float:
    """How long it takes."""
    began = world.now
    while world.group is not None:
        world.round()
        assert world.now - began < _AT_MOST_S
    return world.now - began


def test_a_namespace_that_takes_the_secret_first_does_not_keep_the_ledger(
    world: OperatedWorld,
) -> None:
    world.kube.take(ObjectName(SECRET, KEY.namespace, "azure"))
    world.round(after_s=60.0)
    until_gone(world)
    assert world.ledger.erased == 1 and "LedgerErased" in world.events()


def test_who_thinks_better_of_it_keeps_the_ledger(world: OperatedWorld) -> None:
    world.ledger.left = 1
    world.round()
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Keep"}}})
    until_gone(world)
    assert world.ledger.erased == 0 and "LedgerErased" not in world.events()


def test_the_leases_of_pods_that_were_killed_late_are_waited_for(world: OperatedWorld) -> None:
    memory = world.ledger.memory
    memory.perform_at(Join("m0", "lease"), world.now)
    memory.perform_at(Announce(Presence("m0", "", LeaseState.LEASED, "life"), "lease"), world.now)
    world.ledger.left = 2
    began = world.now
    while world.now - began < 200.0:
        world.round()
        memory.perform_at(RenewPresence("m0", "lease"), world.now)
    assert world.group is not None
    world.ledger.left = 0
    until_gone(world)
    assert world.ledger.erased == 1


def test_a_ledger_that_can_never_be_removed_does_not_hold_its_group_for_long(
    world: OperatedWorld,
) -> None:
    world.cut_off_storage()
    assert until_gone(world) < 150.0
    assert "LedgerLeft" in world.events()


# --- what the API refuses

DENIED = Denied("change ConsumerGroup homes/activity: op may not patch consumergroups. Give it.")
INVALID = Invalid("change ConsumerGroup homes/activity: a webhook does not like finalizers")


class Refusing:
    """An API that takes no finalizer, or does not end Deployments."""

    def __init__(self, world: OperatedWorld, problem: KubeError, kind: Kind = CONSUMER_GROUP):
        self.problem: KubeError | None = problem
        self.tried_at: list[float] = []
        self._world = world
        self._kind = kind
        self._patch, self._delete = world.kube.patch, world.kube.delete
        world.kube.patch, world.kube.delete = self.patch, self.delete  # type: ignore[method-assign]

    async def patch(self, kind: Kind, *rest: Any, **fences: Any) -> Document:
        self._try(kind)
        return await self._patch(kind, *rest, **fences)

    async def delete(self, kind: Kind, *rest: Any, **fences: Any) -> bool:
        self._try(kind)
        return await self._delete(kind, *rest, **fences)

    def _try(self, kind: Kind) -> None:
        if kind == self._kind:
            self.tried_at.append(self._world.now)
            if self.problem is not None:
                raise self.problem


def made() -> OperatedWorld:
    """A group that says onDelete: Delete, and that nobody has looked at yet."""
    world = OperatedWorld()
    world.put_secret()
    world.create(replicas=2)
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Delete"}}})
    return world


@pytest.mark.parametrize(("problem", "reason"), [(DENIED, "Denied"), (INVALID, "Refused")])
def test_a_finalizer_that_is_refused_is_told_tried_less_and_less_often_and_holds_up_no_pod(
    problem: KubeError, reason: str
) -> None:
    world = made()
    refusing = Refusing(world, problem)
    for _ in range(70):
        world.round()
        truth, said, message = world.condition("Ready")
        assert (truth, said) == ("False", reason)
        assert f"The finalizer {FINALIZER} cannot be written, so the ledger would stay" in message
        assert str(problem).rstrip(".") in message
    assert world.deployment is not None and world.deployment["spec"]["replicas"] == 2
    gaps = [later - earlier for earlier, later in pairwise(refusing.tried_at)]
    assert gaps == [1, 2, 4, 8, 16, 32]
    refusing.problem = None
    for _ in range(61):
        world.round()
    assert world.group is not None and world.group["metadata"]["finalizers"] == [FINALIZER]
    assert "finalizer" not in world.condition("Ready")[2]


def test_who_changes_the_group_has_its_finalizer_tried_at_once() -> None:
    world = made()
    refusing = Refusing(world, INVALID)
    for _ in range(40):
        world.round()
    tried = len(refusing.tried_at)
    world.kube.edit(NAME, {"spec": {"replicas": 3}})
    world.round()
    assert len(refusing.tried_at) == tried + 1


def test_an_api_that_does_not_answer_for_a_moment_makes_no_group_unready_by_its_finalizer() -> None:
    world = made()
    Refusing(world, Unreachable("change ConsumerGroup homes/activity: a webhook does not answer"))
    world.round()
    assert world.condition("Ready")[1] in ("NoPods", "KubernetesUnreachable")
    assert world.deployment is not None


def test_a_group_that_is_deleted_before_its_finalizer_stands_leaves_its_ledger() -> None:
    world = made()
    Refusing(world, DENIED)
    world.settle()
    world.delete()
    assert world.group is None and world.round().is_over
    assert world.ledger.erased == 0


def test_a_finalizer_that_cannot_be_taken_away_is_told_and_the_ledger_is_removed_once(
    world: OperatedWorld,
) -> None:
    refusing = Refusing(world, INVALID)
    for _ in range(100):
        world.round()
    assert world.group is not None, "only who refuses it can keep it"
    assert world.ledger.erased == 1 and world.events().count("LedgerErased") == 1
    assert [later - earlier for earlier, later in pairwise(refusing.tried_at)] == [
        1, 2, 4, 8, 16, 32,
    ]  # fmt: skip
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "Deleting")
    assert f"The finalizer {FINALIZER} cannot be taken away" in message
    assert "let the rule that refuses it admit finalizers" in message
    refusing.problem = None
    until_gone(world)


def test_pods_that_cannot_be_ended_are_told_and_do_not_hold_their_group_for_ever(
    world: OperatedWorld,
) -> None:
    refusing = Refusing(world, Denied("delete Deployment: op may not delete"), DEPLOYMENT)
    world.round()
    assert "Its pods cannot be ended: delete Deployment: op may not" in world.condition("Ready")[2]
    # A clean stop of its handlers may take five minutes.
    assert until_gone(world) < 600.0
    assert world.ledger.erased == 0 and world.events().count("LedgerLeft") == 1
    assert len(refusing.tried_at) < 20
    assert WORKLOAD in world.kube.objects, "Kubernetes removes it with its owner"


def test_a_finalizer_that_was_refused_before_keeps_no_ledger_from_being_removed() -> None:
    """Somebody thinks better of it twice."""
    world = made()
    world.settle()
    refusing = Refusing(world, DENIED)
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Keep"}}})
    world.settle()
    assert "cannot be taken away" in world.condition("Ready")[2]
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Delete"}}})
    world.delete()
    refusing.problem = None
    until_gone(world)
    assert world.ledger.erased == 1
