"""Items by the official Python SDK: what is written is read, and conditions hold."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError,
    CosmosHttpResponseError,
    CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)

from contract.cosmos.clients import Container, Sdk
from support.wait import wait_until_async
from tidegate_cosmos.testing import RunningCosmos


async def test_a_database_and_a_container_are_made_found_and_removed(sdk: Sdk) -> None:
    database = await sdk.call(sdk.client.create_database_if_not_exists, "garden")
    container = await sdk.call(
        database.create_container_if_not_exists,
        "beds",
        PartitionKey("/bed"),
        default_ttl=-1,
        offer_throughput=30_000,
    )
    told = await sdk.call(container.read)
    assert told["partitionKey"] == {"paths": ["/bed"], "kind": "Hash", "version": 2}
    assert told["defaultTtl"] == -1
    assert len(await Container(sdk, container).feed_ranges()) == 3
    throughput = await sdk.call(container.get_throughput)
    assert throughput.offer_throughput == 30_000
    names = [each["id"] for each in await sdk.listed(database.list_containers())]
    assert names == ["beds"]
    await sdk.call(database.delete_container, "beds")
    with pytest.raises(CosmosResourceNotFoundError):
        await sdk.call(container.read)


async def test_a_written_item_is_read_with_what_the_service_adds(events: Container) -> None:
    headers: dict[str, str] = {}
    made = await events.create(
        {"id": "a", "home": "h1", "v": 1}, response_hook=lambda told, _body: headers.update(told)
    )
    read = await events.read("a", "h1")
    assert read == made
    assert {"_rid", "_self", "_etag", "_ts", "_attachments"} <= set(read)
    assert float(headers["x-ms-request-charge"]) > 0
    assert headers["x-ms-session-token"].endswith(headers["lsn"])
    again = await events.upsert({"id": "a", "home": "h1", "v": 2})
    assert again["_rid"] == made["_rid"]
    assert again["_etag"] != made["_etag"]


async def test_items_of_one_id_and_two_keys_are_two_items(events: Container) -> None:
    for key in ("h1", "h2", None, True, 1, 1.5):
        await events.create({"id": "a", "home": key})
    assert (await events.read("a", "h2"))["home"] == "h2"
    assert (await events.read("a", 1))["home"] == 1
    assert (await events.read("a", True))["home"] is True
    assert len(await events.all_items()) == 6


async def test_an_item_that_is_there_is_not_made_again(events: Container) -> None:
    await events.create({"id": "a", "home": "h1"})
    with pytest.raises(CosmosResourceExistsError):
        await events.create({"id": "a", "home": "h1"})


async def test_a_write_on_an_old_etag_is_refused(events: Container) -> None:
    made = await events.create({"id": "a", "home": "h1"})
    await events.replace({**made, "v": 2}, etag=made["_etag"])
    with pytest.raises(CosmosAccessConditionFailedError):
        await events.replace({**made, "v": 3}, etag=made["_etag"])
    with pytest.raises(CosmosAccessConditionFailedError):
        await events.delete("a", "h1", etag=made["_etag"])
    assert (await events.read("a", "h1"))["v"] == 2


async def test_a_deleted_item_is_not_found(events: Container) -> None:
    await events.create({"id": "a", "home": "h1"})
    await events.delete("a", "h1")
    with pytest.raises(CosmosResourceNotFoundError):
        await events.read("a", "h1")
    with pytest.raises(CosmosResourceNotFoundError):
        await events.replace({"id": "a", "home": "h1"})


async def test_items_are_read_replaced_and_deleted_by_the_dict_that_the_server_gave(
    cosmos: RunningCosmos, events: Container, sdk: Sdk
) -> None:
    """The SDK takes the item's `_self` for its address."""
    call, held = sdk.call, events.held
    made = [await events.create({"id": f"a-{n}", "home": "h1"}) for n in range(4)]
    for item in made:
        assert dict(await call(held.read_item, item, "h1")) == item
    replaced = dict(await call(held.replace_item, made[0], {**made[0], "v": 2}))
    assert (replaced["v"], replaced["_rid"]) == (2, made[0]["_rid"])
    with pytest.raises(CosmosAccessConditionFailedError):
        await call(
            held.replace_item,
            made[0],
            made[0],
            etag=made[0]["_etag"],
            match_condition=MatchConditions.IfNotModified,
        )
    cosmos.split("home", "events", "0")
    await call(held.delete_item, made[1], "h1")
    for ask in (held.read_item, held.delete_item):
        with pytest.raises(CosmosResourceNotFoundError):
            await call(ask, made[1], "h1")
    with pytest.raises(CosmosResourceNotFoundError):
        await call(held.read_item, made[2], "another home")
    new = await events.create({"id": "new", "home": "h1"})
    assert dict(await call(held.read_item, new, "h1")) == new
    assert sorted(each["id"] for each in await events.all_items()) == ["a-0", "a-2", "a-3", "new"]


