"""A group's objects on a real API server: how they are born, kept right, fenced and removed.

A bare control plane will do: its controllers make pods, and nothing runs them.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.applied_group import RECHECK_S, SOON, Group, applied_group
from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from support.wait import wait_until
from tidegate_operator.apply import NameTaken, Outcome
from tidegate_operator.kinds import (
    CONFIG_MAP,
    CONSUMER_GROUP,
    DEPLOYMENT,
    SERVICE,
    SERVICE_ACCOUNT,
)
from tidegate_operator.kube import Kube, connect
from tidegate_operator.kube_errors import Conflict, Invalid


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane that knows ConsumerGroups."""
    with control_plane_with_groups(
        kube_programs, tmp_path_factory.mktemp("apply") / "state"
    ) as api:
        yield api


@pytest.fixture
def inside(api: Kubectl) -> Iterator[Kubectl]:
    """A namespace in which only restricted pods are let in."""
    with api.new_namespace("apply") as kubectl:
        yield kubectl


@pytest.fixture
async def kube(api: Kubectl) -> AsyncIterator[Kube]:
    client = connect(kubeconfig=str(api.kubeconfig))
    yield client
    await client.close()


@pytest.fixture
def group(inside: Kubectl, kube: Kube) -> Group:
    return applied_group(inside, kube)


async def test_a_groups_objects_are_made_and_its_pods_pass_the_restricted_standard(
    group: Group,
) -> None:
    outcome = await group.apply(replicas=3)
    assert len(outcome.written) == 5
    await group.until_pods(3)
    pods = group.pods()
    assert all(pod["metadata"]["labels"]["tidegate.dev/group"] == "activity" for pod in pods)
    told = group.inside.said("get", "events")
    assert "violates" not in told, told


async def test_no_pod_is_ever_made_of_a_group_that_begins_with_none(group: Group) -> None:
    await group.apply(replicas=0)

    def is_seen() -> bool:
        found = group.live(DEPLOYMENT)
        return bool(
            found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
            and "deployment.kubernetes.io/revision" in found["metadata"].get("annotations", {})
        )

    wait_until(is_seen, SOON, "the controller to have made the ReplicaSet", group.told)
    assert group.pods() == []
    assert "SuccessfulCreate" not in group.inside.said("get", "events")


async def test_what_stands_is_not_written_again_not_even_by_an_operator_that_starts_anew(
    group: Group,
) -> None:
    await group.apply()
    versions = group.versions()
    assert await group.apply() == Outcome()
    group.start()
    await group.apply()  # the memory limit reads otherwise than it was sent: applied for nothing
    assert await group.apply() == Outcome()
    group.now += 2 * RECHECK_S
    assert await group.apply() == Outcome()
    assert group.versions() == versions


async def test_replicas_are_our_own_and_are_written_only_as_they_were_seen(group: Group) -> None:
    await group.apply(replicas=2)
    version = group.live(DEPLOYMENT)["metadata"]["resourceVersion"]
    group.inside.said("scale", "deployment/activity", "--replicas=4")
    with pytest.raises(Conflict):
        await group.applier.write_replicas(group.name(DEPLOYMENT), 1, version)
    group.want(handler_hash="2")
    await group.apply(replicas=2)
    assert group.live(DEPLOYMENT)["spec"]["replicas"] == 4
    version = group.live(DEPLOYMENT)["metadata"]["resourceVersion"]
    # The controllers write its status meanwhile; who sees a newer one tries again.
    for _ in range(20):
        try:
            await group.applier.write_replicas(group.name(DEPLOYMENT), 0, version)
            break
        except Conflict:
            version = group.live(DEPLOYMENT)["metadata"]["resourceVersion"]
    group.want(handler_hash="3")
    await group.apply(replicas=2)
    assert group.live(DEPLOYMENT)["spec"]["replicas"] == 0


async def test_a_rollout_while_the_controllers_write_the_status_gets_through(group: Group) -> None:
    await group.apply(replicas=5)
    for number in range(10):
        group.want(handler_hash=f"round-{number}")
        assert group.name(DEPLOYMENT) in (await group.apply()).written
    template = group.live(DEPLOYMENT)["spec"]["template"]
    assert template["metadata"]["annotations"]["tidegate.dev/handler-hash"] == "round-9"


