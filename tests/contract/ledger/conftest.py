"""The contract of the ledger runs in every world: memory, Azurite, an old API, a thread, Cosmos."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from contract.ledger.cosmos_world import DATABASE
from contract.ledger.shared_world import KINDS, Shared, open_shared
from contract.ledger.worlds import BACKENDS, World, open_world
from tidegate_cosmos.testing import RunningCosmos


@pytest.fixture(params=BACKENDS)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    backend = request.param
    fixture = {"memory": "", "cosmos": "cosmos_account"}.get(backend, "azurite")
    connection_string = request.getfixturevalue(fixture) if fixture else ""
    async with open_world(backend, connection_string) as opened:
        yield opened


@pytest.fixture(scope="session")
def cosmos_account(cosmos_server: RunningCosmos) -> str:
    """The connection string of an embedded Cosmos DB; its database for ledgers is there."""
    cosmos_server.add_container(DATABASE, "leases")
    return cosmos_server.connection_string


@pytest.fixture(params=KINDS, ids="".join)
async def shared(request: pytest.FixtureRequest, cosmos: RunningCosmos) -> AsyncIterator[Shared]:
    async with open_shared(cosmos, *request.param) as opened:
        yield opened
