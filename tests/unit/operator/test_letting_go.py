"""A ledger that goes with its group: in time, in whatever order things are taken away."""

from __future__ import annotations

import pytest

from support.operated_world import KEY, NAME, OperatedWorld
from tidegate.model import LeaseState, Presence
from tidegate.ports import Announce, Join, RenewPresence
from tidegate_operator.kinds import SECRET, ObjectName

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
