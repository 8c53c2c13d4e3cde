"""Bare control planes: real answers of a real API in seconds, as many as a test wants."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cluster_control_plane import bare_control_plane
from support.cluster_kubectl import Kubectl
from support.wait import wait_until

START_SECONDS = 30.0  # 4 s where a core is free; a busy machine of two is given time


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    begun = time.monotonic()
    with bare_control_plane(kube_programs, folder) as kubectl:
        took = time.monotonic() - begun
        print(f"a bare control plane took {took:.1f} s to start")
        assert took < START_SECONDS
        yield kubectl


def gate_kind() -> dict[str, Any]:
    """A custom resource whose size is between 1 and 10, and never shrinks."""
    size = {
        "type": "integer",
        "minimum": 1,
        "x-kubernetes-validations": [
            {"rule": "self <= 10", "message": "too large"},
            {"rule": "self >= oldSelf", "message": "it cannot shrink"},
        ],
    }
    spec = {"type": "object", "required": ["size"], "properties": {"size": size}}
    status = {"type": "object", "properties": {"open": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gates.tests.example"},
        "spec": {
            "group": "tests.example",
            "scope": "Namespaced",
            "names": {"kind": "Gate", "plural": "gates", "singular": "gate"},
            "versions": [version],
        },
    }


def gate(size: int) -> str:
    return json.dumps(
        {
            "apiVersion": "tests.example/v1",
            "kind": "Gate",
            "metadata": {"name": "north"},
            "spec": {"size": size},
        }
    )


def test_schemas_rules_and_status_are_those_of_a_real_api(api: Kubectl) -> None:
    api.apply(gate_kind())
    api.said("wait", "--for=condition=Established", "crd/gates.tests.example", "--timeout=20s")
    wait_until(
        lambda: "gates" in api.said("api-resources", "--api-group=tests.example"), 20, "the kind"
    )
    assert "greater than or equal to 1" in api.refusal("apply", "-f", "-", stdin=gate(0))
    assert "too large" in api.refusal("apply", "-f", "-", stdin=gate(11))
    api.said("apply", "-f", "-", stdin=gate(5))
    assert "it cannot shrink" in api.refusal("apply", "-f", "-", stdin=gate(4))
    opened = json.dumps({"status": {"open": True}, "spec": {"size": 9}})
    api.said("patch", "gate", "north", "--subresource=status", "--type=merge", "--patch", opened)
    found = api.read("gate", "north")
    assert (found["status"], found["spec"]) == ({"open": True}, {"size": 5})


def test_permissions_are_those_that_were_given(api: Kubectl) -> None:
    api.said("create", "serviceaccount", "reader")
    api.said("create", "role", "reading", "--verb=get,list", "--resource=configmaps")
    api.said(
        "create", "rolebinding", "reading", "--role=reading", "--serviceaccount=default:reader"
    )
    reader = "--as=system:serviceaccount:default:reader"
    api.said("get", "configmaps", reader)
    assert "Forbidden" in api.refusal("get", "secrets", reader)
    assert "forbidden" in api.refusal("create", "configmap", "mine", reader)


def test_controllers_are_at_work(api: Kubectl) -> None:
    api.said("create", "deployment", "idle", "--image=none.example/none:1", "--replicas=2")
    wait_until(lambda: len(api.read("pods")["items"]) == 2, 20, "two pods of a Deployment")


def test_several_run_at_once_and_know_nothing_of_each_other(
    api: Kubectl, kube_programs: Path, tmp_path: Path
) -> None:
    with bare_control_plane(kube_programs, tmp_path / "other") as other:
        other.said("create", "namespace", "only-here")
        assert "only-here" in other.said("get", "namespaces")
        assert "only-here" not in api.said("get", "namespaces")


def test_nothing_of_one_is_left_when_it_has_ended(kube_programs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    with bare_control_plane(kube_programs, folder):
        assert len(processes_with(folder)) == 3
    assert processes_with(folder) == []


def processes_with(folder: Path) -> list[str]:
    """The processes that have the folder among their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it ended while it was looked at
            continue
        if str(folder) in command:
            found.append(command)
    return found
