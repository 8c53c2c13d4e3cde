"""Fixtures of the contract of tidegate-cosmos: a server and a client for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from contract.cosmos.clients import Container, Sdk
from tidegate_cosmos.testing import RunningCosmos

DATABASE = "home"


@pytest.fixture(params=["sync", "aio"])
async def sdk(request: pytest.FixtureRequest, cosmos: RunningCosmos) -> AsyncIterator[Sdk]:
    made = Sdk(request.param == "aio", cosmos.endpoint, cosmos.key)
    if made.is_async:
        await made.client.__aenter__()
    yield made
    await made.close()


@pytest.fixture
def events(cosmos: RunningCosmos, sdk: Sdk) -> Container:
    """A container of two ranges with the partition key /home."""
    cosmos.add_container(DATABASE, "events", "/home", ranges=2)
    return sdk.container(DATABASE, "events")
