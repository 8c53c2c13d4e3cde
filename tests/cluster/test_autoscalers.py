"""Autoscalers on a real API server: they read a group's `/scale`, and write its size.

A HorizontalPodAutoscaler and KEDA reach a group by one library, k8s.io/client-go/scale: discovery
has the version of Scale for the kind, then it reads `/scale` and replaces it. The controller of
Kubernetes itself does that here. The test makes the requests that KEDA makes before it creates its
HorizontalPodAutoscaler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from support.cluster_groups import control_plane_with_groups
from support.operated_place import LATER, Place
from support.operator_process import operator_process
from support.tree import ROOT
from tidegate_hub.testing import running_hub

EXAMPLE = ROOT / "examples" / "keda" / "home-activity.yaml"
GROUPS = "/apis/tidegate.dev/v1alpha1"


@pytest.fixture(scope="module")
def place(
    kube_programs: Path, azurite: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A namespace that an operator looks after."""
    folder = tmp_path_factory.mktemp("autoscalers")
    with control_plane_with_groups(kube_programs, folder / "state") as api, running_hub() as hub:
        hub.add_hub("telemetry", 4)
        with api.new_namespace("homes") as inside:
            place = Place(inside, azurite, hub.connection_string, f"c-{uuid4().hex[:12]}")
            place.put_secret()
            with operator_process(inside, folder / "operator") as operator:
                operator.until_leading()
                yield place


def scale_path(place: Place, name: str) -> str:
    return f"{GROUPS}/namespaces/{place.inside.namespace}/consumergroups/{name}/scale"


def example(place: Place) -> tuple[dict[str, Any], dict[str, Any]]:
    """The group and the ScaledObject of the example, in this namespace and on this ledger."""
    text = EXAMPLE.read_text(encoding="utf-8")
    group, scaled = yaml.safe_load_all(text)
    for each in (group, scaled):
        each["metadata"]["namespace"] = place.inside.namespace
    group["spec"]["ledger"] |= {"container": f"{place.container}-keda", "create": True}
    return group, scaled


def scale(place: Place, name: str) -> dict[str, Any] | None:
    """The Scale that a client reads; None if the API server refuses."""
    got = place.inside.tried("get", "--raw", scale_path(place, name))
    return dict(json.loads(got.stdout)) if got.returncode == 0 else None


def test_the_example_as_it_stands_can_be_scaled_by_what_keda_asks(place: Place) -> None:
    group, scaled = example(place)
    inside = place.inside
    inside.apply(group)
    target = scaled["spec"]["scaleTargetRef"]
    assert (target["apiVersion"], target["kind"]) == (group["apiVersion"], group["kind"])
    # ParseGVKR, RESTMapping and the kind's version of Scale: by discovery.
    found = json.loads(inside.said("get", "--raw", GROUPS))["resources"]
    (mapped,) = (each for each in found if each["name"] == "consumergroups/scale")
    assert (mapped["group"], mapped["version"], mapped["kind"]) == ("autoscaling", "v1", "Scale")
    assert {"get", "update", "patch"} <= set(mapped["verbs"])
    # Scales(namespace).Get: whether it can be scaled, and what its size was.
    name = target["name"]
    place.until("a size to be there", lambda: scale(place, name) is not None, LATER)
    first = scale(place, name)
    assert first is not None
    # A 0 is left out of a Scale.
    assert first["spec"].get("replicas", 0) == group["spec"]["scaling"]["min"] == 0
    assert inside.read("cg", name)["spec"]["replicas"] == 0
    # The HorizontalPodAutoscaler asks for pods by it, and acts on nothing without one.
    place.until("a selector", lambda: (scale(place, name) or {})["status"].get("selector"), LATER)
    # Scales(namespace).Update: from zero to one, and back.
    for count in (1, 0):
        now = scale(place, name)
        assert now is not None
        now["spec"]["replicas"] = count
        inside.said("replace", "--raw", scale_path(place, name), "-f", "-", stdin=json.dumps(now))
        place.until(f"{count} pods", lambda count=count: place.replicas(name) == count, LATER)  # type: ignore[misc]
    # Who applies the group once more leaves the size alone.
    now = scale(place, name)
    assert now is not None
    now["spec"]["replicas"] = 3
    inside.said("replace", "--raw", scale_path(place, name), "-f", "-", stdin=json.dumps(now))
    inside.apply(group)
    assert inside.read("cg", name)["spec"]["replicas"] == 3


def test_a_horizontal_pod_autoscaler_writes_the_size_of_a_group(place: Place) -> None:
    name = "sized"
    place.put_group(name, scaling={"min": 1, "max": 8, "mode": "External"})
    place.inside.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {
                    "apiVersion": "tidegate.dev/v1alpha1", "kind": "ConsumerGroup", "name": name,
                },
                "minReplicas": 3,
                "maxReplicas": 5,
                "metrics": [{
                    "type": "External",
                    "external": {
                        "metric": {"name": "wanted"},
                        "target": {"type": "AverageValue", "averageValue": "1"},
                    },
                }],
            },
        }
    )  # fmt: skip

    def conditions() -> dict[str, str]:
        status = (place.there("hpa", name) or {}).get("status") or {}
        return {each["type"]: each["status"] for each in status.get("conditions", ())}

    place.until("three pods", lambda: place.replicas(name) == 3, 2 * LATER)
    place.until("it to be able to", lambda: conditions().get("AbleToScale") == "True", LATER)
    assert place.inside.read("cg", name)["spec"]["replicas"] == 3


def test_a_group_that_scales_itself_has_no_number_that_an_autoscaler_could_take(
    place: Place,
) -> None:
    place.put_group("itself")
    place.until("its Deployment", lambda: place.replicas("itself") == 1, LATER)
    refused = place.inside.refusal("get", "--raw", scale_path(place, "itself"))
    assert "does not exist" in refused
