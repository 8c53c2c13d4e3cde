"""A watch that keeps something to itself is noticed, and what it kept is read without it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from support import virtual_time
from tidegate_operator.cache import Cache
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, POD, Document, Kind
from tidegate_operator.kube import Kube
from tidegate_operator.kube_errors import silence
from tidegate_operator.model import GroupKey
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.watching import Watches

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
HOME = GroupKey("default", "home")


class Cluster:
    """Objects, and watches that tell of them after a moment unless they are silent."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Kind, str], Document] = {}
        self.version = 0
        self.silent: set[Kind] = set()
        self.is_down = False
        self.cache = Cache()
        self.watches = Watches(
            cast(Kube, self), self.cache, SETTINGS, virtual_time.now, self._heard
        )
        self.running = asyncio.create_task(self.watches.run())

    def put(self, kind: Kind, name: str) -> None:
        self.version += 1
        labels = {"tidegate.dev/group": "home"}
        document = {
            "metadata": {
                "namespace": "default", "name": name, "uid": f"{kind.name} {name}",
                "resourceVersion": str(self.version), "labels": labels,
                "generation": self.version,
            },
        }  # fmt: skip
        self.objects[kind, name] = document
        self._tell(kind, document, is_gone=False)

    def remove(self, kind: Kind, name: str) -> None:
        self._tell(kind, self.objects.pop((kind, name)), is_gone=True)

    def _tell(self, kind: Kind, document: Document, *, is_gone: bool) -> None:
        if kind not in self.silent:
            loop = asyncio.get_running_loop()
            loop.call_later(0.5, lambda: self.cache.hear(kind, document, is_gone=is_gone))

    def _heard(self, kind: Kind, document: Mapping[str, Any], is_gone: bool) -> None:
        self.cache.hear(kind, document, is_gone=is_gone)

    async def list(self, kind: Kind, *_: Any, **__: Any) -> list[Document]:
        await asyncio.sleep(0.05)
        if self.is_down:
            raise silence("list", "connection refused")
        return [each for (of, _), each in self.objects.items() if of == kind]

    async def find(self, kind: Kind, namespace: str, name: str) -> Document | None:
        await asyncio.sleep(0.05)
        return self.objects.get((kind, name))

    async def end(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])


def test_nothing_is_complete_before_all_that_there_is_has_been_told() -> None:
    async def course() -> None:
        cluster = Cluster()
        cluster.silent = {POD}
        cluster.put(CONSUMER_GROUP, "home")
        cluster.put(POD, "home-1")
        await asyncio.sleep(20)
        assert not cluster.watches.complete.is_set()
        cluster.silent.clear()
        cluster.put(POD, "home-1")
        await asyncio.sleep(10)
        assert cluster.watches.complete.is_set()
        await cluster.end()

    virtual_time.run(course())


def test_a_silent_watch_is_noticed_and_its_objects_are_read_without_it() -> None:
    async def course() -> None:
        cluster = Cluster()
        cluster.put(CONSUMER_GROUP, "home")
        cluster.put(POD, "home-1")
        await asyncio.sleep(60)
        cluster.silent = {POD}
        cluster.put(POD, "home-2")
        cluster.remove(POD, "home-1")
        await asyncio.sleep(SETTINGS.compare_every_s * 2)
        assert set(cluster.cache.known(HOME).pods) == {"home-2"}
        # A silent watch is only seen to be one while it keeps something to itself.
        cluster.put(POD, "home-3")
        await asyncio.sleep(SETTINGS.compare_every_s * 2)
        assert "home-3" in cluster.cache.known(HOME).pods
        assert cluster.watches.watches[CONSUMER_GROUP].silent_since is None
        await cluster.end()

    virtual_time.run(course())


def test_a_watch_that_stays_silent_grows_old_and_one_that_tells_stays_young() -> None:
    async def course() -> None:
        cluster = Cluster()
        await asyncio.sleep(10)
        cluster.silent = {DEPLOYMENT}
        for at in range(40):
            cluster.put(DEPLOYMENT, f"home-{at}")
            cluster.put(POD, f"home-{at}")
            await asyncio.sleep(10)
        watches = cluster.watches
        assert watches.watches[DEPLOYMENT].silent_since is not None
        assert watches.age_s(DEPLOYMENT) > 300
        assert watches.watches[POD].silent_since is None
        assert watches.age_s(POD) < SETTINGS.compare_every_s * 2 + 20
        cluster.silent.clear()
        await asyncio.sleep(120)
        assert watches.watches[DEPLOYMENT].silent_since is None
        assert watches.age_s(DEPLOYMENT) < 60
        await cluster.end()

    virtual_time.run(course())


@pytest.mark.parametrize("every_s", [0.3, 1.0, 7.0])
def test_a_busy_watch_is_never_called_silent(every_s: float) -> None:
    async def course() -> None:
        cluster = Cluster()
        for at in range(int(600 / every_s)):
            cluster.put(POD, f"home-{at % 5}")
            await asyncio.sleep(every_s)
            assert cluster.watches.watches[POD].silent_since is None
        await cluster.end()

    virtual_time.run(course())


def test_an_api_server_that_does_not_answer_is_not_a_silent_watch() -> None:
    async def course() -> None:
        cluster = Cluster()
        cluster.put(POD, "home-1")
        await asyncio.sleep(60)
        cluster.is_down = True
        await asyncio.sleep(600)
        assert cluster.watches.trouble
        assert all(each.silent_since is None for each in cluster.watches.watches.values())
        assert cluster.watches.age_s(POD) > 500
        await cluster.end()

    virtual_time.run(course())
