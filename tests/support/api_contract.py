"""What the operator relies on of the API that keeps its objects: one list, for whoever answers.

Rules: a class of tests takes these on with two fixtures, `kube` and `where`, a namespace that is
empty and its own. Controllers may run beside it, so that what comes by itself is waited for.
"""

from __future__ import annotations

import asyncio
import copy
import uuid
from typing import Any

import pytest

from support.cluster_groups import example
from support.wait import POLL_SECONDS
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, SERVICE, Document
from tidegate_operator.kube_errors import AlreadyThere, Conflict, Invalid, NotThere
from tidegate_operator.objects import Api

SOON = 30.0


def config_map(where: str, name: str = "mine", **data: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": where},
        "data": data,
    }


def group(where: str, name: str = "activity", **spec: Any) -> Document:
    document = copy.deepcopy(example("consumergroup.yaml"))
    document["metadata"] = {"name": name, "namespace": where}
    document["spec"] |= spec
    return document


def service(where: str, *ports: Document) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "mine", "namespace": where, "labels": {"of": "us"}},
        "spec": {"clusterIP": "None", "ports": list(ports), "selector": {"of": "us"}},
    }


def port(name: str, number: int) -> Document:
    return {"name": name, "port": number, "protocol": "TCP", "targetPort": number}


