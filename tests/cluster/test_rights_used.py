"""Least privilege: the chart's roles grant what the operator uses, and nothing else.

A bare control plane with an audit log, and the operator under the very roles of the chart. It lives
through everything in which a right is used, rare things included; then what it has used and what is
granted are compared. What a driver of Spark is given the operator must hold, and so it counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from support.audited_rights import Right, audit_options, granted, without
from support.cluster_control_plane import bare_control_plane
from support.cluster_groups import CRD
from support.cluster_kubectl import Kubectl
from support.helm_chart import NAMESPACE, Helm, of_kind
from support.lived_rights import (
    ACCOUNT,
    OWNING,
    Lived,
    a_group_of_python,
    a_group_on_spark,
    a_group_that_goes_with_its_ledger,
    a_watch_that_falls_silent,
    as_stream,
    is_needed_to_own,
    somebody_looks_at_the_console,
    something_that_nobody_watches,
)
from support.operated_place import Place
from support.operator_process import (
    operator_process,
)
from tidegate_hub.testing import running_hub
from tidegate_operator.engines.spark import RULES as OF_DRIVERS
from tidegate_operator.local.ports import free_port

RIGHTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


@pytest.fixture(scope="module")
def lived(
    kube_programs: Path, helm: Helm, azurite: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lived]:
    folder = tmp_path_factory.mktemp("rights")
    options = [
        *audit_options(folder / "audit"),
        "--enable-admission-plugins",
        "OwnerReferencesPermissionEnforcement",
    ]
    with (
        bare_control_plane(kube_programs, folder / "state", options) as kubectl,
        running_hub() as hub,
    ):
        hub.add_hub("telemetry", 4)
        kubectl.said("create", "namespace", NAMESPACE)
        kubectl.said("apply", "--server-side", "-f", str(CRD))
        admin = replace(kubectl, namespace=NAMESPACE)
        rendered = helm.rendered(
            watch={"namespaces": [NAMESPACE]},
            console={"enabled": True},
            rbac={"create": True, "aggregate": False},
        )
        rights = of_kind(rendered, *RIGHTS)
        admin.said("apply", "--server-side", "-f", "-", stdin=as_stream(rights))
        place = Place(admin, azurite, hub.connection_string, f"c-{uuid4().hex[:12]}")
        kubeconfig = of_account(admin, folder)
        roles = of_kind(rights, "Role", "ClusterRole")
        yield Lived(admin, place, folder / "audit", kubeconfig, roles)


def of_account(admin: Kubectl, folder: Path) -> Path:
    """A kubeconfig with the token of the operator's ServiceAccount."""
    token = admin.said("create", "token", ACCOUNT, "--duration", "2h").strip()
    config = json.loads(admin.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    path = folder / "kubeconfig-of-the-operator"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def test_the_roles_grant_what_the_operator_uses_and_nothing_else(
    lived: Lived, tmp_path: Path
) -> None:
    console = free_port()
    options = ["--spark-image", "none.example/spark:1", "--console", f"127.0.0.1:{console}"]
    with operator_process(
        lived.admin, tmp_path, "lives", lived.kubeconfig, options=options
    ) as operator:
        operator.until_leading()
        a_group_of_python(lived, operator)
        a_group_on_spark(lived)
        somebody_looks_at_the_console(lived, console)
        a_group_that_goes_with_its_ledger(lived)
        something_that_nobody_watches(lived)
        assert operator.stop() == 0
    a_watch_that_falls_silent(lived, tmp_path)
    is_needed_to_own(lived)
    used, refused = lived.used()
    assert not refused, f"used and not granted: {sorted(map(str, refused))}"
    of_drivers = granted([{"rules": OF_DRIVERS}])
    unused = granted(lived.roles) - used - of_drivers - {OWNING}
    assert not unused, f"granted and never used: {sorted(map(str, unused))}"


def test_a_right_too_much_would_be_found() -> None:
    role = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}
    used = {Right("", "pods", "get")}
    assert granted([role]) - used == {Right("", "pods", "list")}
    assert granted([without(role, Right("", "pods", "list"))]) == used
