"""The objects of `tidegate up` answer as a cluster's do, and every change of them is told."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from support.api_contract import ApiContract, config_map, group
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, EVENT, POD, Document, Kind
from tidegate_operator.local.admission import admit
from tidegate_operator.local.api import LocalApi, watching
from tidegate_operator.local.store import Store
from tidegate_operator.settings import OperatorSettings

WHERE = "homes"


def new_store() -> Store:
    numbers = itertools.count()
    return Store(lambda: 1_000_000.0, lambda: f"uid-{next(numbers)}", admit)


@pytest.fixture
def store() -> Store:
    return new_store()


@pytest.fixture
def kube(store: Store) -> LocalApi:
    return LocalApi(store)


@pytest.fixture
def where() -> str:
    return WHERE


class TestLocalApi(ApiContract):
    """The list, in memory."""


class Told:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str, bool]] = []

    def __call__(self, kind: Kind, document: Mapping[str, Any], is_gone: bool) -> None:
        self.heard.append((kind.name, document["metadata"]["name"], is_gone))


def pod(name: str, **labels: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": WHERE, "labels": labels},
        "spec": {},
    }


async def test_the_watches_tell_what_there_is_and_then_every_change(
    store: Store, kube: LocalApi
) -> None:
    await kube.create(group(WHERE))
    await kube.create(pod("ours", **{"tidegate.dev/group": "activity"}))
    await kube.create(pod("theirs"))
    told = Told()
    settings = OperatorSettings("one", WHERE, image="x")
    task = asyncio.create_task(watching(store)(settings, told))
    await asyncio.sleep(0)
    assert told.heard == [("ConsumerGroup", "activity", False), ("Pod", "ours", False)]
    told.heard.clear()
    await kube.patch(CONSUMER_GROUP, WHERE, "activity", {"spec": {"paused": True}})
    await kube.patch(CONSUMER_GROUP, WHERE, "activity", {"spec": {"paused": True}})
    await kube.create(config_map(WHERE))
    uid = (await kube.get(CONSUMER_GROUP, WHERE, "activity"))["metadata"]["uid"]
    await kube.delete(CONSUMER_GROUP, WHERE, "activity", uid=uid)
    assert told.heard == [("ConsumerGroup", "activity", False), ("ConsumerGroup", "activity", True)]
    task.cancel()
    await asyncio.wait([task])
    told.heard.clear()
    await kube.create(group(WHERE))
    assert not told.heard, "it was told after the end"


async def test_a_pod_is_marked_when_it_is_deleted_and_goes_when_its_process_has_ended(
    store: Store, kube: LocalApi
) -> None:
    made = await kube.create(pod("ours"))
    uid = made["metadata"]["uid"]
    await kube.delete(POD, WHERE, "ours", uid=uid)
    await kube.delete(POD, WHERE, "ours", uid=uid)
    (found,) = await kube.list(POD, WHERE)
    assert found["metadata"]["deletionTimestamp"]
    (name,) = store._objects
    store.end_pod(name, "another")
    assert await kube.list(POD, WHERE)
    store.end_pod(name, uid)
    assert await kube.list(POD, WHERE) == []


async def test_what_is_given_out_is_nobodys_way_to_change_what_stands(kube: LocalApi) -> None:
    made = config_map(WHERE, a="1")
    (await kube.create(made))["data"]["a"] = "2"
    made["data"]["a"] = "3"
    (await kube.list(CONFIG_MAP, WHERE))[0]["data"]["a"] = "4"
    assert (await kube.get(CONFIG_MAP, WHERE, "mine"))["data"] == {"a": "1"}


async def test_events_do_not_stay_for_ever(store: Store, kube: LocalApi) -> None:
    for number in range(1005):
        await kube.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"e{number}", "namespace": WHERE},
            }
        )
    names = {each["metadata"]["name"] for each in store.list(EVENT)}
    assert len(names) == 1000
    assert "e1004" in names and "e0" not in names


async def test_what_is_listed_can_be_chosen_by_fields_as_in_kubernetes(
    store: Store, kube: LocalApi
) -> None:
    for name, uid in (("first", "u-1"), ("second", "u-2")):
        await kube.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": WHERE},
                "involvedObject": {"uid": uid},
                "reason": "FailedCreate",
            }
        )
    fields = "involvedObject.uid=u-2,reason=FailedCreate"
    assert [each["metadata"]["name"] for each in await kube.list(EVENT, WHERE, fields=fields)] == [
        "second"
    ]
    assert await kube.list(EVENT, WHERE, fields="reason=Other") == []
