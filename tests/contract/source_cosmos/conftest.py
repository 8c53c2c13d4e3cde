"""A container for each test, on one server of the session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from contract.source_cosmos.world import World
from tidegate_cosmos.testing import RunningCosmos


@pytest_asyncio.fixture
async def world(cosmos_server: RunningCosmos) -> AsyncIterator[World]:
    """A fresh container of two ranges."""
    made = World(cosmos_server)
    yield made
    await made.close()
    cosmos_server.clear_faults()
