"""The manifests of a group on Spark: what runs, as whom, what it may do, and what it is told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tidegate.group_file.spark_spec import DriverSpec, EngineKind, ExecutorSpec, SparkSpec
from tidegate.spark.session_conf import ClusterPlace
from tidegate_operator.engines import RenderInput, engine_of
from tidegate_operator.engines.inputs import SecretMount, labels_of, told_executors
from tidegate_operator.kinds import Document, name_of
from tidegate_operator.merge import TemplateError
from tidegate_operator.model import GroupKey

KEY = GroupKey("homes", "activity")
WANTED = RenderInput(
    KEY,
    "uid-1",
    "kind: ConsumerGroup\n",
    "registry.example/spark:1",
    secrets=(SecretMount("hub", frozenset({"events"}), "12"),),
    handler_config_map="code",
    handler_hash="abc",
    executors=3,
)


def made(wanted: RenderInput = WANTED) -> dict[tuple[str, str], Document]:
    """By kind and name."""
    documents = engine_of(EngineKind.SPARK).manifests(wanted)
    return {(found["kind"], found["metadata"]["name"]): found for found in documents}


def deployment_of(wanted: RenderInput = WANTED) -> Document:
    return made(wanted)["Deployment", "activity"]


def driver_of(wanted: RenderInput = WANTED) -> Document:
    (found,) = deployment_of(wanted)["spec"]["template"]["spec"]["containers"]
    assert found["name"] == "driver"
    return dict(found)


def executor_of(wanted: RenderInput = WANTED) -> Document:
    text = made(wanted)["ConfigMap", "activity-group"]["data"]["tidegate-executor.yaml"]
    found: Document = yaml.safe_load(text)
    return found


def with_templates(**templates: Any) -> RenderInput:
    made = SparkSpec(
        driver=DriverSpec(template=templates.get("driver")),
        executor=ExecutorSpec(template=templates.get("executor")),
    )
    return replace(WANTED, spark=made)


def test_all_of_it_is_the_groups_carries_its_labels_and_is_known_by_name() -> None:
    documents = engine_of(EngineKind.SPARK).manifests(WANTED)
    for found in documents:
        metadata = found["metadata"]
        assert metadata["namespace"] == "homes"
        assert metadata["labels"].items() >= labels_of(KEY).items()
        (owner,) = metadata["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == ("uid-1", True)
    assert [name_of(found) for found in documents] == [*engine_of(EngineKind.SPARK).names(KEY)]
    assert json.dumps(made()[("Deployment", "activity")]) == json.dumps(deployment_of())


def test_how_many_executors_there_are_replaces_no_driver() -> None:
    fewer = replace(WANTED, executors=1)
    assert deployment_of()["spec"] == deployment_of(fewer)["spec"]
    assert told_executors(deployment_of()) == 3
    variables = {item["name"]: item for item in driver_of()["env"]}
    source = variables["TIDEGATE_EXECUTORS"]["valueFrom"]["configMapKeyRef"]
    assert made()["ConfigMap", source["name"]]["data"][source["key"]] == "3"
    assert "replicas" not in deployment_of()["spec"]


def test_a_driver_is_told_all_that_it_needs_to_be_one() -> None:
    """Read by the very class that reads it in the pod."""
    environment = {item["name"]: item.get("value", "1") for item in driver_of()["env"]}
    place = ClusterPlace.of(environment)
    assert (place.namespace, place.image) == ("homes", "registry.example/spark:1")
    assert (place.account, place.pull_policy) == ("activity-executor", "IfNotPresent")
    mounts = {mount["mountPath"] for mount in driver_of()["volumeMounts"]}
    assert place.template.rpartition("/")[0] in mounts
    assert environment["TIDEGATE_SCRATCH"] in mounts, "a folder, with a file for each member"
    assert driver_of()["args"][0] == "consumer"


def test_the_driver_may_watch_pods_and_make_a_stateful_set_and_nothing_else() -> None:
    found = made()
    assert found["Role", "activity-driver"]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["create"]},
    ]
    binding = found["RoleBinding", "activity-driver"]
    assert binding["roleRef"]["name"] == "activity-driver"
    assert [subject["name"] for subject in binding["subjects"]] == ["activity"]


def test_the_driver_alone_is_let_at_the_api() -> None:
    driver = deployment_of()["spec"]["template"]["spec"]
    assert (driver["serviceAccountName"], driver["automountServiceAccountToken"]) == (
        "activity",
        True,
    )
    assert executor_of()["spec"]["automountServiceAccountToken"] is False
    for name in ("activity", "activity-executor"):
        assert made()["ServiceAccount", name]["automountServiceAccountToken"] is False


def test_an_account_of_the_users_is_for_driver_and_executors_and_gets_the_role() -> None:
    wanted = replace(WANTED, service_account="mine")
    assert not [kind for kind, _ in made(wanted) if kind == "ServiceAccount"]
    assert made(wanted)["RoleBinding", "activity-driver"]["subjects"][0]["name"] == "mine"
    variables = {item["name"]: item.get("value") for item in driver_of(wanted)["env"]}
    assert variables["TIDEGATE_EXECUTOR_ACCOUNT"] == "mine"


def test_both_accounts_are_known_to_azure() -> None:
    identity = {"azure.workload.identity/client-id": "1"}
    found = made(replace(WANTED, service_account_annotations=identity))
    for name in ("activity", "activity-executor"):
        assert found["ServiceAccount", name]["metadata"]["annotations"] == identity


@pytest.mark.parametrize("who", ["driver", "executor"])
def test_every_pod_keeps_to_the_restricted_standard(who: str) -> None:
    template = deployment_of()["spec"]["template"] if who == "driver" else executor_of()
    spec = template["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["name"] == who
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    writable = {m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")}
    assert container["workingDir"] in writable


def test_the_pods_of_each_role_are_told_apart_and_services_lead_to_the_driver() -> None:
    driver = deployment_of()["spec"]["template"]["metadata"]["labels"]
    executor = executor_of()["metadata"]["labels"]
    assert (driver["tidegate.dev/role"], executor["tidegate.dev/role"]) == ("driver", "executor")
    for name in ("activity", "activity-ui"):
        selector = made()["Service", name]["spec"]["selector"].items()
        assert selector <= driver.items() and not selector <= executor.items()
    chosen = deployment_of()["spec"]["selector"]["matchLabels"].items()
    assert chosen <= driver.items() and not chosen <= executor.items()
    budget = made()["PodDisruptionBudget", "activity"]["spec"]["selector"]["matchLabels"].items()
    assert budget <= driver.items() and budget <= executor.items()


def test_memory_is_the_heap_and_what_is_beside_it_and_cpu_a_quarter_of_the_cores() -> None:
    made = SparkSpec(driver=DriverSpec(cores=2, memory="2g", memory_overhead="1g"))
    assert driver_of(replace(WANTED, spark=made))["resources"] == {
        "requests": {"cpu": "500m", "memory": "3072Mi"},
        "limits": {"memory": "3072Mi"},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"group_yaml": "kind: Other\n"},
        {"handler_hash": "def"},
        {"secrets": (SecretMount("hub", frozenset({"events"}), "13"),)},
        {"image": "registry.example/spark:2"},
        {"spark": SparkSpec(executor=ExecutorSpec(template={"spec": {"priority": 1}}))},
    ],
)
def test_a_change_of_what_driver_or_executors_are_made_of_rolls(change: dict[str, Any]) -> None:
    before, after = deployment_of()["spec"], deployment_of(replace(WANTED, **change))["spec"]
    assert before["template"] != after["template"]


def test_templates_are_merged_over_ours() -> None:
    more = {"spec": {"nodeSelector": {"pool": "spark"}}, "metadata": {"labels": {"team": "home"}}}
    wanted = with_templates(driver=more, executor=more)
    for template in (deployment_of(wanted)["spec"]["template"], executor_of(wanted)):
        assert template["spec"]["nodeSelector"] == {"pool": "spark"}
        assert template["metadata"]["labels"]["team"] == "home"
        assert template["metadata"]["labels"]["tidegate.dev/group"] == "activity"


@pytest.mark.parametrize(
    ("who", "template", "said"),
    [
        ("driver", {"spec": {"containers": [{"name": "driver", "args": ["x"]}]}},
         r"spec\.spark\.driver\.template\.spec\.containers\[driver\]\.command"),
        ("driver", {"spec": {"containers": [{"name": "driver", "env": [
            {"name": "TIDEGATE_EXECUTORS", "value": "9"}]}]}}, "leave them out"),
        ("driver", {"metadata": {"labels": {"tidegate.dev/role": "executor"}}}, "use others"),
        ("driver", {"spec": {"serviceAccountName": "x"}}, r"spec\.serviceAccountName of the group"),
        ("executor", {"spec": {"restartPolicy": "Never"}}, "the executor is always started again"),
        ("executor", {"spec": {"containers": [{"name": "executor", "command": ["x"]}]}},
         r"spec\.spark\.executor\.template"),
        ("executor", {"kind": "Pod"}, "a pod template has metadata and spec there"),
    ],
)  # fmt: skip
def test_what_would_break_the_group_is_refused(who: str, template: Any, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        made(with_templates(**{who: template}))


def test_how_many_executors_there_are_changes_no_volume_of_the_driver() -> None:
    volumes = deployment_of()["spec"]["template"]["spec"]["volumes"]
    (group,) = [each for each in volumes if "projected" in each]
    ours = group["projected"]["sources"][-1]["configMap"]
    assert ours["name"] == "activity-group"
    assert [item["key"] for item in ours["items"]] == ["group.yaml", "tidegate-executor.yaml"]
    there = made()["ConfigMap", "activity-group"]["data"]
    assert there.keys() - {item["key"] for item in ours["items"]} == {"tidegate-executors"}
