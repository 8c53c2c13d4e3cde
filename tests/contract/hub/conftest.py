"""Fixtures of the hub's contract: one hub for the session, one more that checks SAS, and stages.

Rules: each scenario of each client has a hub name and a container of its own, each time that it is
played, so tests share nothing but the two servers. A module's fixtures may be made twice in one
worker, where tests are taken over from another. Where hubs come from is said in `_running_hub`
and nowhere else.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

from contract.hub.clients import Blob
from contract.hub.scenarios import Scenario
from tidegate_hub.testing import running_hub

_container_numbers = itertools.count(1)
_hub_numbers = itertools.count(1)


def _running_hub(**settings: Any) -> contextlib.AbstractContextManager[Any]:
    return running_hub(**settings)


@pytest.fixture(scope="session")
def hub_server() -> Iterator[Any]:
    """The hub that every scenario but one runs on."""
    with _running_hub() as hub:
        yield hub


@pytest.fixture(scope="session")
def checking_server() -> Iterator[Any]:
    """A hub that checks the signatures of the tokens that it is given."""
    with _running_hub(check_sas=True) as hub:
        yield hub


class Theatre:
    """Makes the hub of a scenario for a client, and containers for its processors."""

    def __init__(self, plain: Any, checking: Any, azurite: str) -> None:
        self._plain = plain
        self._checking = checking
        self.azurite = azurite

    def server_of(self, scenario: Scenario) -> Any:
        return self._checking if scenario.checks_sas else self._plain

    def add_hub(self, client: str, scenario: Scenario) -> str:
        name = f"{client}-{scenario.name}-{next(_hub_numbers)}".replace("_", "-")
        self.server_of(scenario).add_hub(name, scenario.partitions, groups=scenario.groups)
        return name

    def new_container(self) -> Blob:
        """A fresh container."""
        name = f"contract-{next(_container_numbers)}"
        with BlobServiceClient.from_connection_string(self.azurite) as service:
            service.create_container(name)
        return Blob(self.azurite, name)


@pytest.fixture(scope="session")
def theatre(hub_server: Any, checking_server: Any, azurite: str) -> Theatre:
    return Theatre(hub_server, checking_server, azurite)
