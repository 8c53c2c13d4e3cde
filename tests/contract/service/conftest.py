"""The real service, for as long as a test; skipped with the reason where there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from contract.service.place import ServicePlace

# The SDK forgets the socket of a connection that was cut, and Python warns of it.
_FORGETS_SOCKETS = (
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
)


@pytest_asyncio.fixture(params=["native", "websocket", pytest.param("sdk", marks=_FORGETS_SOCKETS)])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[ServicePlace]:
    """The hub, by each transport in turn."""
    made = ServicePlace(request.param)
    yield made
    await made.close()
