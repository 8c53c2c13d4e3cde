"""A console that is served, Kubernetes as far as it is asked, and what a page hears: for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tidegate.ops.serving import Address, listen
from tidegate_operator.kinds import TOKEN_REVIEW, Document, Kind
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.model import GroupKey
from tidegate_operator.page.admission import Admission
from tidegate_operator.page.console import Console
from tidegate_operator.page.serving import ConsolePage
from unit.operator.plugin_groups import group

HOMES, BILLING = GroupKey("homes", "activity"), GroupKey("billing", "invoices")


class Reviews:
    """Kubernetes, as far as it is asked. `people`: token to the namespaces that it may list."""

    def __init__(self) -> None:
        self.people: dict[str, set[str]] = {"anna": {"homes"}, "ben": {"homes", "billing"}}
        self.asked: list[tuple[str, str]] = []
        # Tokens that stand for nobody any more, whatever their people may see.
        self.revoked: set[str] = set()
        self.is_down = False

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document:
        if self.is_down:
            raise KubeError("the Kubernetes API does not answer")
        if kind == TOKEN_REVIEW:
            self.asked.append(("token", spec["token"]))
            name = spec["token"]
            if name not in self.people or name in self.revoked:
                return {"authenticated": False, "error": "invalid bearer token"}
            return {"authenticated": True, "user": {"username": name, "groups": ["staff"]}}
        asked = spec["resourceAttributes"]
        self.asked.append((spec["user"], asked.get("namespace", "*")))
        assert (asked["verb"], asked["group"], asked["resource"]) == (
            "list", "tidegate.dev", "consumergroups",
        )  # fmt: skip
        assert spec["groups"] == ["staff"]
        return {"allowed": asked.get("namespace") in self.people[spec["user"]]}


class Served:
    """A console, and the groups that it shows."""

    def __init__(self, admission: Admission) -> None:
        self.found: dict[GroupKey, Document] = {}
        for key in (HOMES, BILLING):
            self.put(key)
        self.console = Console(self, admission, lambda: 1_800_000_000.0, lambda: True)
        self.url = ""

    def documents(self) -> list[tuple[GroupKey, Document]]:
        return list(self.found.items())

    def put(self, key: GroupKey, **status: Any) -> None:
        document = group()
        document["metadata"] |= {"namespace": key.namespace, "name": key.name}
        document["status"] |= status
        self.found[key] = document

    async def status(self, path: str, method: str = "GET", **more: Any) -> int:
        async with aiohttp.ClientSession() as session:
            made = session.request(method, self.url + path, allow_redirects=False, **more)
            async with made as answer:
                return answer.status

    @asynccontextmanager
    async def stream(self, path: str, token: str = "") -> AsyncIterator[Stream]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(self.url + path) as answer,
        ):
            assert answer.status == 200
            yield Stream(answer)


class Stream:
    """What a page hears."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._lines = answer.content
        self.heard: list[tuple[str, Any]] = []

    async def until(self, name: str) -> Any:
        """The data of the next event of this name; None where the stream ends."""
        said = ""
        while line := (await asyncio.wait_for(self._lines.readline(), 30)).decode():
            key, _, value = line.rstrip("\n").partition(": ")
            if key == "event":
                said = value
            elif key == "data":
                self.heard.append((said, json.loads(value)))
                if said == name:
                    return self.heard[-1][1]
        return None


@asynccontextmanager
async def serving(admission: Admission) -> AsyncIterator[Served]:
    made = Served(admission)
    endpoints = await listen(ConsolePage(made.console).app(), Address("127.0.0.1", 0), "it")
    made.url = f"http://127.0.0.1:{endpoints.port}"
    running = asyncio.create_task(made.console.run())
    try:
        yield made
    finally:
        await endpoints.close()
        running.cancel()
        await asyncio.wait({running})
