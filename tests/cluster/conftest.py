"""The cluster that the suite runs on, as `make test-cluster` names it, and namespaces on it.

Rules: nothing here makes a cluster but the fixture for a second one. Every test module has a
namespace of its own, in which only restricted pods may run; it is deleted at the end. The tests of
the operator share one release of the chart, and some of them the group whose events are counted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import chaos_page
from support.cluster_chaos import Chaos
from support.cluster_chaos_group import chaos_group
from support.cluster_counting import Counted, counted_group
from support.cluster_kubectl import Kubectl
from support.cluster_release import Release, a_release
from support.helm_chart import Helm


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


@pytest.fixture(scope="module")
def helm(helm_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(helm_program, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def release(
    cluster: Kubectl, helm_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The chart, installed with hub and storage."""
    helm = Helm(helm_program, tmp_path_factory.mktemp("helm"), cluster.kubeconfig)
    with a_release(helm, cluster) as release:
        yield release


@pytest.fixture(scope="session")
def storage(release: Release) -> Iterator[str]:
    """The connection string of the release's storage, as this machine reaches it."""
    with release.storage() as address:
        yield address


@pytest.fixture(scope="session")
def counted(
    release: Release, storage: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Counted]:
    """A group with three pods and twelve partitions, whose every event is counted."""
    with counted_group(release, tmp_path_factory.mktemp("counted"), storage) as counted:
        yield counted


@pytest.fixture(scope="session")
def chaos(
    release: Release, storage: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chaos]:
    """A group with three pods and nine partitions, to which everything is done."""
    with chaos_group(release, tmp_path_factory.mktemp("chaos"), storage) as chaos:
        yield chaos
    # The page is never older than the figures.
    chaos_page.main()
