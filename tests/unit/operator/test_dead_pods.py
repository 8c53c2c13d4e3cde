"""The leases of the dead are broken whatever else goes on: news that come together, an API server
that does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from support import virtual_time
from support.operated_world import KEY, NAME, WORKLOAD, OperatedWorld
from tidegate.ledger.memory import MemoryLedger
from tidegate.model import LeaseState, Owner, Presence
from tidegate.ports import Acquire, Announce, Break, CreateOwnership, Join, WriteOwnership
from tidegate_operator.kinds import (
    CONSUMER_GROUP,
    POD,
    REPLICA_SET,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.kube_errors import Unreachable
from tidegate_operator.reconcile import reconcile

LABELS = {"tidegate.dev/group": KEY.name, "pod-template-hash": "7d9"}
NUMBER = "deployment.kubernetes.io/revision"
NAMES = ("home-1", "home-2", "home-3")
# When the containers did.
BEGAN = 999_900.0


@pytest.fixture
def world() -> OperatedWorld:
    """A group of three pods that read, under an operator that has nothing left to do."""
    world = OperatedWorld()
    world.put_secret()
    world.create(scaling={"min": 1, "max": 4}, replicas=3)
    world.settle()
    assert world.deployment is not None
    uid = world.deployment["metadata"]["uid"]
    world.kube.edit(WORKLOAD, {"metadata": {"annotations": {NUMBER: "1"}}})
    put(world, REPLICA_SET, "home-7d9", uid, annotations={NUMBER: "1"})
    made_by = world.kube.objects[place(REPLICA_SET, "home-7d9")]["metadata"]["uid"]
    for partition, name in enumerate(NAMES):
        put(world, POD, name, made_by, status=status_of(world, running=True))
        join(world, name, str(partition))
    world.settle()
    return world


def place(kind: Kind, name: str) -> ObjectName:
    return ObjectName(kind, KEY.namespace, name)


def put(
    world: OperatedWorld, kind: Kind, name: str, owner: str, *,
    status: Mapping[str, Any] | None = None, annotations: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    owners = [{"kind": "any", "name": "any", "uid": owner, "controller": True}]
    metadata = {
        "namespace": KEY.namespace, "name": name, "labels": LABELS, "ownerReferences": owners,
        "annotations": dict(annotations or {}),
    }  # fmt: skip
    made = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
    world.kube.put(made | ({"status": dict(status)} if status is not None else {}))


def at(moment: float) -> str:
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(world: OperatedWorld, *, running: bool, phase: str = "Running") -> Document:
    began = {"startedAt": at(BEGAN)}
    ended = {**began, "finishedAt": at(world.now), "exitCode": 137, "reason": "Error"}
    state = {"running": began} if running else {"terminated": ended}
    container = {"name": "consumer", "state": state, "restartCount": 0}
    conditions = [{"type": "Ready", "status": str(running)}]
    return {"phase": phase, "conditions": conditions, "containerStatuses": [container]}


def join(world: OperatedWorld, name: str, partition: str) -> None:
    """A member that owns the partition."""
    memory: MemoryLedger = world.ledger.memory
    uid = world.kube.objects[place(POD, name)]["metadata"]["uid"]
    said = Presence(name, "", LeaseState.LEASED, "life", pod_uid=uid, started_at=BEGAN + 1)
    memory.perform_at(Join(name, f"p-{name}"), world.now)
    memory.perform_at(Announce(said, f"p-{name}"), world.now)
    etag = str(memory.perform_at(CreateOwnership(partition), world.now))
    memory.perform_at(Acquire(partition, f"l-{name}", etag), world.now)
    written = WriteOwnership(partition, f"l-{name}", etag, Owner(name, "life"), 1, "n")
    memory.perform_at(written, world.now)


def broken(world: OperatedWorld) -> set[str]:
    return {each.partition for each in world.ledger.performed if isinstance(each, Break)}


def end(world: OperatedWorld, name: str, *, deleting: bool) -> None:
    """The kubelet says that its container has ended."""
    changes: Document = {"status": status_of(world, running=False, phase="Failed")}
    if deleting:
        # Kept until it is taken away, as by a kubelet that has not let go of it yet.
        marks = {"deletionTimestamp": at(world.now), "finalizers": ["kubelet"]}
        changes = {"metadata": marks, "status": status_of(world, running=False)}
    world.kube.edit(place(POD, name), changes)


def test_a_pod_whose_end_is_told_has_its_leases_broken(world: OperatedWorld) -> None:
    end(world, "home-1", deleting=True)
    world.round()
    assert broken(world) == {"0"}


def test_a_pod_that_is_gone_before_anybody_looked_has_its_leases_broken(
    world: OperatedWorld,
) -> None:
    """Its end and its deletion come together, as after an API server that was silent."""
    end(world, "home-1", deleting=True)
    world.kube.take(place(POD, "home-1"))
    world.round()
    assert broken(world) == {"0"}


def test_a_deletion_itself_says_how_the_pod_ended(world: OperatedWorld) -> None:
    name = place(POD, "home-1")
    last = {**world.kube.objects[name], "status": status_of(world, running=False, phase="Failed")}
    world.cache.hear(POD, last, is_gone=True)
    world.round()
    assert broken(world) == {"0"}


def test_a_pod_that_was_running_when_it_vanished_keeps_its_leases(world: OperatedWorld) -> None:
    world.kube.take(place(POD, "home-1"))
    world.round()
    assert broken(world) == set()


def test_a_break_that_storage_refuses_is_tried_again_although_the_pod_is_gone(
    world: OperatedWorld,
) -> None:
    end(world, "home-1", deleting=True)
    world.kube.take(place(POD, "home-1"))
    world.ledger.meanwhile = world.cut_off_storage
    world.round()
    world.ledger.problem = None
    world.round()
    assert broken(world) == {"0"}


def test_leases_are_broken_although_the_api_server_does_not_answer(
    world: OperatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods are to be marked in the same round, and the group is to get our finalizer."""
    asked: list[tuple[Kind, bool]] = []

    async def hangs(kind: Kind, *_: Any, **__: Any) -> Document:
        asked.append((kind, bool(broken(world))))
        await asyncio.sleep(10.0)
        raise Unreachable("no answer within 10 s")

    async def course() -> float:
        began = virtual_time.now()
        round_ = asyncio.create_task(reconcile(world.edges, KEY, world.notes))
        while not broken(world):
            assert not round_.done(), "the round has ended"
            await asyncio.sleep(0.1)
        took_s = virtual_time.now() - began
        await round_
        return took_s

    monkeypatch.setattr(world.kube, "patch", hangs)
    end(world, "home-1", deleting=False)
    world.kube.edit(NAME, {"spec": {"replicas": 1, "ledger": {"onDelete": "Delete"}}})
    world.now += 1.0
    world.ledger.performed.clear()
    assert virtual_time.run(course()) < 3.0
    assert broken(world) == {"0"}
    assert (POD, False) in asked and (CONSUMER_GROUP, True) in asked