class ApiContract:
    """See the module."""

    async def test_what_is_made_is_found_and_is_not_made_twice(self, kube: Api, where: str) -> None:
        assert await kube.find(CONFIG_MAP, where, "mine") is None
        made = await kube.create(config_map(where, a="b"))
        found = await kube.get(CONFIG_MAP, where, "mine")
        assert found["data"] == {"a": "b"}
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        with pytest.raises(AlreadyThere):
            await kube.create(config_map(where))
        with pytest.raises(NotThere):
            await kube.get(CONFIG_MAP, where, "other")

    async def test_the_metadata_is_read_without_what_is_in_it(self, kube: Api, where: str) -> None:
        await kube.create(config_map(where, a="b"))
        found = await kube.metadata_of(CONFIG_MAP, where, "mine")
        assert found is not None and found["metadata"]["resourceVersion"]
        assert "data" not in found
        assert await kube.metadata_of(CONFIG_MAP, where, "other") is None

    async def test_writes_of_another_object_of_the_same_name_are_refused(
        self, kube: Api, where: str
    ) -> None:
        found = await kube.create(config_map(where))
        await kube.create(group(where))
        other = str(uuid.uuid4())
        with pytest.raises(Conflict):
            await kube.patch(CONFIG_MAP, where, "mine", {"data": {"a": "b"}}, uid=other)
        with pytest.raises(Conflict):
            await kube.delete(CONFIG_MAP, where, "mine", uid=other)
        with pytest.raises(Conflict):
            await kube.patch_status(CONSUMER_GROUP, where, "activity", {"lag": 1}, uid=other)
        assert (await kube.get(CONFIG_MAP, where, "mine")).get("data") in (None, {})
        assert await kube.delete(CONFIG_MAP, where, "mine", uid=found["metadata"]["uid"])
        assert not await kube.delete(CONFIG_MAP, where, "mine", uid=found["metadata"]["uid"])

    async def test_writes_of_a_version_that_has_passed_are_refused(
        self, kube: Api, where: str
    ) -> None:
        first = await kube.create(config_map(where, a="1"))
        second = await kube.patch(CONFIG_MAP, where, "mine", {"data": {"a": "2"}})
        old, new = (each["metadata"]["resourceVersion"] for each in (first, second))
        assert old != new
        with pytest.raises(Conflict):
            await kube.replace(first)
        with pytest.raises(Conflict):
            await kube.patch(CONFIG_MAP, where, "mine", {"data": {"a": "3"}}, resource_version=old)
        late = config_map(where, a="4")
        late["metadata"]["resourceVersion"] = old
        with pytest.raises(Conflict):
            await kube.apply(late)
        assert (await kube.get(CONFIG_MAP, where, "mine"))["data"] == {"a": "2"}

    async def test_what_is_applied_again_is_no_change(self, kube: Api, where: str) -> None:
        first = await kube.apply(service(where, port("one", 1)))
        second = await kube.apply(service(where, port("one", 1)))
        assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]

    async def test_applied_fields_that_are_no_longer_said_go_and_those_of_others_stay(
        self, kube: Api, where: str
    ) -> None:
        await kube.apply(config_map(where, ours="1", gone="1"))
        theirs = {"data": {"theirs": "1"}, "metadata": {"labels": {"theirs": "1"}}}
        await kube.patch(CONFIG_MAP, where, "mine", theirs)
        found = await kube.apply(config_map(where, ours="2"))
        assert found["data"] == {"ours": "2", "theirs": "1"}
        assert found["metadata"]["labels"] == {"theirs": "1"}

    async def test_things_in_applied_lists_are_merged_by_what_they_are_known_by(
        self, kube: Api, where: str
    ) -> None:
        await kube.apply(service(where, port("one", 1), port("two", 2)))
        found = await kube.apply(service(where, port("two", 2), port("three", 3)))
        assert [each["name"] for each in found["spec"]["ports"]] == ["two", "three"]
        assert (await kube.get(SERVICE, where, "mine"))["spec"]["ports"] == found["spec"]["ports"]

    async def test_lists_are_by_namespace_and_labels(self, kube: Api, where: str) -> None:
        for name, labels in (("a", {"of": "us"}), ("b", {"of": "them"}), ("c", {})):
            document = config_map(where, name)
            document["metadata"]["labels"] = labels
            await kube.create(document)

        async def names(labels: str) -> list[str]:
            found = await kube.list(CONFIG_MAP, where, labels=labels, metadata_only=True)
            assert all("data" not in each for each in found)
            return [each["metadata"]["name"] for each in found]

        assert await names("of") == ["a", "b"]
        assert await names("of=us") == ["a"]
        everywhere = await kube.list(CONFIG_MAP, labels="of=them")
        assert [each["metadata"]["name"] for each in everywhere] == ["b"]

    async def test_a_status_is_replaced_as_a_whole_and_is_no_new_generation(
        self, kube: Api, where: str
    ) -> None:
        made = (await kube.create(group(where)))["metadata"]
        told = {"lag": 3, "owned": 1}
        await kube.patch_status(CONSUMER_GROUP, where, "activity", told, uid=made["uid"])
        found = await kube.patch_status(
            CONSUMER_GROUP, where, "activity", {"lag": 4}, uid=made["uid"]
        )
        assert found["status"] == {"lag": 4}
        assert found["metadata"]["generation"] == made["generation"] == 1
        with pytest.raises(Conflict):
            await kube.patch_status(
                CONSUMER_GROUP, where, "activity", {"lag": 5}, uid=made["uid"],
                resource_version=made["resourceVersion"],
            )  # fmt: skip
        changed = await kube.patch(CONSUMER_GROUP, where, "activity", {"spec": {"paused": True}})
        assert changed["metadata"]["generation"] == 2
        assert changed["status"] == {"lag": 4}

    async def test_defaults_of_the_kind_are_filled_in(self, kube: Api, where: str) -> None:
        found = await kube.create(group(where))
        spec = found["spec"]
        assert (spec["engine"], spec["paused"]) == ("python", False)
        assert (spec["scaling"]["min"], spec["scaling"]["max"]) == (1, 16)
        assert spec["source"]["eventHubs"]["consumerGroup"] == "$Default"
        assert "delivery" not in spec

    async def test_a_group_that_cannot_be_is_refused(self, kube: Api, where: str) -> None:
        with pytest.raises(Invalid, match="within scaling"):
            await kube.create(group(where, replicas=99))
        with pytest.raises(Invalid, match=r"52 lower-case letters"):
            await kube.create(group(where, name="x" * 53))
        assert await kube.list(CONSUMER_GROUP, where) == []

    async def test_what_positions_hang_on_cannot_be_changed(self, kube: Api, where: str) -> None:
        await kube.create(group(where))
        for changes in (
            {"source": {"eventHubs": {"hub": "other"}}},
            {"ledger": {"container": "another"}},
            {"engine": "spark"},
        ):
            with pytest.raises(Invalid, match="cannot be changed"):
                await kube.patch(CONSUMER_GROUP, where, "activity", {"spec": changes})
        found = await kube.get(CONSUMER_GROUP, where, "activity")
        assert found["spec"]["source"]["eventHubs"]["hub"] == "telemetry"

    async def test_what_has_a_finalizer_goes_when_it_is_taken_away(
        self, kube: Api, where: str
    ) -> None:
        document = group(where)
        document["metadata"]["finalizers"] = ["tidegate.dev/ledger"]
        uid = (await kube.create(document))["metadata"]["uid"]
        assert await kube.delete(CONSUMER_GROUP, where, "activity", uid=uid)
        found = await kube.get(CONSUMER_GROUP, where, "activity")
        assert found["metadata"]["deletionTimestamp"]
        await kube.patch(CONSUMER_GROUP, where, "activity", {"metadata": {"finalizers": []}})
        assert await kube.find(CONSUMER_GROUP, where, "activity") is None

    async def test_what_is_gone_takes_with_it_what_it_owns(self, kube: Api, where: str) -> None:
        uid = (await kube.create(config_map(where, "owner")))["metadata"]["uid"]
        owned = config_map(where)
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        ]
        await kube.create(owned)
        await kube.delete(CONFIG_MAP, where, "owner", uid=uid)
        async with asyncio.timeout(SOON):
            while await kube.find(CONFIG_MAP, where, "mine") is not None:
                await asyncio.sleep(POLL_SECONDS)
