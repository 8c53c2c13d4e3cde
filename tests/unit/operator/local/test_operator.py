"""The operator itself, on the objects of this process: it makes, tells, and ends cleanly."""

from __future__ import annotations

import asyncio
import base64
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.api_contract import group
from support.wait import wait_until_async
from tidegate_operator.kinds import (
    CONFIG_MAP,
    CONSUMER_GROUP,
    DEPLOYMENT,
    LEASE,
    POD,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.local.admission import admit
from tidegate_operator.local.api import LocalApi, watching
from tidegate_operator.local.controllers import Controllers
from tidegate_operator.local.ports import free_port
from tidegate_operator.local.store import Store
from tidegate_operator.running import Operator
from tidegate_operator.secrets import KnownSecrets
from tidegate_operator.settings import OperatorSettings

SOON = 30.0
WHERE = "homes"
SETTINGS = OperatorSettings("one", WHERE, image="this-machine", settled_tick_s=1.0)


class Running:
    def __init__(self) -> None:
        numbers = itertools.count()
        dice = random.Random(1)
        self.store = Store(asyncio.get_running_loop().time, lambda: f"u{next(numbers)}", admit)
        self.controllers = Controllers(
            self.store, lambda letters, count: "".join(dice.choices(letters, k=count))
        )
        api = LocalApi(self.store)
        self.operator = Operator(SETTINGS, api, api, KnownSecrets(), watching(self.store))

    def found(self, kind: Kind, name: str = "activity") -> Document | None:
        return self.store.find(ObjectName(kind, WHERE, name))

    async def until(self, kind: Kind, name: str = "activity") -> None:
        await wait_until_async(lambda: self.found(kind, name), SOON, f"{kind.name} {name}")


@asynccontextmanager
async def running() -> AsyncIterator[Running]:
    it, stop = Running(), asyncio.Event()
    controllers = asyncio.create_task(it.controllers.run())
    operator = asyncio.create_task(it.operator.run(None, stop))
    try:
        yield it
        stop.set()
        async with asyncio.timeout(SOON):
            await operator
    finally:
        for task in (controllers, operator):
            task.cancel()
        await asyncio.wait([controllers, operator])


def put(store: Store, **spec: Any) -> None:
    """A group whose hub and storage nobody serves; its objects can be made all the same."""
    values = {
        "events": f"Endpoint=sb://127.0.0.1:{free_port()};SharedAccessKeyName=k;"
        "SharedAccessKey=aGVsbG8=;UseDevelopmentEmulator=true",
        "storage": "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
        f"BlobEndpoint=http://127.0.0.1:{free_port()}/a",
    }
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    metadata = {"namespace": WHERE, "name": "tidegate-embedded"}
    store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    store.create(group(WHERE, **spec))


async def test_a_group_gets_all_that_it_gets_in_a_cluster_and_its_status_says_how_it_is() -> None:
    async with running() as it:
        put(it.store, replicas=2)
        for kind, name in ((CONFIG_MAP, "activity-group"), (DEPLOYMENT, "activity")):
            await it.until(kind, name)
        await wait_until_async(lambda: len(it.store.list(POD, WHERE)) == 2, SOON, "two pods")

        def says() -> Any:
            found = it.found(CONSUMER_GROUP)
            return found is not None and (found.get("status") or {}).get("state")

        assert await wait_until_async(says, SOON, "the status")
    lease = it.found(LEASE, "tidegate-operator")
    assert lease is not None and lease["spec"]["holderIdentity"] == "", "it was given back"


async def test_a_group_that_is_deleted_takes_everything_with_it() -> None:
    async with running() as it:
        put(it.store)
        await it.until(DEPLOYMENT)
        it.store.delete(ObjectName(CONSUMER_GROUP, WHERE, "activity"))
        assert it.found(DEPLOYMENT) is None
        assert it.found(CONFIG_MAP, "activity-group") is None
        marked = [pod["metadata"] for pod in it.store.list(POD, WHERE)]
        assert all("deletionTimestamp" in each for each in marked)


async def test_what_somebody_changes_is_put_right() -> None:
    async with running() as it:
        put(it.store, replicas=1)
        await it.until(DEPLOYMENT)
        name = ObjectName(DEPLOYMENT, WHERE, "activity")

        def grace_s() -> int:
            found = it.store.get(name)["spec"]["template"]["spec"]
            return int(found["terminationGracePeriodSeconds"])

        await wait_until_async(lambda: len(it.store.list(POD, WHERE)) == 1, SOON, "its pod")
        before = grace_s()
        changes = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}
        it.store.patch(name, changes)
        await wait_until_async(lambda: grace_s() == before, SOON, "it to be put right")
