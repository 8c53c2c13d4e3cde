"""`tidegate conformance` where it cannot run: it says why and what to do, and leaves nothing.

On a real API server without nodes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cluster_conformance import TIDEGATE, until_nothing_is_left
from support.cluster_control_plane import bare_control_plane
from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from support.role_holder import role_holder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("conformance") / "state"
    with control_plane_with_groups(kube_programs, folder) as api:
        yield api


@pytest.fixture
def inside(api: Kubectl) -> Iterator[Kubectl]:
    with api.new_namespace("tried") as inside:
        yield inside


def run(inside: Kubectl, *words: str, who: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KUBECONFIG": str(who or inside.kubeconfig)}
    command = [str(TIDEGATE), "conformance", "--namespace", inside.namespace, *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def test_a_cluster_without_the_kind_is_told_to_install_the_chart(
    kube_programs: Path, tmp_path: Path
) -> None:
    with bare_control_plane(kube_programs, tmp_path / "state") as bare:
        ran = run(bare)
    assert ran.returncode == 1, ran.stderr
    assert "this cluster has no ConsumerGroups: install the chart first" in ran.stderr


def test_what_the_namespace_does_not_allow_is_said_and_what_was_made_is_removed(
    inside: Kubectl,
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
             "spec": {"hard": {"pods": "1"}}}  # fmt: skip
    inside.apply(quota)
    ran = run(inside)
    assert ran.returncode == 1
    assert "quota" in ran.stderr and "removing what was made" in ran.stderr, ran.stderr
    until_nothing_is_left(inside)


def test_a_right_that_is_missing_is_named_with_all_that_a_run_needs(
    inside: Kubectl, tmp_path: Path
) -> None:
    ran = run(inside, who=role_holder(inside, "nobody", [], tmp_path / "kubeconfig"))
    assert ran.returncode == 1
    assert "list consumergroups" in ran.stderr and "pods/exec: get, create" in ran.stderr
    until_nothing_is_left(inside)


def test_a_group_of_that_name_is_left_alone(inside: Kubectl) -> None:
    secret = {"secret": "s", "key": "k"}
    group: dict[str, Any] = {
        "apiVersion": "tidegate.dev/v1alpha1", "kind": "ConsumerGroup",
        "metadata": {"name": "conformance"},
        "spec": {
            "source": {"eventHubs": {"hub": "h", "connectionString": secret}},
            "ledger": {"container": "ledger", "connectionString": secret},
            "handler": {"code": "tidegate.handlers.printing:handle"},
        },
    }  # fmt: skip
    inside.apply(group)
    ran = run(inside)
    assert ran.returncode == 1 and "choose another --name" in ran.stderr, ran.stderr
    assert run(inside, "--tidy").returncode == 0
    found = inside.read("cg", "conformance")["spec"]["source"]
    assert found["eventHubs"]["hub"] == "h", "it has not the label of a run"


def test_a_setting_that_cannot_be_used_is_code_78_and_nothing_is_made(inside: Kubectl) -> None:
    for words in (("--operator", "alone"), ("--replicas", "1"), ("--minutes", "0.1"),
                  ("--engine", "spark", "--source", "cosmos")):  # fmt: skip
        ran = run(inside, *words)
        assert ran.returncode == 78, ran.stderr
    until_nothing_is_left(inside)
