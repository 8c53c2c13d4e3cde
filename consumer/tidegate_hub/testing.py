"""A hub for tests, as a pytest plugin: it is registered when Tidegate is installed.

    def test_mine(hub):                     # a fresh hub server for each test
        hub.add_hub("telemetry", 16)
        client = EventHubProducerClient.from_connection_string(
            hub.connection_string, eventhub_name="telemetry")

`hub_server` is the same for a whole session. Each prints its connection string when it is set up:
pytest shows it with `-s`, and where a test fails. Without pytest, use `tidegate_hub.running`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidegate_hub.running import RunningHub, running_hub

__all__ = ["RunningHub", "hub", "hub_server", "running_hub"]


@pytest.fixture(scope="session")
def hub_server() -> Iterator[RunningHub]:
    """One hub server for the session. Give every test hubs of its own names."""
    yield from _shown()


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    """A hub server for one test."""
    yield from _shown()


def _shown() -> Iterator[RunningHub]:
    with running_hub() as running:
        print(f"tidegate-hub: connection string: {running.connection_string}")
        yield running
