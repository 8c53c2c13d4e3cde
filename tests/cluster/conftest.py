"""The cluster that the suite runs on, as `make test-cluster` names it, and namespaces on it.

Rules: nothing here makes a cluster but the fixture for a second one. Every test module has a
namespace of its own, in which only restricted pods may run; it is deleted at the end.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_kubectl import Kubectl


def _named(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        pytest.fail(f"{variable} is not set: run `make test-cluster`, which makes a cluster")
    return value


@pytest.fixture(scope="session")
def cluster() -> Kubectl:
    """kubectl on the cluster of this run."""
    program = os.environ.get("TIDEGATE_KUBECTL") or shutil.which("kubectl")
    assert program, "there is no kubectl: run `make test-cluster`"
    return Kubectl(Path(program), Path(_named("KUBECONFIG")))


@pytest.fixture(scope="module")
def inside(cluster: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of this module."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    with cluster.new_namespace(name) as inside:
        yield inside


@pytest.fixture(scope="session")
def kube_programs() -> Path:
    """The folder of Kubernetes' programs, of which bare control planes are made."""
    folder = os.environ.get("TIDEGATE_KUBE")
    if not folder:
        pytest.skip("Kubernetes was not compiled: run `python3 cluster/manage.py programs` once")
    return Path(folder)


@pytest.fixture(scope="session")
def helm_program() -> Path:
    """helm, as it renders and installs the chart."""
    program = os.environ.get("TIDEGATE_HELM") or shutil.which("helm")
    if not program:
        pytest.skip("there is no helm: install it, or run `make cluster` once where none can be")
    return Path(program)
