"""Who asks a running `tidegate up` gets what a cluster would say, and changes the spec alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest

from support.api_contract import config_map, group
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP
from tidegate_operator.kube_errors import Conflict, Denied, Invalid, NotThere, Unreachable
from tidegate_operator.local.admission import admit
from tidegate_operator.local.client import Client, asking
from tidegate_operator.local.serving import serving
from tidegate_operator.local.state import Served
from tidegate_operator.local.store import Store
from tidegate_operator.objects import Groups

WHERE = "default"


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    store = Store(lambda: 1_000_000.0, lambda: "uid-1", admit)
    store.create(group(WHERE))
    store.create({**config_map(WHERE, a="1"), "metadata": {"name": "mine", "namespace": WHERE}})
    async with serving(store, "the-token") as served:
        yield served


@pytest.fixture
async def kube(served: Served) -> AsyncIterator[Client]:
    async with asking(served) as client:
        yield client


async def test_objects_are_found_and_listed(kube: Groups) -> None:
    assert (await kube.get(CONFIG_MAP, WHERE, "mine"))["data"] == {"a": "1"}
    assert await kube.find(CONFIG_MAP, WHERE, "other") is None
    with pytest.raises(NotThere, match="read ConfigMap default/other: it is not there"):
        await kube.get(CONFIG_MAP, WHERE, "other")
    found = await kube.get(CONSUMER_GROUP, WHERE, "activity", metadata_only=True)
    assert found["metadata"]["uid"] == "uid-1" and "spec" not in found
    everywhere = await kube.list(CONSUMER_GROUP)
    assert [each["metadata"]["name"] for each in everywhere] == ["activity"]
    assert await kube.list(CONSUMER_GROUP, "homes") == []
    assert await kube.list(CONSUMER_GROUP, WHERE, labels="of=us") == []


async def test_the_spec_of_a_group_is_changed_as_it_was_seen(kube: Groups) -> None:
    first = await kube.get(CONSUMER_GROUP, WHERE, "activity")
    version = first["metadata"]["resourceVersion"]
    change = {"spec": {"paused": True}}
    found = await kube.patch(CONSUMER_GROUP, WHERE, "activity", change, resource_version=version)
    assert found["spec"]["paused"] is True
    with pytest.raises(Conflict):
        await kube.patch(CONSUMER_GROUP, WHERE, "activity", change, resource_version=version)
    with pytest.raises(Conflict):
        await kube.patch(CONSUMER_GROUP, WHERE, "activity", change, uid="another")
    with pytest.raises(Invalid, match="replicas is to be within"):
        await kube.patch(CONSUMER_GROUP, WHERE, "activity", {"spec": {"replicas": 99}})


async def test_nothing_else_can_be_changed(kube: Client, served: Served) -> None:
    with pytest.raises(Invalid, match="only the spec of a group can be changed here"):
        await kube.patch(CONSUMER_GROUP, WHERE, "activity", {"status": {"lag": 0}})
    headers = {"Authorization": f"Bearer {served.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        where = served.url + CONFIG_MAP.path(WHERE, "mine")
        for verb in ("PATCH", "PUT", "DELETE"):
            async with session.request(verb, where, json={}) as answer:
                assert answer.status == 405
        where = served.url + CONSUMER_GROUP.path(WHERE, "activity")
        async with session.patch(where, data=b"{") as answer:
            assert answer.status == 400


async def test_nobody_without_the_token_is_answered(served: Served) -> None:
    async with asking(replace(served, token="another")) as stranger:
        with pytest.raises(Denied, match="credentials"):
            await stranger.list(CONSUMER_GROUP)


async def test_one_that_has_ended_is_said(served: Served) -> None:
    async with asking(replace(served, url="http://127.0.0.1:1")) as client:
        with pytest.raises(Unreachable, match="`tidegate up` does not answer any more"):
            await client.list(CONSUMER_GROUP)
