"""What is sent to the Kubernetes API for each verb, and what is made of its answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.kube_server import KubeServer, kube_server
from support.wait import wait_until_async
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, DEPLOYMENT, POD, SECRET
from tidegate_operator.kube import Kube, connect
from tidegate_operator.kube_errors import (
    AlreadyThere,
    Conflict,
    Denied,
    Invalid,
    NotThere,
    Unreachable,
)
from tidegate_operator.local.ports import free_port

MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "homes", "name": "code"},
    "data": {"a": "é"},
}
NOT_THERE = (404, {"reason": "NotFound", "message": "not found", "details": {"name": "x"}})


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with kube_server() as running:
        yield running


@pytest.fixture
async def kube(server: KubeServer) -> AsyncIterator[Kube]:
    client = server.client()
    yield client
    await client.close()


async def test_an_object_is_read_with_the_token(server: KubeServer, kube: Kube) -> None:
    server.answers = [(200, MAP)]
    assert await kube.get(CONFIG_MAP, "homes", "code") == MAP
    (asked,) = server.asked
    assert (asked.verb, asked.path) == ("GET", "/api/v1/namespaces/homes/configmaps/code")
    assert asked.headers["authorization"] == "bearer the-token"


async def test_what_is_not_there_is_none_where_it_is_looked_for(
    server: KubeServer, kube: Kube
) -> None:
    server.answers = [NOT_THERE, NOT_THERE]
    assert await kube.find(CONFIG_MAP, "homes", "code") is None
    with pytest.raises(NotThere, match="read ConfigMap homes/code: it is not there"):
        await kube.get(CONFIG_MAP, "homes", "code")


async def test_of_a_secret_only_the_metadata_is_asked_for(server: KubeServer, kube: Kube) -> None:
    server.answers = [(200, {"metadata": {"resourceVersion": "7"}})]
    found = await kube.metadata_of(SECRET, "homes", "events")
    assert found == {"metadata": {"resourceVersion": "7"}}
    accept = server.asked[0].headers["Accept"]
    assert accept == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "managedFields": [{"manager": "kubelet"}]}}


async def test_lists_are_read_page_by_page(server: KubeServer, kube: Kube) -> None:
    server.answers = [
        (200, {"metadata": {"continue": "on"}, "items": [named("one")]}),
        (200, {"metadata": {}, "items": [named("two")]}),
    ]
    found = await kube.list(POD, labels="a=b", metadata_only=True)
    assert [each["metadata"]["name"] for each in found] == ["one", "two"]
    # Who wrote which field is most of an object, and nothing that a list is asked for.
    assert not any("managedFields" in each["metadata"] for each in found)
    first, second = server.asked
    assert first.path == "/api/v1/pods"
    assert first.query["labelSelector"] == "a=b"
    assert "continue" not in first.query
    assert second.query["continue"] == "on"
    assert first.headers["Accept"].startswith("application/json;as=PartialObjectMetadataList;")


async def test_a_list_that_grew_too_old_is_begun_again(server: KubeServer, kube: Kube) -> None:
    server.answers = [
        (200, {"metadata": {"continue": "on"}, "items": [named("one")]}),
        (410, {"reason": "Expired", "message": "too old"}),
        (200, {"items": [named("one"), named("two")]}),
    ]
    found = await kube.list(POD, "homes")
    assert [each["metadata"]["name"] for each in found] == ["one", "two"]


async def test_apply_is_server_side_and_by_our_field_manager(
    server: KubeServer, kube: Kube
) -> None:
    await kube.apply(MAP)
    (asked,) = server.asked
    assert (asked.verb, asked.path) == ("PATCH", "/api/v1/namespaces/homes/configmaps/code")
    assert asked.headers["Content-Type"] == "application/apply-patch+yaml"
    assert asked.query == {"fieldManager": "tidegate-operator", "force": "true"}
    assert asked.body == MAP


@pytest.mark.parametrize(
    "text",
    [
        "😀",
        "a\U0001f600b\U00010000\U0010ffff",
        "é",
        r"\ud83d\ude00",
        "\\😀",
        "\x00\x7f\x85\u2028\ufeff",
    ],
    ids=ascii,
)
async def test_what_is_applied_is_the_same_to_readers_of_yaml_and_of_json(
    server: KubeServer, kube: Kube, text: str
) -> None:
    """The API server reads it as YAML, which knows no escapes of halves of a character."""
    await kube.apply({**MAP, "data": {text: text}})
    (asked,) = server.asked
    assert asked.body["data"] == {text: text}
    assert yaml.safe_load(asked.text)["data"] == {text: text}


async def test_a_patch_names_the_object_that_was_seen(server: KubeServer, kube: Kube) -> None:
    changes = {"spec": {"replicas": 3}, "metadata": {"annotations": {"a": None}}}
    await kube.patch(DEPLOYMENT, "homes", "x", changes, resource_version="7", uid="u")
    (asked,) = server.asked
    assert asked.headers["Content-Type"] == "application/merge-patch+json"
    assert asked.body == {
        "spec": {"replicas": 3},
        "metadata": {"annotations": {"a": None}, "resourceVersion": "7", "uid": "u"},
    }
    assert changes["metadata"] == {"annotations": {"a": None}}


async def test_a_status_is_replaced_as_a_whole_and_only_of_the_object_that_was_seen(
    server: KubeServer, kube: Kube
) -> None:
    refused = {"reason": "Invalid", "message": "the server rejected our request", "details": {}}
    server.answers = [(200, {}), (422, refused)]
    await kube.patch_status(CONSUMER_GROUP, "homes", "a", {"lag": 1}, uid="u")
    (asked,) = server.asked
    assert asked.path.endswith("/namespaces/homes/consumergroups/a/status")
    assert asked.headers["Content-Type"] == "application/json-patch+json"
    assert asked.body == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "add", "path": "/status", "value": {"lag": 1}},
    ]
    with pytest.raises(Conflict, match="another object by now"):
        await kube.patch_status(CONSUMER_GROUP, "homes", "a", {"lag": 1}, uid="u")


async def test_a_status_that_the_schema_refuses_is_no_conflict(
    server: KubeServer, kube: Kube
) -> None:
    flaw = {"field": "status.lag", "message": "Invalid value"}
    server.answers = [(422, {"reason": "Invalid", "details": {"causes": [flaw]}})]
    with pytest.raises(Invalid, match=r"status\.lag: Invalid value"):
        await kube.patch_status(CONSUMER_GROUP, "homes", "a", {"lag": "x"}, uid="u")


async def test_an_object_is_made_once_and_replaced_as_it_was_seen(
    server: KubeServer, kube: Kube
) -> None:
    server.answers = [(201, MAP), (409, {"reason": "AlreadyExists"}), (409, {"reason": "Conflict"})]
    assert await kube.create(MAP) == MAP
    with pytest.raises(AlreadyThere):
        await kube.create(MAP)
    with pytest.raises(Conflict):
        await kube.replace(MAP)
    verbs = [(asked.verb, asked.path.rpartition("/")[2]) for asked in server.asked]
    assert verbs == [("POST", "configmaps"), ("POST", "configmaps"), ("PUT", "code")]


async def test_only_the_very_object_that_was_seen_is_deleted(
    server: KubeServer, kube: Kube
) -> None:
    server.answers = [(200, {}), NOT_THERE, (409, {"reason": "Conflict"})]
    assert await kube.delete(POD, "homes", "p", uid="u")
    assert not await kube.delete(POD, "homes", "p", uid="u")
    with pytest.raises(Conflict):
        await kube.delete(POD, "homes", "p", uid="u")
    assert server.asked[0].body["preconditions"] == {"uid": "u"}
    assert server.asked[0].body["propagationPolicy"] == "Background"


async def test_all_of_a_namespace_is_never_meant_by_a_name_that_is_missing(kube: Kube) -> None:
    with pytest.raises(ValueError, match="without its name"):
        await kube.patch_status(CONSUMER_GROUP, "homes", "", {}, uid="u")
    with pytest.raises(ValueError, match="without its name"):
        await kube.delete(POD, "homes", "", uid="u")
    with pytest.raises(ValueError, match="without its name"):
        await kube.get(POD, "", "p")


async def test_no_more_requests_are_under_way_than_there_are_threads(
    server: KubeServer, kube: Kube
) -> None:
    server.gate.clear()
    server.answers = [(200, {"metadata": {"name": "p"}})] * 6
    asking = [asyncio.ensure_future(kube.get(POD, "homes", f"p{n}")) for n in range(6)]
    await wait_until_async(lambda: server.under_way == 2, 5, "two requests")
    server.gate.set()
    await asyncio.gather(*asking)
    assert (server.most_at_once, len(server.asked)) == (2, 6)


async def test_an_api_that_does_not_answer_is_unreachable_in_time(server: KubeServer) -> None:
    server.gate.clear()
    kube = server.client(timeout_s=0.05)
    with pytest.raises(Unreachable, match="read Pod homes/p: the Kubernetes API does not answer"):
        await kube.get(POD, "homes", "p")
    server.gate.set()
    await kube.close()


async def test_an_api_that_is_away_is_unreachable() -> None:
    gone = KubeServer(port=free_port())
    kube = gone.client()
    with pytest.raises(Unreachable, match="Look at the network"):
        await kube.get(POD, "homes", "p")
    await kube.close()


@pytest.mark.parametrize("ahead_s", [0.0, -7200.0])
@pytest.mark.parametrize("form", ["seconds", "a date"])
async def test_for_how_long_the_api_asks_to_be_left_alone_is_known_whatever_its_clock_says(
    server: KubeServer, kube: Kube, form: str, ahead_s: float
) -> None:
    now = time.time() + ahead_s
    asked = "20" if form == "seconds" else formatdate(now + 20.0, usegmt=True)
    server.headers = {"Retry-After": asked}
    server.date = formatdate(now, usegmt=True)
    server.answers = [(429, {"message": "too many requests"})]
    with pytest.raises(Unreachable) as caught:
        await kube.get(POD, "homes", "p")
    assert caught.value.retry_after_s == 20.0


async def test_what_is_no_answer_of_the_api_is_unreachable(server: KubeServer, kube: Kube) -> None:
    server.answers = [(200, b"<html>please log in</html>")]
    with pytest.raises(Unreachable, match="something else"):
        await kube.get(POD, "homes", "p")


async def test_bodies_and_tokens_are_in_no_log_and_no_error(
    server: KubeServer, kube: Kube, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = {"metadata": {"name": "events"}, "data": {"events": "the-body"}}
    server.answers = [(200, secret), (200, b'"the-body'), (200, b"the-body")]
    assert await kube.get(SECRET, "homes", "events") == secret
    for _ in range(2):
        with pytest.raises(Unreachable) as caught:
            await kube.get(SECRET, "homes", "events")
        assert "the-body" not in str(caught.value)
    assert "secrets/events" in caplog.text
    assert "the-body" not in caplog.text
    assert "the-token" not in caplog.text


def test_without_a_cluster_it_is_said_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(Denied, match=r"there is no cluster to connect to.*set KUBECONFIG"):
        connect(kubeconfig=str(tmp_path / "none"))


@pytest.mark.parametrize("text", ["{", "kind: Config", ""])
def test_a_kubeconfig_that_cannot_be_used_is_said_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Denied, match="there is no cluster to connect to"):
        connect(kubeconfig=str(path))
