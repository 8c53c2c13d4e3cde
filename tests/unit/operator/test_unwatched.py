"""What was made for groups and is not watched is noticed soon, with few requests."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from support import virtual_time
from support.applied_world import KEY, RECHECK_S, World
from tidegate_operator.apply import Outcome
from tidegate_operator.kinds import (
    CONFIG_MAP,
    DISRUPTION_BUDGET,
    SERVICE,
    SERVICE_ACCOUNT,
    Document,
    Kind,
)
from tidegate_operator.kube import Kube
from tidegate_operator.kube_errors import Denied
from tidegate_operator.model import GroupKey
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.unwatched import KINDS, Unwatched

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")


class Listed:
    """Lists what is in the world's cluster, as the API does it: metadata alone, in a namespace."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[tuple[Kind, str | None]] = []
        self.fails: Exception | None = None
        self.woken: list[GroupKey] = []
        self.unwatched = self.with_settings(SETTINGS)

    def with_settings(self, settings: OperatorSettings) -> Unwatched:
        kube = cast(Kube, self)
        return Unwatched(kube, settings, self.world.applier, self.woken.append)

    async def list(self, kind: Kind, namespace: str | None, **_: Any) -> list[Document]:
        self.asked.append((kind, namespace))
        if self.fails is not None:
            raise self.fails
        return [
            {"metadata": found["metadata"]}
            for name, found in self.world.kube.objects.items()
            if name.kind == kind and namespace in {None, name.namespace}
        ]


@pytest.fixture
async def listed() -> Listed:
    """A group that stands."""
    world = World()
    await world.apply()
    return Listed(world)


async def test_what_stands_wakes_nobody_and_is_not_looked_at_one_by_one(listed: Listed) -> None:
    world = listed.world
    for _ in range(20):
        world.now += RECHECK_S / 2
        await listed.unwatched.look()
        assert await world.apply() == Outcome()
        assert world.kube.asked == []
    assert listed.woken == []
    assert listed.asked[:4] == [(kind, None) for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_what_was_deleted_comes_back_with_the_next_look(listed: Listed, kind: Kind) -> None:
    world = listed.world
    world.kube.take(world.name(kind))
    assert await world.apply() == Outcome()
    await listed.unwatched.look()
    assert listed.woken == [KEY]
    assert (await world.apply()).repaired == (world.name(kind),)
    await listed.unwatched.look()
    assert listed.woken == [KEY]


async def test_what_was_changed_is_put_right_and_what_others_add_costs_one_look(
    listed: Listed,
) -> None:
    world = listed.world
    world.kube.edit(world.name(CONFIG_MAP), {"data": {"group.yaml": "other"}})
    world.kube.edit(world.name(DISRUPTION_BUDGET), {"status": {"currentHealthy": 3}})
    await listed.unwatched.look()
    assert listed.woken == [KEY, KEY]
    outcome = await world.apply()
    assert outcome.repaired == (world.name(CONFIG_MAP),)
    assert world.kube.asked.count("find PodDisruptionBudget") == 1
    await listed.unwatched.look()
    assert await world.apply() == Outcome()
    assert world.kube.asked == []


async def test_what_somebody_changes_back_again_and_again_is_not_looked_at_more_often(
    listed: Listed,
) -> None:
    world = listed.world
    writes = 0
    for _ in range(60):
        world.kube.edit(world.name(SERVICE), {"spec": {"clusterIP": "10.0.0.1"}})
        await listed.unwatched.look()
        writes += len((await world.apply()).written)
        world.now += 1.0
    assert writes <= 4


async def test_what_was_refused_is_tried_at_once_where_the_object_has_changed(
    listed: Listed,
) -> None:
    world, tries = listed.world, 0

    async def refuses(document: Document) -> Document:
        nonlocal tries
        tries += 1
        raise Denied("apply ConfigMap homes/activity-group: may not")

    world.kube.apply = refuses  # type: ignore[method-assign]
    world.kube.edit(world.name(CONFIG_MAP), {"data": {"group.yaml": "other"}})
    for _ in range(4):
        await listed.unwatched.look()
        assert len((await world.apply()).refused) == 1
    assert tries == 1, "it pauses, as long as nothing happens to it"
    listed.woken.clear()
    world.kube.edit(world.name(CONFIG_MAP), {"data": {"group.yaml": "another"}})
    await listed.unwatched.look()
    assert listed.woken == [KEY]
    assert len((await world.apply()).refused) == 1
    assert tries == 2


async def test_what_may_not_be_listed_is_looked_at_one_by_one(
    listed: Listed, caplog: pytest.LogCaptureFixture
) -> None:
    world = listed.world
    listed.fails = Denied("list configmaps of all namespaces: tidegate may not list configmaps")
    world.kube.take(world.name(SERVICE_ACCOUNT))
    for _ in range(3):
        await listed.unwatched.look()
    assert len(caplog.messages) == 1
    world.now += 1.3 * RECHECK_S
    assert (await world.apply()).repaired == (world.name(SERVICE_ACCOUNT),)


async def test_only_the_namespaces_that_are_watched_are_listed(listed: Listed) -> None:
    settings = replace(SETTINGS, namespaces=("homes", "farms"))
    await listed.with_settings(settings).look()
    assert {where for _, where in listed.asked} == {"homes", "farms"}
    assert listed.woken == []


def test_it_looks_twice_a_minute() -> None:
    async def course() -> None:
        world = World()
        await world.apply()
        listed = Listed(world)
        running = asyncio.create_task(listed.unwatched.run())
        await asyncio.sleep(61.0)
        running.cancel()
        await asyncio.wait([running])
        assert len(listed.asked) == 2 * len(KINDS)

    virtual_time.run(course())
