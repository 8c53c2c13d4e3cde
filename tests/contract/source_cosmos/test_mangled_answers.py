"""A reader of a change feed gives changes or a SourceError, for any answer."""

from __future__ import annotations

import asyncio

import pytest

from contract.source_cosmos.world import DATABASE, World, until_quiet
from support.mangling_proxy import mangling_proxy
from tidegate.model import BEGINNING
from tidegate.ports import SourceError
from tidegate.sources.cosmos.pages import client_of
from tidegate.sources.cosmos.settings import FeedSettings
from tidegate.sources.cosmos.source import CosmosSource

pytestmark = pytest.mark.slow

TRIES = 60


@pytest.mark.parametrize("seed", range(3))
async def test_an_answer_that_is_none_fails_its_request_and_nothing_else(
    world: World, seed: int
) -> None:
    await world.write(range(20))
    port = int(world.server.endpoint.rstrip("/").rpartition(":")[2])
    with mangling_proxy(port, seed) as proxy:
        endpoint = world.server.endpoint.replace(f":{port}", f":{proxy.port}")
        settings = FeedSettings(
            DATABASE, world.name, poll_s=0.05, patience_s=0.2, timeout_s=2.0, quiet_s=0.2
        )
        source = CosmosSource(settings, lambda: client_of(endpoint, world.server.key), None)
        proxy.share, refused = 0.6, 0
        try:
            for number in range(TRIES):
                try:
                    partitions = await source.partitions()
                    partition = partitions[number % len(partitions)]
                    await source.resolve_start(partition)
                    reader = source.reader(partition, BEGINNING, 1)
                    try:
                        await reader.open()
                        await reader.receive()
                    finally:
                        await reader.close()
                except SourceError as error:
                    refused += 1
                    assert world.server.key not in str(error)
            assert refused > TRIES / 4
            proxy.share = 0.0
            await source.partitions()
            readable = await asyncio.wait_for(source.partitions(), 30)
            assert len(readable) == 2
        finally:
            await source.close()
    found = [change for each in readable for change in await until_quiet(await world.reader(each))]
    assert len(found) == 20
