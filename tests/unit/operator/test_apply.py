"""What stands in the cluster is what the manifests say; what is somebody else's stays as it is."""

from __future__ import annotations

import pytest

from support.applied_world import KEY, RECHECK_S, World
from support.kube_objects import KubeObjects
from tidegate_operator.apply import Outcome
from tidegate_operator.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    SERVICE,
    SERVICE_ACCOUNT,
    Document,
    Kind,
)
from tidegate_operator.kube_errors import Conflict, Invalid, Unreachable


@pytest.fixture
async def world() -> World:
    """A group that stands."""
    made = World()
    await made.apply()
    return made


async def test_all_is_made_and_the_deployment_has_its_replicas_before_it_may_make_pods() -> None:
    world = World()
    outcome = await world.apply(replicas=4)
    assert {name.kind.name for name in outcome.written} == {
        "ServiceAccount",
        "ConfigMap",
        "Service",
        "PodDisruptionBudget",
        "Deployment",
    }
    spec = world.live(DEPLOYMENT)["spec"]
    assert (spec["replicas"], "paused" in spec) == (4, False)


async def test_what_stands_costs_no_request(world: World) -> None:
    assert await world.apply() == Outcome()
    assert world.kube.asked == []


async def test_an_operator_that_starts_anew_looks_and_writes_nothing(world: World) -> None:
    world.start()
    assert await world.apply() == Outcome()
    assert all(asked.startswith("find") for asked in world.kube.asked)


async def test_a_crash_at_birth_is_gone_on_with() -> None:
    world = World()
    births = 0

    async def dies_after_the_first(document: Document) -> Document:
        nonlocal births
        found = await KubeObjects.apply(world.kube, document)
        if document["kind"] == "Deployment":
            births += 1
            raise Unreachable("the operator dies here")
        return found

    world.kube.apply = dies_after_the_first  # type: ignore[method-assign]
    assert len((await world.apply(replicas=5)).refused) == 1
    assert (births, world.live(DEPLOYMENT)["spec"]["paused"]) == (1, True)
    del world.kube.apply
    world.start()
    await world.apply(replicas=5)
    spec = world.live(DEPLOYMENT)["spec"]
    assert (spec["replicas"], "paused" in spec) == (5, False)


async def test_only_what_has_changed_is_written(world: World) -> None:
    world.wanted = {"handler_hash": "new", "handler_config_map": "code"}
    outcome = await world.apply()
    assert outcome.written == (world.name(DEPLOYMENT),)
    assert outcome.repaired == ()


async def test_replicas_are_never_changed_by_applying_the_rest(world: World) -> None:
    for replicas in (7, 0):
        version = world.live(DEPLOYMENT)["metadata"]["resourceVersion"]
        await world.applier.write_replicas(world.name(DEPLOYMENT), replicas, version)
        world.wanted = {"handler_hash": str(replicas), "handler_config_map": "code"}
        assert (await world.apply(replicas=3)).written
        assert world.live(DEPLOYMENT)["spec"]["replicas"] == replicas


async def test_replicas_are_written_only_as_they_were_seen(world: World) -> None:
    version = world.live(DEPLOYMENT)["metadata"]["resourceVersion"]
    await world.applier.write_replicas(world.name(DEPLOYMENT), 5, version)
    with pytest.raises(Conflict):
        await world.applier.write_replicas(world.name(DEPLOYMENT), 2, version)
    assert world.live(DEPLOYMENT)["spec"]["replicas"] == 5


async def test_a_scale_that_comes_in_between_is_kept(world: World) -> None:
    world.wanted = {"handler_hash": "new", "handler_config_map": "code"}
    find = world.kube.find
    seen = 0

    async def and_then_scaled(kind: Kind, namespace: str, name: str) -> Document | None:
        nonlocal seen
        found = await find(kind, namespace, name)
        if kind == DEPLOYMENT and not seen:
            seen += 1
            world.kube.edit(world.name(DEPLOYMENT), {"spec": {"replicas": 9}})
        return found

    world.kube.find = and_then_scaled  # type: ignore[method-assign]
    await world.apply()
    assert seen == 1
    assert world.live(DEPLOYMENT)["spec"]["replicas"] == 9
    assert world.live(DEPLOYMENT)["spec"]["template"] == world.manifests()[-1]["spec"]["template"]


async def test_drift_that_a_watch_tells_of_is_put_right_at_once(world: World) -> None:
    strategy = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
    world.kube.edit(world.name(DEPLOYMENT), strategy)
    outcome = await world.apply()
    assert outcome.repaired == (world.name(DEPLOYMENT),)
    assert world.live(DEPLOYMENT)["spec"]["strategy"]["type"] == "RollingUpdate"


async def test_what_others_add_stays(world: World) -> None:
    name = world.name(DEPLOYMENT)
    world.kube.edit(name, {"metadata": {"annotations": {"restarted.example/at": "now"}}})
    world.kube.edit(name, {"spec": {"minReadySeconds": 5}, "status": {"replicas": 3}})
    assert await world.apply() == Outcome()
    assert world.kube.asked == []
    world.wanted = {"handler_hash": "new", "handler_config_map": "code"}
    await world.apply()
    assert world.live(DEPLOYMENT)["spec"]["minReadySeconds"] == 5
    assert "restarted.example/at" in world.live(DEPLOYMENT)["metadata"]["annotations"]


async def test_drift_that_no_watch_tells_of_is_put_right_in_time(world: World) -> None:
    world.kube.edit(world.name(CONFIG_MAP), {"data": {"group.yaml": "other"}})
    world.kube.take(world.name(SERVICE))
    assert await world.apply() == Outcome()
    world.now += 1.3 * RECHECK_S
    outcome = await world.apply()
    assert {*outcome.repaired} == {world.name(CONFIG_MAP), world.name(SERVICE)}
    assert world.live(CONFIG_MAP)["data"] == {"group.yaml": "kind: ConsumerGroup\n"}