async def test_drift_is_put_right_and_what_others_add_stays(group: Group) -> None:
    await group.apply()
    group.inside.said("rollout", "restart", "deployment/activity")
    group.inside.said("set", "env", "deployment/activity", "THEIRS=1", "LEVEL=9")
    outcome = await group.apply()
    assert outcome.repaired == (group.name(DEPLOYMENT),)
    template = group.live(DEPLOYMENT)["spec"]["template"]
    (consumer,) = template["spec"]["containers"]
    env = {item["name"]: item.get("value") for item in consumer["env"]}
    assert (env["LEVEL"], env["THEIRS"]) == ("1", "1")
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


async def test_what_nobody_watches_comes_back_when_it_is_deleted_or_changed(group: Group) -> None:
    await group.apply()
    group.inside.said("delete", "service", "activity")
    changed = json.dumps({"data": {"group.yaml": "other"}})
    group.inside.said("patch", "configmap", "activity-group", "-p", changed)
    group.now += 2 * RECHECK_S
    outcome = await group.apply()
    assert {*outcome.repaired} == {group.name(SERVICE), group.name(CONFIG_MAP)}
    assert group.live(CONFIG_MAP)["data"] == {"group.yaml": "kind: ConsumerGroup\n"}


async def test_a_field_that_is_no_longer_wanted_is_gone(group: Group) -> None:
    await group.apply()
    group.want(template={}, handler_config_map=None)
    group.start()
    await group.apply()
    spec = group.live(DEPLOYMENT)["spec"]["template"]["spec"]
    (consumer,) = spec["containers"]
    assert "LEVEL" not in {item["name"] for item in consumer["env"]}
    (projected,) = [v["projected"] for v in spec["volumes"] if "projected" in v]
    assert len(projected["sources"]) == 1


async def test_an_object_that_is_no_longer_wanted_is_removed(group: Group) -> None:
    await group.apply()
    group.want(service_account="default")
    outcome = await group.apply()
    assert outcome.removed == (group.name(SERVICE_ACCOUNT),)
    name = group.name(SERVICE_ACCOUNT)
    assert await group.kube.find(SERVICE_ACCOUNT, name.namespace, name.name) is None


async def test_somebody_elses_object_of_the_same_name_is_left_alone(group: Group) -> None:
    group.inside.said("create", "service", "clusterip", "activity", "--tcp=80")
    before = group.live(SERVICE)
    (refused,) = (await group.apply()).refused
    assert isinstance(refused, NameTaken)
    assert re.search(r"Service .*/activity belongs to somebody else", str(refused))
    assert group.live(SERVICE) == before
    assert group.live(DEPLOYMENT)["spec"]["replicas"] == 2, "pods start without a Service"


async def test_all_goes_when_the_group_goes(group: Group) -> None:
    await group.apply()
    group.inside.said("delete", CONSUMER_GROUP.resource, "activity", "--cascade=foreground")
    ours = "serviceaccounts,configmaps,services,poddisruptionbudgets,deployments"
    label = f"tidegate.dev/group={group.key.name}"
    wait_until(
        lambda: group.inside.read(ours, "-l", label)["items"] == [], SOON, "all to be collected"
    )


async def test_a_template_that_the_api_refuses_names_the_field(group: Group) -> None:
    group.want(template={"spec": {"priority": 5, "containers": [{"name": "side"}]}})
    (refused,) = (await group.apply()).refused
    assert isinstance(refused, Invalid)
    assert str(refused).startswith(f"apply Deployment {group.key}: ")
    assert "spec.template.spec.containers[1].image" in str(refused)


async def test_a_template_with_a_field_that_there_is_not_names_the_field(group: Group) -> None:
    group.want(template={"spec": {"contaners": []}})
    (refused,) = (await group.apply()).refused
    assert isinstance(refused, Invalid)
    assert "spec.template.spec.contaners: field not declared" in str(refused)
