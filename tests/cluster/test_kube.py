"""The operator's client on a real API server: what is refused, fenced, listed and told."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.applied_group import Group, applied_group
from support.cluster_control_plane import bare_control_plane
from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator import kube as kube_module
from tidegate_operator.apply import Applier
from tidegate_operator.engines import engine_of
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, POD, SECRET
from tidegate_operator.kube import Kube, connect
from tidegate_operator.kube_errors import (
    Denied,
    Invalid,
    Permission,
    Unreachable,
)
from tidegate_operator.kube_events import Herald


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane that knows ConsumerGroups."""
    with control_plane_with_groups(kube_programs, tmp_path_factory.mktemp("kube") / "state") as api:
        yield api


@pytest.fixture
def inside(api: Kubectl) -> Iterator[Kubectl]:
    """A namespace in which only restricted pods are let in."""
    with api.new_namespace("kube") as kubectl:
        yield kubectl


@pytest.fixture
async def kube(api: Kubectl) -> AsyncIterator[Kube]:
    client = connect(kubeconfig=str(api.kubeconfig))
    yield client
    await client.close()


@pytest.fixture
def group(inside: Kubectl, kube: Kube) -> Group:
    return applied_group(inside, kube)


async def test_a_role_that_lacks_something_is_told_what(group: Group, tmp_path: Path) -> None:
    inside = group.inside
    inside.said("create", "serviceaccount", "poor")
    inside.said("create", "role", "poor", "--verb=get", "--resource=serviceaccounts")
    inside.said(
        "create", "rolebinding", "poor", "--role=poor",
        f"--serviceaccount={inside.namespace}:poor",
    )  # fmt: skip
    config = json.loads(inside.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": inside.said("create", "token", "poor").strip()}
    poor_config = tmp_path / "kubeconfig"
    poor_config.write_text(json.dumps(config), encoding="utf-8")
    poor = connect(kubeconfig=str(poor_config))
    group.applier = Applier(poor, lambda: 0.0, lambda: 0.0)
    done = await group.applier.apply(
        group.key, group.uid, engine_of(EngineKind.PYTHON).manifests(group.wanted),
        names=engine_of(EngineKind.PYTHON).names(group.key), replicas=1, seen={},
    )  # fmt: skip
    first, *others = done.refused
    assert isinstance(first, Denied) and "may not patch serviceaccounts" in str(first)
    assert first.missing == Permission("patch", "serviceaccounts", "")
    assert others and all(isinstance(each, Denied) for each in others), "each by itself"
    await poor.close()


async def test_of_a_secret_the_version_is_read_without_what_is_in_it(
    inside: Kubectl, kube: Kube
) -> None:
    inside.said("create", "secret", "generic", "hub", "--from-literal=events=hidden")
    found = await kube.metadata_of(SECRET, inside.namespace, "hub")
    assert found is not None
    assert found["metadata"]["resourceVersion"]
    assert "data" not in found
    whole = await kube.get(SECRET, inside.namespace, "hub")
    assert whole["data"]["events"]


async def test_every_character_of_a_template_reaches_the_deployment(
    inside: Kubectl, kube: Kube
) -> None:
    text = "wörld 😀 \U0010ffff \x07 \x7f \u2028 \\ud83d"
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "letters",
            "namespace": inside.namespace,
            "annotations": {"a/b": text},
        },
        "data": {"text": text},
    }
    for _ in range(2):  # made, and applied over what is there
        await kube.apply(made)
        found = inside.read("configmap", "letters")
        assert (found["data"]["text"], found["metadata"]["annotations"]["a/b"]) == (text, text)


async def test_a_status_that_breaks_the_schema_is_refused(kube: Kube, group: Group) -> None:
    where, name = group.key.namespace, group.key.name
    with pytest.raises(Invalid, match="lag"):
        await kube.patch_status(CONSUMER_GROUP, where, name, {"lag": "many"}, uid=group.uid)


async def test_lists_are_read_to_their_end(
    inside: Kubectl, kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_module, "_PAGE", 2)
    for number in range(5):
        inside.said("create", "configmap", f"listed-{number}")
        inside.said("label", "configmap", f"listed-{number}", "listed=yes")
    found = await kube.list(CONFIG_MAP, inside.namespace, labels="listed=yes", metadata_only=True)
    assert [item["metadata"]["name"] for item in found] == [f"listed-{n}" for n in range(5)]


async def test_a_pods_deletion_cost_is_written(group: Group) -> None:
    await group.apply(replicas=1)
    await group.until_pods(1)
    (pod,) = group.pods()
    cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}}
    found = await group.kube.patch(
        POD, group.key.namespace, pod["metadata"]["name"], cost, uid=pod["metadata"]["uid"]
    )
    assert found["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] == "-5"


async def test_events_are_shown_by_kubectl_and_counted(kube: Kube, group: Group) -> None:
    herald = Herald(kube, time.time, "operator-1")
    document = await kube.get(CONSUMER_GROUP, group.key.namespace, group.key.name)
    for _ in range(3):
        assert await herald.tell(document, kind="Warning", reason="Stuck", note="partition 3")
    described = group.inside.said("describe", CONSUMER_GROUP.resource, group.key.name)
    assert "Stuck" in described
    assert "x3 over" in described
    assert "tidegate-operator" in described


async def test_an_api_server_that_goes_is_unreachable(kube_programs: Path, tmp_path: Path) -> None:
    with bare_control_plane(kube_programs, tmp_path / "other") as other:
        kube = connect(kubeconfig=str(other.kubeconfig))
        assert await kube.list(POD) == []
    with pytest.raises(Unreachable, match="list pods of all namespaces"):
        await kube.list(POD)
    await kube.close()
