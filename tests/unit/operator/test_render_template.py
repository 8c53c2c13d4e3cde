"""A user's pod template over ours: what it may say, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.engines import RenderInput, engine_of
from tidegate_operator.engines.pod import EVICTABLE
from tidegate_operator.engines.spark_pods import EXECUTOR_FILE
from tidegate_operator.kinds import Document
from tidegate_operator.merge import TemplateError
from tidegate_operator.model import GroupKey

KEY = GroupKey("homes", "activity")


def pod_of(template: dict[str, Any]) -> Document:
    wanted = RenderInput(KEY, "uid-1", "kind: ConsumerGroup\n", "image", template=template)
    *_, deployment = engine_of(EngineKind.PYTHON).manifests(wanted)
    found: Document = deployment["spec"]["template"]
    return found


def with_consumer(**said: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "consumer", **said}]}}


def test_labels_and_annotations_of_workload_identity_and_others_are_added() -> None:
    metadata = pod_of(
        {"metadata": {"labels": {"use": "true"}, "annotations": {"seen.example/by": "x"}}}
    )["metadata"]
    assert metadata["labels"]["use"] == "true"
    assert metadata["annotations"]["seen.example/by"] == "x"
    assert metadata["labels"]["tidegate.dev/group"] == "activity"


def test_where_pods_run_and_what_they_may_use_is_the_users() -> None:
    spec = pod_of(
        {
            "spec": {
                "nodeSelector": {"pool": "events"},
                "tolerations": [{"key": "spot", "operator": "Exists"}],
                "priorityClassName": "high",
                "containers": [
                    {"name": "consumer", "resources": {"limits": {"memory": "2Gi"}}},
                    {"name": "side", "image": "side:1"},
                ],
                "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}],
            }
        }
    )["spec"]
    assert spec["nodeSelector"] == {"pool": "events"}
    consumer, side = spec["containers"]
    assert consumer["resources"]["limits"] == {"memory": "2Gi"}
    assert consumer["resources"]["requests"]["cpu"] == "100m"
    assert side == {"name": "side", "image": "side:1"}
    assert {"name": "tmp", "emptyDir": {"medium": "Memory"}} in spec["volumes"]


def test_a_shorter_end_of_pods_is_told_to_the_consumer() -> None:
    pod = pod_of({"spec": {"terminationGracePeriodSeconds": 30}})
    (consumer,) = pod["spec"]["containers"]
    assert consumer["args"][consumer["args"].index("--grace-s") + 1] == "25"


def test_what_is_ours_may_be_repeated() -> None:
    assert pod_of({"metadata": {"labels": {"tidegate.dev/group": "activity"}}}) == pod_of({})
    assert pod_of({"spec": {"restartPolicy": "Always"}})["spec"]["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    ("template", "place"),
    [
        ({"metadata": {"labels": {"tidegate.dev/group": "other"}}}, "metadata.labels"),
        ({"metadata": {"labels": {"tidegate.dev/mine": "x"}}}, "metadata.labels"),
        ({"metadata": {"labels": {"app.kubernetes.io/name": None}}}, "metadata.labels"),
        ({"metadata": {"labels": None}}, "metadata.labels"),
        ({"metadata": None}, "metadata.labels"),
        (
            {"metadata": {"annotations": {"tidegate.dev/group-hash": "0"}}},
            "metadata.annotations",
        ),
        ({"metadata": {"name": "x"}}, "metadata.name"),
        ({"replicas": 3}, "replicas"),
        ({"spec": None}, "spec.containers"),
        ({"spec": {"containers": None}}, "spec.containers"),
        ({"spec": {"restartPolicy": "OnFailure"}}, "spec.restartPolicy"),
        ({"spec": {"serviceAccountName": "mine"}}, "spec.serviceAccountName"),
        ({"spec": {"serviceAccount": "mine"}}, "spec.serviceAccountName"),
        ({"spec": {"volumes": [{"name": "tidegate-group", "emptyDir": {}}]}}, "spec.volumes"),
        ({"spec": {"volumes": None}}, "spec.volumes"),
        ({"spec": {"terminationGracePeriodSeconds": 0}}, "terminationGracePeriodSeconds"),
        ({"spec": {"terminationGracePeriodSeconds": "30"}}, "terminationGracePeriodSeconds"),
        ({"spec": {"terminationGracePeriodSeconds": None}}, "terminationGracePeriodSeconds"),
        (with_consumer(args=["x"]), r"containers\[consumer\].command"),
        (with_consumer(command=["sh"]), r"containers\[consumer\].command"),
        (with_consumer(env=[{"name": "TIDEGATE_MEMBER", "value": "x"}]), ".env"),
        (with_consumer(env=None), ".env"),
        (with_consumer(volumeMounts=[{"name": "a", "mountPath": "/scratch"}]), ".volumeMounts"),
        (
            with_consumer(volumeMounts=[{"name": "a", "mountPath": "/etc/tidegate/group/x"}]),
            ".volumeMounts",
        ),
        (with_consumer(ports=[{"containerPort": 9090, "name": "other"}]), ".ports"),
    ],
)
def test_what_would_break_the_group_is_refused_with_its_place(
    template: dict[str, Any], place: str
) -> None:
    with pytest.raises(TemplateError, match=rf"^spec\.template.*{place}.*: .+"):
        pod_of(template)


def test_places_that_only_look_like_ours_are_free() -> None:
    mount = {"name": "tmp", "mountPath": "/scratchpad"}
    (consumer,) = pod_of(with_consumer(volumeMounts=[mount]))["spec"]["containers"]
    assert mount in consumer["volumeMounts"]


def test_the_autoscaler_of_nodes_is_told_every_volume_of_ours_whose_content_nobody_misses() -> None:
    """It does not drain a node where a pod has another one. `kubectl drain` wants an option."""
    theirs = {"spec": {"volumes": [{"name": "cache", "emptyDir": {}}]}}
    wanted = RenderInput(KEY, "uid-1", "kind: ConsumerGroup\n", "image", template=theirs)
    templates = {
        each.value: engine_of(each).manifests(wanted)[-1]["spec"]["template"] for each in EngineKind
    }
    executors = engine_of(EngineKind.SPARK).manifests(wanted)
    (text,) = (
        each["data"][EXECUTOR_FILE]
        for each in executors
        if each["kind"] == "ConfigMap" and EXECUTOR_FILE in each["data"]
    )
    templates["executor"] = yaml.safe_load(text)
    for who, template in templates.items():
        volumes = template["spec"]["volumes"]
        local = {each["name"] for each in volumes if "emptyDir" in each} - {"cache"}
        named = set(template["metadata"]["annotations"][EVICTABLE].split(","))
        # Spark adds one to executors.
        assert named == local | ({"spark-local-dir-1"} if who == "executor" else set()), who
