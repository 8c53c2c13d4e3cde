"""One hub server for the session; each test gets a hub of its own for each transport."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from contract.source.hubs import SourceWorld
from tidegate_hub.testing import RunningHub

# The SDK forgets the socket of a connection that was cut, and Python warns of it.
_FORGETS_SOCKETS = (
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
)


@pytest_asyncio.fixture(params=["native", pytest.param("sdk", marks=_FORGETS_SOCKETS)])
async def world(
    request: pytest.FixtureRequest, hub_server: RunningHub
) -> AsyncIterator[SourceWorld]:
    """A fresh hub, read by each transport in turn."""
    made = SourceWorld(hub_server, request.param)
    yield made
    await made.close()
    hub_server.clear_faults()


@pytest_asyncio.fixture
async def native(hub_server: RunningHub) -> AsyncIterator[SourceWorld]:
    """A fresh hub, read by our own receiver."""
    made = SourceWorld(hub_server, "native")
    yield made
    await made.close()
    hub_server.clear_faults()


@pytest.fixture(autouse=True)
def sockets_that_the_sdk_leaves() -> Iterator[None]:
    """The SDK leaves sockets to the garbage collector after a cut: they are collected here, where
    they come from, and not in whichever test is next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