async def test_a_deployment_that_was_deleted_comes_back_with_its_replicas(world: World) -> None:
    world.kube.take(world.name(DEPLOYMENT))
    outcome = await world.apply(replicas=2)
    assert outcome.repaired == (world.name(DEPLOYMENT),)
    assert world.live(DEPLOYMENT)["spec"]["replicas"] == 2


async def test_a_write_that_failed_is_made_again(world: World) -> None:
    world.wanted = {"handler_hash": "new", "handler_config_map": "code"}
    world.kube.fails = away = Unreachable("away")
    assert (await world.apply()).refused == (away,)
    world.now += 1.0
    assert (await world.apply()).written == (world.name(DEPLOYMENT),)


async def test_two_who_change_the_same_field_do_not_write_for_ever(world: World) -> None:
    other = {"spec": {"revisionHistoryLimit": 99}}
    writes, told = 0, ""
    for _ in range(100):
        world.kube.edit(world.name(DEPLOYMENT), other)
        outcome = await world.apply()
        writes += len(outcome.written)
        told = "".join(outcome.contested) or told
        world.now += 1.0
    assert writes <= 6
    assert "Deployment homes/activity is changed back again and again" in told
    world.now += 120.0
    assert (await world.apply()).repaired == (world.name(DEPLOYMENT),)
    # It is said until it has stood for a while, so that it is not said and unsaid by turns.
    assert (await world.apply()).contested != ()
    world.now += 61.0
    assert await world.apply() == Outcome()
    assert (await world.apply()).contested == ()


async def test_what_the_api_writes_in_another_way_is_no_drift(world: World) -> None:
    """It writes 1024Mi as 1Gi: once after a start it is applied for nothing, and then it stands."""
    template = {"spec": {"containers": [{"name": "consumer", "image": "as-sent"}]}}
    world.wanted = {"template": template}
    apply = world.kube.apply

    async def in_its_own_way(document: Document) -> Document:
        found = await apply(document)
        if document["kind"] == "Deployment":
            (consumer,) = found["spec"]["template"]["spec"]["containers"]
            consumer["image"] = "as-kept"
            found = world.kube.edit(world.name(DEPLOYMENT), {"spec": found["spec"]})
        return found

    world.kube.apply = in_its_own_way  # type: ignore[method-assign]
    await world.apply()
    for _ in range(3):
        assert await world.apply() == Outcome()
    world.start()
    assert (await world.apply()).repaired == ()
    assert await world.apply() == Outcome()
    assert world.kube.asked == []


async def test_a_group_that_is_forgotten_is_looked_at_again(world: World) -> None:
    world.applier.forget(KEY)
    assert await world.apply() == Outcome()
    assert len(world.kube.asked) == 5


# --- what is refused


class Refusing:
    """An API that does not take some kinds."""

    def __init__(self, world: World, *kinds: Kind) -> None:
        self.kinds = {kind.name for kind in kinds}
        self.tried: list[str] = []
        self._apply = world.kube.apply
        world.kube.apply = self.apply  # type: ignore[method-assign]

    async def apply(self, document: Document) -> Document:
        self.tried.append(document["kind"])
        if document["kind"] in self.kinds:
            raise Invalid(f"apply {document['kind']}: a webhook does not like it")
        return await self._apply(document)


@pytest.mark.parametrize("kind", [SERVICE, DISRUPTION_BUDGET])
async def test_what_pods_start_without_does_not_hold_them_up(kind: Kind) -> None:
    world = World()
    refusing = Refusing(world, kind)
    outcome = await world.apply(replicas=4)
    assert [str(problem) for problem in outcome.refused] == [
        f"apply {kind.name}: a webhook does not like it"
    ]
    assert len(outcome.written) == 4 and world.live(DEPLOYMENT)["spec"]["replicas"] == 4
    assert (await world.apply()).refused == outcome.refused, "it goes on being told"
    assert refusing.tried.count(kind.name) == 1, "and is tried again later"
    refusing.kinds.clear()
    world.now += 1.0
    assert (await world.apply()).written == (world.name(kind),)


@pytest.mark.parametrize("kind", [SERVICE_ACCOUNT, CONFIG_MAP])
async def test_pods_are_not_made_before_what_they_need_and_the_rest_is(kind: Kind) -> None:
    world = World()
    refusing = Refusing(world, kind)
    outcome = await world.apply()
    assert len(outcome.refused) == 1 and len(outcome.written) == 3
    assert world.name(DEPLOYMENT) not in world.kube.objects
    refusing.kinds.clear()
    world.now += 1.0
    assert {*(await world.apply()).written} == {world.name(kind), world.name(DEPLOYMENT)}


async def test_each_refusal_is_told() -> None:
    world = World()
    Refusing(world, CONFIG_MAP, SERVICE, DISRUPTION_BUDGET)
    assert len((await world.apply()).refused) == 3


async def test_what_pods_may_still_use_is_not_removed_before_they_are_made_anew(
    world: World,
) -> None:
    refusing = Refusing(world, DEPLOYMENT)
    world.wanted = {"service_account": "mine"}
    await world.apply()
    assert world.name(SERVICE_ACCOUNT) in world.kube.objects
    refusing.kinds = {SERVICE.name}
    world.kube.take(world.name(SERVICE))
    world.applier.forget(KEY)
    outcome = await world.apply()
    assert outcome.removed == (world.name(SERVICE_ACCOUNT),) and len(outcome.refused) == 1
    world.kube.asked.clear()
    await world.apply()
    assert not [each for each in world.kube.asked if each.startswith("metadata")]
