"""The ledger's contract runs in every world: memory, Azurite, an old API version, a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from contract.ledger.worlds import BACKENDS, World, open_world


@pytest.fixture(params=BACKENDS)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    backend = request.param
    connection_string = "" if backend == "memory" else request.getfixturevalue("azurite")
    async with open_world(backend, connection_string) as opened:
        yield opened
