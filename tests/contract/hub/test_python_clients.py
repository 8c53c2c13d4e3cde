"""The official Python SDK, synchronous and asyncio, in every scenario of the contract."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract.hub.aio_client import AioHubClient
from contract.hub.clients import HubClient
from contract.hub.performance import Performance
from contract.hub.python.implemented import IMPLEMENTED
from contract.hub.python.stage import Stage
from contract.hub.scenarios import SCENARIOS, Scenario
from contract.hub.selection import scenarios_asked_for
from contract.hub.sync_client import SyncHubClient

CLIENTS: dict[str, Callable[..., HubClient]] = {"sync": SyncHubClient, "aio": AioHubClient}

# The SDK leaves sockets to the garbage collector when the hub refuses it, and passes ssl=None to
# aiohttp. Neither is ours to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:ssl=None is deprecated:DeprecationWarning"),
]


def _play(kind: str, theatre: Any) -> Callable[[Scenario], Any]:
    async def play(scenario: Scenario) -> None:
        hub = theatre.add_hub(kind, scenario)
        client = CLIENTS[kind](theatre.server_of(scenario).connection_string, hub)
        try:
            await IMPLEMENTED[scenario.name](Stage(client, hub, theatre.new_container))
        finally:
            await client.close()

    return play


@pytest.fixture(scope="module")
def performance(
    theatre: Any, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Performance]]:
    """One performance for each client, of the scenarios that this run of pytest asks for."""
    started: dict[str, Performance] = {}

    def of(kind: str) -> Performance:
        if kind not in started:
            scenarios = scenarios_asked_for(request, kind=kind)
            started[kind] = Performance(scenarios, _play(kind, theatre))
        return started[kind]

    yield of
    for performance in started.values():
        performance.stop()
    with warnings.catch_warnings():  # the sockets that are left must not trouble other tests
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("kind", CLIENTS)
def test_the_python_client_keeps_the_contract(
    kind: str, scenario: Scenario, performance: Callable[[str], Performance]
) -> None:
    performance(kind).raise_outcome(scenario.name)