async def test_databases_and_containers_are_found_and_deleted_by_the_dict_that_the_server_gave(
    sdk: Sdk,
) -> None:
    await sdk.call(sdk.client.create_database, "garden")
    (told,) = await sdk.listed(sdk.client.list_databases())
    database = sdk.client.get_database_client(told)
    await sdk.call(database.create_container, "beds", PartitionKey("/bed"))
    (bed,) = await sdk.listed(database.list_containers())
    container = database.get_container_client(bed)
    assert dict(await sdk.call(container.create_item, {"id": "a", "bed": "b"}))["id"] == "a"
    replaced = await sdk.call(database.replace_container, bed, PartitionKey("/bed"), default_ttl=9)
    assert (await sdk.call(replaced.read))["defaultTtl"] == 9
    await sdk.call(database.delete_container, bed)
    await sdk.call(sdk.client.delete_database, told)
    assert await sdk.listed(sdk.client.list_databases()) == []


async def test_an_item_ends_by_its_time_to_live(cosmos: RunningCosmos, sdk: Sdk) -> None:
    cosmos.add_container("home", "leases", "/id", default_ttl=-1)
    leases = sdk.container("home", "leases")
    await leases.create({"id": "pre.lock", "ttl": 1})
    await leases.create({"id": "pre.info"})
    assert len(await leases.all_items()) == 2
    await wait_until_async(
        lambda: len(cosmos.items("home", "leases")) == 1, 10, "the item with a ttl to end"
    )
    assert [item["id"] for item in await leases.all_items()] == ["pre.info"]
    with pytest.raises(CosmosResourceNotFoundError):
        await leases.read("pre.lock", "pre.lock")


async def test_a_hierarchical_key_is_found_whole_and_by_its_beginning(
    cosmos: RunningCosmos, sdk: Sdk
) -> None:
    cosmos.add_container("home", "readings", ["/home", "/sensor"], ranges=3)
    readings = sdk.container("home", "readings")
    for number in range(12):
        await readings.create(
            {"id": str(number), "home": f"h{number % 3}", "sensor": f"s{number % 2}"}
        )
    assert (await readings.read("4", ["h1", "s0"]))["id"] == "4"
    of_home = await readings.query("SELECT * FROM c", partition_key=["h1"])
    assert sorted(item["id"] for item in of_home) == ["1", "10", "4", "7"]


async def test_a_wrong_key_is_refused(cosmos: RunningCosmos) -> None:
    for is_async in (False, True):
        with pytest.raises(CosmosHttpResponseError) as refused:
            sdk = Sdk(is_async, cosmos.endpoint, "d3Jvbmc=")
            try:
                await sdk.call(sdk.client.get_database_client("home").read)
            finally:
                await sdk.close()
        assert refused.value.status_code == 401
        assert "key" in str(refused.value)


async def test_a_missing_container_and_database_are_not_found(
    cosmos: RunningCosmos, sdk: Sdk
) -> None:
    cosmos.add_container("home", "events", "/home")
    for database, name in (("home", "nothing"), ("nowhere", "events")):
        with pytest.raises(CosmosResourceNotFoundError):
            await sdk.container(database, name).read("a", "h1")


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"home": "h1", "id": "a/b"}, "id"),
        ({"id": "a", "home": "h1", "ttl": "soon"}, "ttl"),
        ({"id": "a", "home": ["h1"]}, "partition key"),
    ],
)
async def test_an_item_that_cannot_be_is_refused_with_the_reason(
    events: Container, item: dict[str, Any], said: str
) -> None:
    with pytest.raises((CosmosHttpResponseError, ValueError, TypeError)) as refused:
        await events.create(item)
    if isinstance(refused.value, CosmosHttpResponseError):
        assert refused.value.status_code == 400
        assert said in str(refused.value)


async def test_a_container_made_again_is_not_taken_for_the_old_one(
    cosmos: RunningCosmos, sdk: Sdk, events: Container
) -> None:
    await events.create({"id": "a", "home": "h1"})
    database = sdk.client.get_database_client("home")
    await sdk.call(database.delete_container, "events")
    cosmos.add_container("home", "events", "/home", ranges=3)
    with pytest.raises(CosmosResourceNotFoundError):
        await events.read("a", "h1")
    await events.create({"id": "b", "home": "h1"})
    assert [item["id"] for item in await events.all_items()] == ["b"]
