"""Fixtures of the admin API's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.admin_hub import make_hub
from tidegate_hub.server import HubServer


@pytest.fixture
def server() -> Iterator[HubServer]:
    """A hub server without sockets: telemetry with 4 partitions, small with 2 and a group."""
    server = make_hub("telemetry:4", "small:2:analytics")
    yield server
    server.broker.store.close()
