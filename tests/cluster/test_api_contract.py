"""The list of what the operator relies on of the API, on a real API server.

The same list is kept by the objects of `tidegate up`: tests/unit/operator/local/test_api.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.api_contract import ApiContract
from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from tidegate_operator.kube import Kube, connect


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane that knows ConsumerGroups."""
    folder = tmp_path_factory.mktemp("contract") / "state"
    with control_plane_with_groups(kube_programs, folder) as api:
        yield api


@pytest.fixture
def where(api: Kubectl) -> Iterator[str]:
    with api.new_namespace("contract") as inside:
        yield inside.namespace


@pytest.fixture
async def kube(api: Kubectl) -> AsyncIterator[Kube]:
    client = connect(kubeconfig=str(api.kubeconfig))
    yield client
    await client.close()


class TestRealApi(ApiContract):
    """The list, on a real API server."""
