"""`helm uninstall` leaves nothing of a release behind but the kind, which Helm never takes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_control_plane import bare_control_plane
from support.cluster_kubectl import Kubectl
from support.cluster_release import KIND
from support.helm_chart import CHART, Helm
from support.operated_place import LATER
from support.operator_process import operator_process
from support.wait import wait_until

# What Kubernetes itself keeps in every namespace, and what it removes a while after its owner.
KUBERNETES_OWN = {"kube-root-ca.crt", "default"}
KINDS = (
    "configmaps,secrets,serviceaccounts,services,deployments,roles,rolebindings,leases,"
    "networkpolicies,poddisruptionbudgets"
)


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    with bare_control_plane(kube_programs, folder) as kubectl:
        yield kubectl


def left_in(inside: Kubectl) -> set[str]:
    found = inside.said("get", KINDS, "--output", "name").split()
    return {name for name in found if name.rpartition("/")[2] not in KUBERNETES_OWN}


def test_nothing_of_a_release_is_left_when_it_is_uninstalled(
    api: Kubectl, helm_program: Path, tmp_path: Path
) -> None:
    helm = Helm(helm_program, tmp_path / "helm", api.kubeconfig)
    (tmp_path / "helm").mkdir()
    with api.new_namespace("removed") as inside:
        before = left_in(inside)
        where = ("--namespace", inside.namespace)
        values = ("--set", "embedded=true", "--set", f"watch.namespaces={{{inside.namespace}}}")
        ran = helm.tried("install", "tidegate", str(CHART), *where, *values)
        assert ran.returncode == 0, ran.stderr
        # No pod runs here: the operator's part is played by a process, which makes its Lease.
        with operator_process(inside, tmp_path / "operator") as operator:
            operator.until_leading()
            assert "lease.coordination.k8s.io/tidegate-operator" in left_in(inside)
            assert operator.stop() == 0
        ran = helm.tried("uninstall", "tidegate", *where)
        assert ran.returncode == 0, ran.stderr
        wait_until(
            lambda: left_in(inside) == before, LATER, "all to go", lambda: str(left_in(inside))
        )
        assert api.tried("get", "crd", KIND).returncode == 0
        # It can be installed again, and uninstalled before an operator has made a Lease.
        for verb in (("install", "tidegate", str(CHART)), ("uninstall", "tidegate")):
            ran = helm.tried(*verb, *where)
            assert ran.returncode == 0, ran.stderr
        wait_until(lambda: left_in(inside) == before, LATER, "all to go again")
