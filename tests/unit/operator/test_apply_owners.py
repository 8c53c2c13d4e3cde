"""Only what is the group's is written and removed; whose something is, its owner says."""

from __future__ import annotations

import pytest

from support.applied_world import World
from tidegate_operator.apply import NameTaken
from tidegate_operator.kinds import DEPLOYMENT, SERVICE_ACCOUNT


@pytest.fixture
async def world() -> World:
    """A group that stands."""
    made = World()
    await made.apply()
    return made


async def taken(world: World) -> str:
    """What is said of names that are taken."""
    refused = (await world.apply()).refused
    assert refused and all(isinstance(problem, NameTaken) for problem in refused)
    return "; ".join(map(str, refused))


async def test_what_is_no_longer_wanted_is_removed(world: World) -> None:
    world.wanted = {"service_account": "mine"}
    outcome = await world.apply()
    assert outcome.removed == (world.name(SERVICE_ACCOUNT),)
    assert world.name(SERVICE_ACCOUNT) not in world.kube.objects
    assert (await world.apply()).removed == ()


async def test_what_is_somebody_elses_is_neither_removed_nor_written() -> None:
    world = World()
    metadata = {"namespace": "homes", "name": "activity"}
    theirs = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    world.kube.put(theirs)
    world.wanted = {"service_account": "activity"}
    await world.apply()
    world.wanted = {}
    assert "ServiceAccount homes/activity belongs to somebody else" in await taken(world)
    assert "labels" not in world.live(SERVICE_ACCOUNT)["metadata"]


async def test_what_another_controller_owns_is_said_to_be_its() -> None:
    world = World()
    owner = {"kind": "Shop", "name": "s", "uid": "x", "controller": True}
    metadata = {"namespace": "homes", "name": "activity", "ownerReferences": [owner]}
    world.kube.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata})
    assert "belongs to Shop s" in await taken(world)


async def test_a_group_that_is_made_anew_waits_for_the_old_ones_objects(world: World) -> None:
    world.uid = "group-2"
    world.start()
    assert "an earlier group of this name" in await taken(world)
    for name in [*world.kube.objects]:
        world.kube.take(name)
    world.now += 1.0
    assert len((await world.apply()).written) == 5


async def test_orphans_of_an_earlier_group_are_taken_on(world: World) -> None:
    for name in [*world.kube.objects]:
        world.kube.edit(name, {"metadata": {"ownerReferences": None}})
    world.uid = "group-2"
    world.start()
    assert len((await world.apply()).written) == 5
    (owner,) = world.live(DEPLOYMENT)["metadata"]["ownerReferences"]
    assert owner["uid"] == "group-2"
