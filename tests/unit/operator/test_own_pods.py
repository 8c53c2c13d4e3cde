"""Whose pods count: those that the group's Deployment has made, whatever labels others carry."""

from __future__ import annotations

from typing import Any

import pytest

from support.operated_world import KEY, WORKLOAD, OperatedWorld
from tidegate.model import LeaseState, Presence
from tidegate.ports import Announce, Join, WriteRoster
from tidegate_operator.kinds import POD, REPLICA_SET, ObjectName
from tidegate_operator.kube_errors import Unreachable

LABELS = {"tidegate.dev/group": KEY.name}
NUMBER = "deployment.kubernetes.io/revision"


@pytest.fixture
def world() -> OperatedWorld:
    """A group of two, with a ReplicaSet at its first revision and both its pods."""
    world = OperatedWorld()
    world.put_secret()
    world.create(scaling={"min": 2, "max": 4})
    for _ in range(3):
        world.round()
    world.kube.edit(WORKLOAD, {"metadata": {"annotations": {NUMBER: "1"}}})
    made_by = replica_set(world, "7d9", "1")
    for name in ("home-1", "home-2"):
        put_pod(world, name, "7d9", made_by)
        join(world, name)
    for _ in range(3):
        world.round()
    return world


def controlled_by(uid: str) -> list[dict[str, Any]]:
    return [{"kind": "any", "name": "any", "uid": uid, "controller": True}]


def replica_set(world: OperatedWorld, revision: str, number: str, owner: str = "") -> str:
    """Of the group's Deployment, unless it is said whose; its uid."""
    assert world.deployment is not None
    name = ObjectName(REPLICA_SET, KEY.namespace, f"{KEY.name}-{revision}")
    world.kube.put(
        {
            "apiVersion": REPLICA_SET.api_version,
            "kind": REPLICA_SET.name,
            "metadata": {
                "namespace": name.namespace,
                "name": name.name,
                "labels": {**LABELS, "pod-template-hash": revision},
                "annotations": {NUMBER: number},
                "ownerReferences": controlled_by(owner or world.deployment["metadata"]["uid"]),
            },
        }
    )
    return str(world.kube.objects[name]["metadata"]["uid"])


def put_pod(world: OperatedWorld, name: str, revision: str, made_by: str = "") -> None:
    world.kube.put(
        {
            "apiVersion": POD.api_version,
            "kind": POD.name,
            "metadata": {
                "namespace": KEY.namespace,
                "name": name,
                "labels": {**LABELS, "pod-template-hash": revision},
                "ownerReferences": controlled_by(made_by) if made_by else [],
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
    )


def join(world: OperatedWorld, name: str) -> None:
    memory, lease = world.ledger.memory, f"lease-{name}"
    memory.perform_at(Join(name, lease), world.now)
    memory.perform_at(Announce(Presence(name, "", LeaseState.LEASED, "life"), lease), world.now)


def seen_pods(world: OperatedWorld) -> set[str]:
    assert world.notes.seen is not None
    return {pod.name for pod in world.notes.seen.observation.pods}


def written_on(world: OperatedWorld, name: str) -> dict[str, str]:
    found = world.kube.objects[ObjectName(POD, KEY.namespace, name)]["metadata"]
    return dict(found.get("annotations") or {})


def test_a_strangers_pod_with_the_groups_labels_is_no_members_and_is_never_marked(
    world: OperatedWorld,
) -> None:
    assert seen_pods(world) == {"home-1", "home-2"}
    strange = replica_set(world, "8ee", "2", owner="somebody-else")
    put_pod(world, "stranger", "8ee", strange)
    put_pod(world, "loner", "7d9")
    for _ in range(5):
        world.round()
        assert not [each for each in world.kube.written if each.startswith("patch Pod")]
        assert world.ledger.performed == [], "nobody is told of them"
    assert seen_pods(world) == {"home-1", "home-2"}
    assert written_on(world, "stranger") == written_on(world, "loner") == {}


def test_a_strangers_pod_costs_one_listing_of_replica_sets(world: OperatedWorld) -> None:
    put_pod(world, "stranger", "8ee", "nobody-knows")
    listed = 0
    listing = world.kube.list

    async def counting(kind: Any, *args: Any, **how: Any) -> Any:
        nonlocal listed
        listed += kind == REPLICA_SET
        return await listing(kind, *args, **how)

    world.kube.list = counting  # type: ignore[method-assign]
    for _ in range(5):
        world.round()
    assert listed == 1


def test_a_new_revisions_pod_is_known_before_the_deployment_says_its_revision(
    world: OperatedWorld,
) -> None:
    """Taken for an old one, the new pod would be told to leave at once."""
    put_pod(world, "home-3", "9ff", replica_set(world, "9ff", "2"))
    world.round()
    assert seen_pods(world) == {"home-1", "home-2", "home-3"}
    (write,) = world.ledger.performed
    assert isinstance(write, WriteRoster)
    assert "home-3" in write.roster.expected
    assert len(write.roster.leaving) == 1


def test_whom_kubernetes_shall_end_is_marked_before_it_is_told(world: OperatedWorld) -> None:
    put_pod(world, "home-3", "9ff", replica_set(world, "9ff", "2"))
    marked: list[dict[str, str]] = []

    def look() -> None:
        marked.extend(written_on(world, name) for name in ("home-1", "home-2"))

    world.ledger.meanwhile = look
    world.round()
    assert sorted(map(len, marked)) == [0, 1], "one of them, as the roster is written"


def test_while_replica_sets_cannot_be_listed_nobody_is_told_to_leave(
    world: OperatedWorld,
) -> None:
    new = replica_set(world, "9ff", "2")

    async def refused(*_: Any, **__: Any) -> Any:
        raise Unreachable("no answer")

    listing, world.kube.list = world.kube.list, refused  # type: ignore[method-assign]
    put_pod(world, "home-3", "9ff", new)
    for _ in range(3):
        world.round()
        assert world.ledger.performed == []
    world.kube.list = listing  # type: ignore[method-assign]
    world.round()
    assert [type(each) for each in world.ledger.performed] == [WriteRoster]
