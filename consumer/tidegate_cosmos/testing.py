"""A Cosmos DB for tests, as a pytest plugin: it is registered when Tidegate is installed.

    def test_mine(cosmos):                     # a fresh server for each test
        cosmos.add_container("home", "events", "/home", ranges=4)
        client = CosmosClient(cosmos.endpoint, cosmos.key)

`cosmos_server` is the same for a whole session. Each prints its connection string when it is set
up: pytest shows it with `-s`, and where a test fails. Without pytest, use
`tidegate_cosmos.running`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidegate_cosmos.running import RunningCosmos, running_cosmos

__all__ = ["RunningCosmos", "cosmos", "cosmos_server", "running_cosmos"]


@pytest.fixture(scope="session")
def cosmos_server() -> Iterator[RunningCosmos]:
    """One server for the session. Give every test containers of its own names."""
    yield from _shown()


@pytest.fixture
def cosmos() -> Iterator[RunningCosmos]:
    """A server for one test."""
    yield from _shown()


def _shown() -> Iterator[RunningCosmos]:
    with running_cosmos() as running:
        print(f"tidegate-cosmos: connection string: {running.connection_string}")
        yield running
