"""What is still to be handled, asked by a program while no member lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from azure.cosmos import CosmosClient

import tidegate
from support.container_group import DATABASE, ContainerGroup
from tidegate.lag import LagKind
from tidegate.settings import SettingsError

pytestmark = pytest.mark.slow

NewGroup = Callable[..., ContainerGroup]


def test_an_estimate_is_cheap_and_right_through_a_split_and_exact_where_nothing_waits(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=2)
    before = asyncio.run(tidegate.estimate(group.file, group.environment))
    assert (before.total.lag.events, before.total.lag.kind) == (0, LagKind.ESTIMATED)
    group.write(50)
    group.start("a")
    group.wait_until_all_seen(60)
    group.stop("a")
    done = asyncio.run(tidegate.estimate(group.file, group.environment))
    assert (done.total.lag.events, done.total.lag.kind) == (0, LagKind.EXACT)
    group.write(30)
    waiting = asyncio.run(tidegate.estimate(group.file, group.environment))
    assert (waiting.total.lag.events, waiting.total.lag.kind) == (30, LagKind.ESTIMATED)
    assert len(waiting.partitions) == 2
    assert 0 < waiting.request_units < 12
    group.split(0)
    split = asyncio.run(tidegate.estimate(group.file, group.environment))
    assert split.total.lag.kind is LagKind.ESTIMATED, "both halves count the log that was one"
    assert split.total.lag.events is not None and split.total.lag.events >= 30


def test_deletes_that_use_up_numbers_are_no_exact_lag(new_group: NewGroup) -> None:
    group = new_group(ranges=1)
    group.write(10)
    group.start("a")
    group.wait_until_all_seen(60)
    group.stop("a")
    with CosmosClient(group.cosmos.endpoint, group.cosmos.key) as client:
        items = client.get_database_client(DATABASE).get_container_client(group.name)
        items.upsert_item({"id": "new", "home": "h", "n": 10})
        for number in range(5):
            items.delete_item(str(number), f"h{number}")
    found = asyncio.run(tidegate.estimate(group.file, group.environment))
    assert (found.total.lag.events, found.total.lag.kind) == (6, LagKind.ESTIMATED)


def test_an_estimate_of_a_file_that_is_not_there_says_so(new_group: NewGroup) -> None:
    group = new_group(ranges=1)
    with pytest.raises(SettingsError, match="cannot be read"):
        asyncio.run(tidegate.estimate(group.folder / "none.yaml"))
