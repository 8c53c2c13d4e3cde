"""The chart before a real API server: it takes all of it, and the operator may do what it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.cluster_control_plane import bare_control_plane
from support.cluster_kubectl import Kubectl
from support.helm_chart import CHART, NAMESPACE, Helm, of_kind
from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.engines import RenderInput, engine_of
from tidegate_operator.model import GroupKey


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    with bare_control_plane(kube_programs, folder) as kubectl:
        kubectl.said("create", "namespace", NAMESPACE)
        kubectl.said("apply", "--server-side", "-f", str(CHART / "crds"))
        yield replace(kubectl, namespace=NAMESPACE)


def test_an_api_server_takes_all_of_it_and_lets_restricted_pods_alone_run(
    helm: Helm, api: Kubectl
) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    api.said("label", "namespace", NAMESPACE, label)
    documents = helm.rendered(embedded=True, replicas=2, dashboard={"enabled": True})
    warned = api.tried(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=as_stream(documents)
    )
    assert warned.returncode == 0, warned.stderr
    assert "would violate PodSecurity" not in warned.stderr


@pytest.mark.parametrize(
    ("verb", "resource", "may"),
    [
        ("patch", "consumergroups.tidegate.dev:status", True),
        ("update", "consumergroups.tidegate.dev:finalizers", True),
        ("delete", "consumergroups.tidegate.dev", False),
        ("watch", "pods", True),
        ("delete", "pods", False),
        ("create", "pods:exec", False),
        ("patch", "deployments.apps", True),
        ("get", "secrets", True),
        ("list", "secrets", False),
        ("watch", "secrets", False),
        ("list", "configmaps", True),
        ("watch", "configmaps", False),
        ("create", "roles.rbac.authorization.k8s.io", True),
        ("escalate", "roles.rbac.authorization.k8s.io", False),
        ("bind", "roles.rbac.authorization.k8s.io", False),
        ("create", "clusterroles.rbac.authorization.k8s.io", False),
        ("patch", "statefulsets.apps", True),
        ("list", "statefulsets.apps", False),
        ("create", "events", True),
        ("update", "leases.coordination.k8s.io/tidegate-operator", True),
        ("update", "leases.coordination.k8s.io/another", False),
        ("list", "nodes", False),
        ("create", "tokenreviews.authentication.k8s.io", False),
    ],
)
def test_the_operator_may_do_what_it_needs_and_no_more(
    helm: Helm, api: Kubectl, verb: str, resource: str, may: bool
) -> None:
    rights = of_kind(
        helm.rendered(), "ServiceAccount", "Role", "RoleBinding", "ClusterRole",
        "ClusterRoleBinding",
    )  # fmt: skip
    api.said("apply", "--server-side", "-f", "-", stdin=as_stream(rights))
    who = f"--as=system:serviceaccount:{NAMESPACE}:tidegate-operator"
    kind, _, part = resource.partition(":")
    asked = api.tried(
        "auth", "can-i", verb, kind, "-n", NAMESPACE, who,
        *([f"--subresource={part}"] if part else []),
    )  # fmt: skip
    assert asked.stdout.strip() == ("yes" if may else "no"), asked.stderr


ON_SPARK = (
    ("create", "roles.rbac.authorization.k8s.io"),
    ("create", "rolebindings.rbac.authorization.k8s.io"),
    ("get", "statefulsets.apps"),
    ("create", "statefulsets.apps"),
    ("list", "events"),
)


def test_without_spark_the_operator_has_none_of_the_rights_that_it_needs_for_it(
    helm: Helm, api: Kubectl
) -> None:
    without = helm.rendered(spark={"enabled": False}, fullnameOverride="plain")
    (operator,) = of_kind(without, "Deployment")
    (container,) = operator["spec"]["template"]["spec"]["containers"]
    assert "--spark-image" not in container["args"]
    rights = of_kind(without, "ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    api.said("apply", "--server-side", "-f", "-", stdin=as_stream(rights))
    who = f"--as=system:serviceaccount:{NAMESPACE}:plain-operator"
    for verb, kind in ON_SPARK:
        asked = api.tried("auth", "can-i", verb, kind, "-n", NAMESPACE, who)
        assert asked.stdout.strip() == "no", f"{verb} {kind}"


def test_the_operator_may_give_a_driver_its_role_and_nothing_more(helm: Helm, api: Kubectl) -> None:
    """Kubernetes lets nobody give what he does not have: the chart's role has all of it."""
    rights = of_kind(
        helm.rendered(), "ServiceAccount", "Role", "RoleBinding", "ClusterRole",
        "ClusterRoleBinding",
    )  # fmt: skip
    api.said("apply", "--server-side", "-f", "-", stdin=as_stream(rights))
    who = f"--as=system:serviceaccount:{NAMESPACE}:tidegate-operator"
    wanted = RenderInput(GroupKey(NAMESPACE, "activity"), "uid-1", "kind: x\n", "none.example/s:1")
    manifests = list(engine_of(EngineKind.SPARK).manifests(wanted))
    for each in manifests:
        del each["metadata"]["ownerReferences"]  # there is no such group
    api.said("apply", "--server-side", who, "-f", "-", stdin=as_stream(manifests))
    (role,) = of_kind(manifests, "Role")
    role["rules"].append({"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]})
    refused = api.refusal("apply", "--server-side", who, "-f", "-", stdin=as_stream([role]))
    assert "attempting to grant RBAC permissions not currently held" in refused


def as_stream(documents: list[Any]) -> str:
    return "---\n".join(json.dumps(each) + "\n" for each in documents)
