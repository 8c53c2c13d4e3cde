"""Two clusters on one machine: each stands by itself, and one ends without touching the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_kubectl import Kubectl
from support.cluster_manifests import pod, python
from support.tree import ROOT

SECONDS = 600  # a cluster takes about half a minute where the cores are free
OTHER = "tidegate-other"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS)]


def manage(*arguments: str) -> str:
    """Run what the make targets run."""
    ran = subprocess.run(
        [sys.executable, ROOT / "cluster" / "manage.py", *arguments], capture_output=True,
        text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def other(cluster: Kubectl) -> Iterator[Kubectl]:
    """A second cluster, of one node; it is gone when its test is over."""
    if "TIDEGATE_CLUSTERS" not in os.environ:
        pytest.skip("the cluster is somebody else's: a second one is made on a machine of ours")
    try:
        manage("up", "--name", OTHER, "--nodes", "1")
        kubeconfig = Path(os.environ["TIDEGATE_CLUSTERS"]) / f"{OTHER}.kubeconfig"
        yield Kubectl(cluster.program, kubeconfig)
    finally:
        _, _, still_there = manage("down", "--name", OTHER).partition("still there: ")
        assert cluster.kubeconfig.stem in still_there


def names_of_nodes(kubectl: Kubectl) -> set[str]:
    return {node["metadata"]["name"] for node in kubectl.read("nodes")["items"]}


def test_a_second_cluster_runs_beside_the_first(cluster: Kubectl, other: Kubectl) -> None:
    assert not names_of_nodes(cluster) & names_of_nodes(other)
    with other.new_namespace("beside") as there:
        there.apply(pod("runs", python("print('beside')")))
        assert there.until_ended("runs")["exitCode"] == 0
        assert there.log("runs") == "beside\n"
        assert there.namespace not in cluster.said("get", "namespaces")
