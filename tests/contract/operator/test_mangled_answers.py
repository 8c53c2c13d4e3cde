"""The client of Kubernetes gives a document or a KubeError, for any answer."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration

from support.kube_server import kube_server
from support.mangling_proxy import mangling_proxy
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, SECRET
from tidegate_operator.kube import Kube
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.watching import list_versions

pytestmark = pytest.mark.slow

CALLS = 400
METADATA = {
    "name": "a", "namespace": "homes", "uid": "u", "resourceVersion": "7",
    "labels": {"x": "y"}, "annotations": {"n": "1"},
    "ownerReferences": [{"uid": "o", "kind": "Deployment", "name": "d"}],
}  # fmt: skip
OBJECT = {"apiVersion": "v1", "kind": "Deployment", "metadata": METADATA,
          "spec": {"replicas": 3}, "status": {"readyReplicas": 3}}  # fmt: skip
LIST = {"metadata": {"resourceVersion": "9"}, "items": [OBJECT, OBJECT]}


def a_call(kube: Kube, dice: random.Random) -> Callable[[], Awaitable[Any]]:
    place = ("homes", "a")
    return dice.choice(
        [
            lambda: kube.get(DEPLOYMENT, *place),
            lambda: kube.find(SECRET, *place),
            lambda: kube.metadata_of(SECRET, *place),
            lambda: kube.list(DEPLOYMENT, "homes"),
            lambda: list_versions(kube, ("homes",), CONSUMER_GROUP),
            lambda: kube.patch(DEPLOYMENT, *place, {"spec": {"replicas": 4}}, uid="u"),
            lambda: kube.patch_status(CONSUMER_GROUP, *place, {"state": "x"}, uid="u"),
            lambda: kube.delete(DEPLOYMENT, *place, uid="u"),
            # What a pod answers is its own: JSON with keys, and no more is known.
            lambda: sized(kube.through("homes", "a", 80, "GET", "/x")),
        ]
    )


@pytest.mark.parametrize("seed", range(4))
async def test_an_answer_that_is_none_fails_its_call_and_nothing_else(seed: int) -> None:
    dice = random.Random(seed)
    with kube_server() as server, mangling_proxy(server.port, seed) as proxy:
        settings = Configuration(host=f"http://127.0.0.1:{proxy.port}")
        settings.retries = False
        kube = Kube(ApiClient(settings), threads=2, timeout_s=5.0)
        proxy.share, refused = 0.8, 0
        try:
            for number in range(CALLS):
                is_list = dice.random() < 0.5
                status = dice.choice((200, 200, 200, 404, 409, 422))
                server.answers[:] = [(status, LIST if is_list else OBJECT)]
                call = a_call(kube, dice)
                try:
                    found = await call()
                except KubeError as error:
                    refused += 1
                    assert len(str(error)) < 2_000
                except Exception as error:
                    raise AssertionError(f"{seed}/{number}: {proxy.done}") from error
                else:
                    used(found)
            assert refused > CALLS / 4
            proxy.share = 0.0
            server.answers[:] = [(200, OBJECT)]
            assert (await kube.get(DEPLOYMENT, "homes", "a"))["metadata"]["uid"] == "u"
        finally:
            await kube.close()


async def sized(answer: Awaitable[Any]) -> int:
    return len(dict(await answer))


def used(found: Any) -> None:
    """What everybody does with an object."""
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each, dict) and "metadata" in each:
            metadata = each["metadata"]
            (metadata.get("labels") or {}).get("x")
            (metadata.get("annotations") or {}).get("x")
            [str(owner.get("uid")) for owner in metadata.get("ownerReferences") or ()]
            (each.get("spec") or {}).get("replicas")
            (each.get("status") or {}).get("readyReplicas")
