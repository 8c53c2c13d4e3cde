"""The manifests of a group: what runs, as whom, reading what, and for how long."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.engines import RenderInput, engine_of
from tidegate_operator.engines.inputs import LEDGER, SecretMount, labels_of, render_input
from tidegate_operator.kinds import Document, name_of
from tidegate_operator.model import GroupKey
from tidegate_operator.spec import read_spec

KEY = GroupKey("homes", "activity")
WANTED = RenderInput(KEY, "uid-1", "kind: ConsumerGroup\n", "registry.example/tidegate:1")
SECRETS = (
    SecretMount("storage.account", frozenset({"key"}), "7"),
    SecretMount("hub", frozenset({"listen", "events"}), "12"),
)
FULL = replace(WANTED, secrets=SECRETS, handler_config_map="code", handler_hash="abc")


def made(wanted: RenderInput) -> dict[str, Document]:
    """By kind: a group has one object of each."""
    return {found["kind"]: found for found in engine_of(EngineKind.PYTHON).manifests(wanted)}


def pod_of(wanted: RenderInput) -> Document:
    template: Document = made(wanted)["Deployment"]["spec"]["template"]
    return template


def consumer_of(wanted: RenderInput) -> Document:
    (found,) = pod_of(wanted)["spec"]["containers"]
    assert found["name"] == "consumer"
    return dict(found)


def test_what_a_pod_reads_stands_before_the_deployment_that_makes_pods() -> None:
    kinds = [found["kind"] for found in engine_of(EngineKind.PYTHON).manifests(WANTED)]
    assert kinds == [
        "ServiceAccount",
        "ConfigMap",
        "Service",
        "PodDisruptionBudget",
        "Deployment",
    ]


def test_the_same_group_gives_the_same_manifests_to_the_byte() -> None:
    turned = replace(FULL, secrets=SECRETS[::-1])
    assert json.dumps(made(FULL)) == json.dumps(made(turned))


def test_all_of_it_is_the_groups_carries_its_labels_and_is_known_by_name() -> None:
    for found in made(FULL).values():
        metadata = found["metadata"]
        assert metadata["namespace"] == "homes"
        assert metadata["labels"].items() >= labels_of(KEY).items()
        (owner,) = metadata["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == ("uid-1", True)
    assert {name_of(found) for found in made(FULL).values()} == {
        *engine_of(EngineKind.PYTHON).names(KEY)
    }


def test_the_deployment_says_nothing_of_its_replicas() -> None:
    assert "replicas" not in made(WANTED)["Deployment"]["spec"]


def test_a_rollout_adds_a_pod_before_it_takes_one() -> None:
    strategy = made(WANTED)["Deployment"]["spec"]["strategy"]
    assert strategy["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_pods_are_found_by_labels_that_every_pod_has() -> None:
    found = made(WANTED)
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    assert found["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels
    assert found["Service"]["spec"]["selector"].items() <= labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels


def test_a_pod_keeps_to_the_restricted_standard() -> None:
    spec, consumer = pod_of(FULL)["spec"], consumer_of(FULL)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert consumer["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert spec["automountServiceAccountToken"] is False
    sources = [set(volume) - {"name"} for volume in spec["volumes"]]
    assert all(source <= {"projected", "emptyDir", "secret"} for source in sources)


def test_a_member_is_told_its_name_its_pod_and_where_its_lease_file_is() -> None:
    said = {item["name"]: item for item in consumer_of(WANTED)["env"]}
    assert said["TIDEGATE_MEMBER"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert said["TIDEGATE_POD_UID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.uid"
    file = said["TIDEGATE_SCRATCH"]["value"]
    mounts = [mount for mount in consumer_of(WANTED)["volumeMounts"] if not mount.get("readOnly")]
    assert any(file.startswith(f"{mount['mountPath']}/") for mount in mounts)


def test_the_group_file_and_the_handler_are_mounted_side_by_side() -> None:
    (volume,) = [v for v in pod_of(FULL)["spec"]["volumes"] if "projected" in v]
    names = [source["configMap"]["name"] for source in volume["projected"]["sources"]]
    assert names == ["code", "activity-group"]  # the last one wins
    assert made(FULL)["ConfigMap"]["metadata"]["name"] == "activity-group"
    assert made(FULL)["ConfigMap"]["data"] == {"group.yaml": FULL.group_yaml}
    assert consumer_of(FULL)["args"][:2] == ["consumer", "/etc/tidegate/group/group.yaml"]


def test_of_a_secret_only_the_keys_that_are_named_are_mounted_read_only() -> None:
    spec = pod_of(FULL)["spec"]
    found = {v["name"]: v["secret"] for v in spec["volumes"] if "secret" in v}
    mounts = {m["name"]: m for m in consumer_of(FULL)["volumeMounts"] if m["name"] in found}
    assert {m["mountPath"] for m in mounts.values()} == {
        "/etc/tidegate/secrets/hub",
        "/etc/tidegate/secrets/storage.account",
    }
    assert all(mount["readOnly"] for mount in mounts.values())
    keys = {s["secretName"]: [item["key"] for item in s["items"]] for s in found.values()}
    assert keys == {"hub": ["events", "listen"], "storage.account": ["key"]}


@pytest.mark.parametrize(
    "change",
    [
        {"group_yaml": "kind: Other\n"},
        {"handler_hash": "def"},
        {"secrets": (replace(SECRETS[0], hash="8"), SECRETS[1])},
        {"image": "registry.example/tidegate:2"},
    ],
)
def test_a_change_of_what_a_consumer_reads_rolls(change: dict[str, Any]) -> None:
    assert pod_of(replace(FULL, **change)) != pod_of(FULL)


def test_a_clean_stop_has_time_for_the_longest_call_and_ends_before_it_is_ended() -> None:
    wanted = replace(WANTED, handler_timeout_s=120.5, told_s=7.0)
    given = pod_of(wanted)["spec"]["terminationGracePeriodSeconds"]
    args = consumer_of(wanted)["args"]
    grace = float(args[args.index("--grace-s") + 1])
    assert 127.5 + 20 <= grace < given - 3


def test_a_handler_that_blocks_for_as_long_as_it_may_is_not_restarted() -> None:
    wanted = replace(WANTED, handler_timeout_s=600, told_s=10)
    probe = consumer_of(wanted)["livenessProbe"]
    assert probe["periodSeconds"] * (probe["failureThreshold"] - 1) > 610


def test_a_handler_that_blocks_for_as_long_as_it_may_does_not_make_its_pod_unready() -> None:
    """Kubernetes ends pods that are not ready first, whoever was told to leave."""
    wanted = replace(WANTED, handler_timeout_s=600, told_s=10)
    probe = consumer_of(wanted)["readinessProbe"]
    assert probe["timeoutSeconds"] * (probe["failureThreshold"] - 1) > 610
    assert probe["periodSeconds"] == 1, "so that a new pod is ready as soon as it has joined"


def test_ready_means_that_the_member_has_joined() -> None:
    consumer = consumer_of(WANTED)
    assert consumer["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
    assert consumer["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert consumer["ports"] == [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}]
    assert consumer["args"][2:4] == ["--listen", "0.0.0.0:9090"]


def test_the_last_words_of_a_consumer_are_kept() -> None:
    assert consumer_of(WANTED)["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_metrics_are_reached_by_a_service_without_an_address() -> None:
    spec = made(WANTED)["Service"]["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["ports"][0]["name"] == "metrics"


def test_a_drain_takes_one_pod_at_a_time_and_waits_for_none_that_is_not_ready() -> None:
    spec = made(WANTED)["PodDisruptionBudget"]["spec"]
    assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


def test_a_service_account_is_made_unless_the_user_names_one() -> None:
    identity = {"azure.workload.identity/client-id": "1"}
    ours = made(replace(WANTED, service_account_annotations=identity))
    assert ours["ServiceAccount"]["metadata"]["annotations"] == identity
    assert pod_of(WANTED)["spec"]["serviceAccountName"] == "activity"
    theirs = replace(WANTED, service_account="mine")
    assert "ServiceAccount" not in made(theirs)
    assert pod_of(theirs)["spec"]["serviceAccountName"] == "mine"


def test_what_is_rendered_is_what_the_consumer_group_asks_for() -> None:
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": "activity", "namespace": "homes"},
        "spec": {
            "source": {
                "eventHubs": {"hub": "h", "connectionString": {"secret": "hub", "key": "events"}}
            },
            "ledger": {"container": "ledger", "accountUrl": "https://a.blob.core.windows.net"},
            "handler": {"code": "handler.py:handle", "configMap": "code"},
            "delivery": {"timeoutSeconds": 20, "toldSeconds": 2},
            "template": {
                "metadata": {"labels": {"azure.workload.identity/use": "true"}},
                "spec": {
                    "containers": [
                        {"name": "consumer", "env": [{"name": "LEVEL", "value": "1"}]},
                        {"name": "side", "image": "s", "args": ["a"]},
                    ]
                },
            },
        },
    }
    wanted = render_input(
        KEY, "uid-1", read_spec(document), image="i", pull_policy="Always",
        secret_hashes={"hub": "5"}, handler_hash="h", ledger="a/b/c/",
    )  # fmt: skip
    pod = pod_of(wanted)
    assert pod["metadata"]["labels"]["azure.workload.identity/use"] == "true"
    assert pod["metadata"]["annotations"]["tidegate.dev/secrets"] == "hub=5"
    assert pod["spec"]["terminationGracePeriodSeconds"] == 52
    consumer, side = pod["spec"]["containers"]
    assert consumer["env"][-1] == {"name": "LEVEL", "value": "1"}
    assert side == {"name": "side", "image": "s", "args": ["a"]}
    file = yaml.safe_load(wanted.group_yaml)["spec"]["source"]["eventHubs"]["connectionString"]
    mounted = [mount["mountPath"] for mount in consumer["volumeMounts"]]
    assert file == {"file": "/etc/tidegate/secrets/hub/events"}
    assert "/etc/tidegate/secrets/hub" in mounted
    json.dumps(made(wanted))
    # Where it rolls nothing.
    assert made(wanted)["Deployment"]["metadata"]["annotations"][LEDGER] == "a/b/c/"
    assert LEDGER not in pod["metadata"]["annotations"]
