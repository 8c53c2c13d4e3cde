"""The ConsumerGroup at a real API server: what it fills in, keeps, shows, scales and explains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cluster_groups import (
    EXAMPLES,
    Document,
    changed,
    control_plane_with_groups,
    example,
)
from support.cluster_kubectl import Kubectl
from tidegate_operator.spec import read_spec

SHORT = example("consumergroup.yaml")
HUB = "spec.source.eventHubs"


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane that knows ConsumerGroups."""
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    with control_plane_with_groups(kube_programs, folder) as kubectl:
        yield kubectl


@pytest.fixture
def group(api: Kubectl) -> Iterator[Document]:
    """The short example, applied; it is gone afterwards."""
    api.apply(SHORT)
    yield SHORT
    api.said("delete", "cg", SHORT["metadata"]["name"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_can_be_applied_and_reads_back_as_it_was_written(
    api: Kubectl, path: Path
) -> None:
    document = example(path.name)
    api.said("apply", "-f", str(path))
    try:
        stored = api.read("cg", document["metadata"]["name"])
        # Defaults are filled in, and nothing that was written is lost.
        assert read_spec(stored) == read_spec(document)
        assert_kept(document["spec"], stored["spec"])
    finally:
        api.said("delete", "-f", str(path))


def assert_kept(written: Any, stored: Any) -> None:
    if isinstance(written, dict):
        for key, inner in written.items():
            assert_kept(inner, stored[key])
    else:
        assert stored == written


@pytest.mark.parametrize(
    "start",
    [
        "latest",
        {"time": "2026-01-31T00:00:00Z"},
        {"sequenceNumber": 5},
        {"offset": "4096", "sequenceNumber": 5},
    ],
    ids=str,
)
def test_a_start_may_be_a_word_or_a_place(api: Kubectl, start: Any) -> None:
    document = changed(SHORT, f"{HUB}.start", start)
    stored = api.said(
        "apply", "--dry-run=server", "--output", "json", "-f", "-", stdin=json.dumps(document)
    )
    assert read_spec(json.loads(stored)) == read_spec(document)


def test_defaults_are_filled_in(api: Kubectl, group: Document) -> None:
    spec = api.read("cg", group["metadata"]["name"])["spec"]
    assert spec["scaling"] == {
        "min": 1, "max": 16, "mode": "Auto", "shrinkAfterSeconds": 180, "idleAfterSeconds": 300,
    }  # fmt: skip
    assert (spec["engine"], spec["paused"], spec["pausedReplicas"]) == ("python", False, 0)
    assert spec["ledger"]["onDelete"] == "Keep"
    assert spec["source"]["eventHubs"]["consumerGroup"] == "$Default"
    assert "replicas" not in spec
    assert "delivery" not in spec


@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["by kubectl", "by the server"])
def test_another_objective_takes_the_place_of_the_usual_one(
    api: Kubectl, way: tuple[str, ...]
) -> None:
    """Of one that nobody wrote nothing is stored that a written one would be merged with."""
    document = changed(SHORT, "metadata.name", "sized")
    where = ("apply", *way, "-f", "-")
    api.said(*where, stdin=json.dumps(document))
    try:
        for objective in ({"drainWithin": "5m"}, {"lagPerReplica": 100}):
            sized = changed(document, "spec.scaling", {"objective": objective})
            api.said(*where, stdin=json.dumps(sized))
            assert api.read("cg", "sized")["spec"]["scaling"]["objective"] == objective
    finally:
        api.said("delete", "cg", "sized")


def test_another_place_of_a_secret_takes_the_place_of_the_first(api: Kubectl) -> None:
    """Whoever applies it: two managers' places are not merged into one that says both."""
    document = changed(SHORT, "metadata.name", "merged")
    where = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    api.said(*where, "--field-manager=one", stdin=json.dumps(document))
    try:
        other = changed(document, f"{HUB}.connectionString", {"secret": "next", "key": "hub"})
        api.said(*where, "--field-manager=two", stdin=json.dumps(other))
        in_file = changed(document, f"{HUB}.connectionString", {"file": "events.txt"})
        api.said(*where, "--field-manager=two", stdin=json.dumps(in_file))
        found = api.read("cg", "merged")["spec"]["source"]["eventHubs"]["connectionString"]
        assert found == {"file": "events.txt"}
    finally:
        api.said("delete", "cg", "merged")


# --- scale, status, columns, words


def test_a_group_is_scaled_by_hand_and_by_autoscalers(api: Kubectl, group: Document) -> None:
    name = group["metadata"]["name"]
    path = f"/apis/tidegate.dev/v1alpha1/namespaces/default/consumergroups/{name}/scale"
    assert "does not exist" in api.refusal("get", "--raw", path)
    api.said("scale", f"cg/{name}", "--replicas=3")
    status = {"status": {"replicas": 2, "selector": f"tidegate.dev/group={name}"}}
    api.said("patch", "cg", name, "--subresource=status", "--type=merge", "-p", json.dumps(status))
    scale = json.loads(api.said("get", "--raw", path))
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": f"tidegate.dev/group={name}"}
    told = api.refusal("scale", f"cg/{name}", "--replicas=17")
    assert "replicas is to be within scaling.min and scaling.max" in told
    assert api.read("cg", name)["spec"]["replicas"] == 3
    back = '[{"op": "remove", "path": "/spec/replicas"}]'
    api.said("patch", "cg", name, "--type=json", "-p", back)
    assert "replicas" not in api.read("cg", name)["spec"]


FULL_STATUS: Document = {
    "observedGeneration": 1, "source": "eventhubs", "state": "Balanced", "ready": "4/4",
    "message": "Nothing moves.",
    "wanted": 4, "replicas": 4, "selector": "tidegate.dev/group=home-activity", "partitions": 16,
    "owned": 16, "lag": 1203, "lagKind": "exact", "lagPartitions": 16, "behind": "2s",
    "conditions": [{
        "type": "Ready", "status": "True", "reason": "Balanced", "message": "4 of 4 have joined",
        "lastTransitionTime": "2026-01-31T00:00:00Z", "observedGeneration": 1,
    }],
    "members": [
        {"name": "pod-1", "ready": True, "partitions": 4, "weight": 1.5, "leaving": False}
    ],
    "partitionStates": [{
        "partition": "0", "owner": "pod-1", "epoch": 7, "sequenceNumber": 2**40, "lag": 3,
        "lagKind": "lost", "behindSeconds": 1.5,
    }],
}  # fmt: skip


def test_a_status_is_kept_whole_and_shown_in_columns(api: Kubectl, group: Document) -> None:
    name = group["metadata"]["name"]
    full = json.dumps({"status": FULL_STATUS, "spec": {"paused": True}})
    api.said("patch", "cg", name, "--subresource=status", "--type=merge", "-p", full)
    found = api.read("cg", name)
    assert found["status"] == FULL_STATUS
    assert found["spec"]["paused"] is False
    head, row = api.said("get", "consumergroups").splitlines()
    assert head.split() == [
        "NAME", "SOURCE", "ENGINE", "READY", "WANTED", "PARTITIONS", "OWNED", "LAG", "BEHIND",
        "STATUS", "AGE", "DELETED",
    ]  # fmt: skip
    assert row.split()[:10] == [
        name, "eventhubs", "python", "4/4", "4", "16", "16", "1203", "2s", "Balanced",
    ]  # fmt: skip
    assert "Nothing moves." in api.said("get", "cg", "--output", "wide")
    assert name in api.said("get", "tidegate")
    api.said("wait", "--for=condition=Ready", f"cg/{name}", "--timeout=5s")


def test_what_is_no_status_is_dropped(api: Kubectl, group: Document) -> None:
    name = group["metadata"]["name"]
    other = json.dumps({"status": {"mood": "good"}})
    api.said("patch", "cg", name, "--subresource=status", "--type=merge", "-p", other)
    assert "mood" not in api.read("cg", name).get("status", {})


def test_kubectl_explains_every_key(api: Kubectl) -> None:
    explained = " ".join(api.said("explain", "cg.spec.scaling").split())
    assert "The most consumers." in explained
    assert "enum: Auto, Observe, External" in explained
    assert "Where a partition begins that has no checkpoint" in " ".join(
        api.said("explain", "cg.spec.source.eventHubs.start").split()
    )
    whole = api.said("explain", "cg", "--recursive")
    for key in ("onDelete", "configMap", "duplicateBudget", "partitionStates", "behindSeconds"):
        assert key in whole
