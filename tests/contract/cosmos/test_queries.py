"""Queries by the official Python SDK: in one partition, across them, paged, and refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from contract.cosmos.clients import Container, Sdk
from tidegate_cosmos.testing import RunningCosmos


@pytest.fixture
async def filled(events: Container) -> Container:
    for number in range(20):
        item = {"id": f"pre..{number}", "home": f"h{number % 4}", "n": number}
        await events.create({**item, "Owner": None} if number % 2 else item)
    return events


@pytest.mark.parametrize(
    ("text", "having", "found"),
    [
        ("SELECT * FROM c WHERE STARTSWITH(c.id, @p)", {"p": "pre..1"}, 11),
        ("SELECT * FROM c WHERE c.n = @n", {"n": 3}, 1),
        ("SELECT * FROM c WHERE c.n >= 5 AND c.n < 8", {}, 3),
        ("SELECT * FROM root r WHERE r.n IN (1, 2, 99)", {}, 2),
        ("SELECT * FROM c WHERE IS_DEFINED(c.Owner)", {}, 10),
        ("SELECT * FROM c WHERE NOT IS_DEFINED(c.Owner) OR c.n = 1", {}, 11),
        ('SELECT * FROM c WHERE c["home"] = "h1" AND c.Owner = null', {}, 5),
        ("SELECT * FROM c WHERE c.n BETWEEN 2 AND 4", {}, 3),
        ("SELECT * FROM c WHERE c.Owner != 'x'", {}, 10),
        ("SELECT TOP 3 * FROM c", {}, 3),
        ("SELECT * FROM c", {}, 20),
    ],
)
async def test_a_query_finds_its_items_in_all_partitions(
    filled: Container, text: str, having: dict[str, object], found: int
) -> None:
    assert len(await filled.query(text, having=having)) == found


async def test_a_query_of_one_partition_finds_nothing_of_others(filled: Container) -> None:
    found = await filled.query("SELECT * FROM c WHERE c.n < 10", partition_key="h1")
    assert [item["n"] for item in found] == [1, 5, 9]
    counted = await filled.query("SELECT VALUE COUNT(1) FROM c", partition_key="h1")
    assert counted == [5]


async def test_columns_and_values_are_selected(filled: Container) -> None:
    query = "SELECT c.id, c.n AS number FROM c WHERE c.n = 4"
    assert await filled.query(query) == [{"id": "pre..4", "number": 4}]
    assert await filled.query("SELECT VALUE c.n FROM c WHERE c.n > 17") in ([18, 19], [19, 18])


async def test_pages_hold_every_item_once(filled: Container) -> None:
    for key in ({}, {"partition_key": "h1"}):
        found = await filled.query("SELECT * FROM c", max_item_count=3, **key)
        assert len({item["id"] for item in found}) == len(found) == (5 if key else 20)
    assert len(await filled.all_items(max_item_count=3)) == 20


async def test_a_query_goes_on_through_a_split_between_pages(
    cosmos: RunningCosmos, sdk: Sdk, filled: Container
) -> None:
    walk = filled.held.query_items("SELECT * FROM c", partition_key="h1", max_item_count=2)
    pages = walk.by_page()
    found = await sdk.listed(await anext(pages) if sdk.is_async else next(pages))
    for held in cosmos.ranges("home", "events"):
        cosmos.split("home", "events", held)
    while True:
        try:
            page = await anext(pages) if sdk.is_async else next(pages)
        except (StopAsyncIteration, StopIteration):
            break
        found += await sdk.listed(page)
    assert [item["n"] for item in found] == [1, 5, 9, 13, 17]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM c WHERE c.n == 3", "incorrect syntax near '='"),
        ("SELECT * FROM c WHERE c.n = @missing", "@missing"),
        ("SELECT * FROM c ORDER BY c.n", "does not serve ORDER"),
        ("SELECT * FROM c WHERE d.n = 3", "'d' could not be resolved"),
        ("SELECT * FROM c WHERE REGEXMATCH(c.id, 'a')", "no function REGEXMATCH"),
        ("DELETE FROM c", "expected SELECT"),
    ],
)
async def test_a_query_that_is_not_served_is_refused_with_the_reason(
    filled: Container, text: str, said: str
) -> None:
    with pytest.raises(CosmosHttpResponseError) as refused:
        await filled.query(text)
    assert refused.value.status_code == 400
    assert said in str(refused.value)


def longest_block(cosmos: RunningCosmos, over: threading.Event) -> float:
    """The longest time that the server's loop worked without a pause, in seconds of its thread."""
    longest, before = 0.0, cosmos.call(time.thread_time)
    while not over.wait(0.005):
        now = cosmos.call(time.thread_time)
        longest, before = max(longest, now - before), now
    return longest


async def test_a_query_of_many_terms_over_many_items_is_answered_and_holds_up_nobody_else(
    cosmos: RunningCosmos, sdk: Sdk
) -> None:
    cosmos.add_container("home", "many", "/home")
    held = cosmos.call(lambda: cosmos._server.container("home", "many"))

    def fill(begin: int) -> None:
        for number in range(begin, begin + 500):
            held.create({"id": str(number), "home": "h", "n": number}, time.time())

    for begin in range(0, 10_000, 500):
        cosmos.call(partial(fill, begin))
    many = sdk.container("home", "many")
    terms = " OR ".join(f"c.n = {-number}" for number in range(1, 500))
    values = ", ".join(str(-number) for number in range(1, 16_000))
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(longest_block, cosmos, over)
        try:
            for condition in (f"{terms} OR c.n = 9990", f"c.n IN ({values}, 9990)"):
                text = f"SELECT VALUE c.id FROM c WHERE {condition}"
                assert await many.query(text, partition_key="h") == ["9990"]
            with pytest.raises(CosmosHttpResponseError) as refused:
                await many.query(f"SELECT * FROM c WHERE {' OR '.join(['c.n=1'] * 20_000)}")
            assert refused.value.status_code == 400
        finally:
            over.set()
        assert looking.result(60) < 1.0


async def test_what_is_not_served_is_refused_with_405_and_a_sentence(
    events: Container, sdk: Sdk
) -> None:
    made = await events.create({"id": "a", "home": "h1"})
    batch = [("create", ({"id": "b", "home": "h1"},)), ("delete", ("a",))]
    patch = [{"op": "add", "path": "/v", "value": 1}]
    held = events.held
    asked: list[Callable[[], Any]] = [
        lambda: held.execute_item_batch(batch, partition_key="h1"),
        lambda: held.delete_all_items_by_partition_key("h1"),
        lambda: held.patch_item("a", "h1", patch),
    ]
    for ask in asked:
        with pytest.raises(CosmosHttpResponseError, match="does not serve") as refused:
            await sdk.call(ask)
        assert refused.value.status_code == 405
    assert await events.all_items() == [made]
