"""As much of a Kubernetes API as the operator's process needs, in memory: for tests without one.

Rules: lists, watches, server-side apply and fences are those of `KubeObjects`; no schema, no
defaults, no permissions, no controllers. Watches can be made silent: their streams stay open and
say nothing any more.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from support.kube_objects import KubeObjects
from tidegate_operator.kinds import (
    ALL,
    CONSUMER_GROUP,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.kube_errors import Conflict, NotThere

# kopf waits until it has found these two, and does nothing with them here.
_CRD = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
_NAMESPACE = Kind("v1", "Namespace", "namespaces")
KINDS = (*ALL, _CRD, _NAMESPACE)


@dataclass(eq=False)
class _Stream:
    """One watch that is open."""

    kind: Kind
    events: asyncio.Queue[Document] = field(default_factory=asyncio.Queue)
    is_silent: bool = False


class SmallApi(KubeObjects):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self.has_kind = True
        self._streams: set[_Stream] = set()
        # All that was ever told, with the version at which it was, for streams that come later.
        self._told: list[tuple[int, Kind, Document]] = []
        # How many watches were ever opened.
        self.opened = 0

    # --- from the test

    def silence(self) -> None:
        """Every watch that is open."""
        for stream in self._streams:
            stream.is_silent = True

    def end_streams(self) -> None:
        for stream in list(self._streams):
            stream.events.put_nowait({"type": "END"})

    def get(self, kind: Kind, namespace: str, name: str) -> Document | None:
        return self.objects.get(ObjectName(kind, namespace, name))

    def kubeconfig(self, folder: Path) -> Path:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "small", "cluster": {"server": self.url}}],
            "users": [{"name": "small", "user": {"token": "the-token"}}],
            "contexts": [{"name": "small", "context": {"cluster": "small", "user": "small"}}],
            "current-context": "small",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def take(self, name: ObjectName) -> None:
        gone = self.objects[name]
        super().take(name)
        self._tell("DELETED", name.kind, gone)

    def _keep(self, name: ObjectName, found: Document) -> Document:
        before = self.objects.get(name)
        kept = super()._keep(name, found)
        now = self.objects[name]
        now.setdefault("apiVersion", name.kind.api_version)
        now.setdefault("kind", name.kind.name)
        if (
            before is None
            or before["metadata"]["resourceVersion"] != (now["metadata"]["resourceVersion"])
        ):
            self._tell("ADDED" if before is None else "MODIFIED", name.kind, now)
        return kept

    def _tell(self, type: str, kind: Kind, document: Document) -> None:
        event: Document = {"type": type, "object": copy.deepcopy(document)}
        if type == "DELETED":
            self._version += 1
            event["object"]["metadata"]["resourceVersion"] = str(self._version)
        self._told.append((self._version, kind, event))
        for stream in self._streams:
            if stream.kind == kind:
                stream.events.put_nowait(event)

    # --- requests

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/api", self._versions)
        app.router.add_get("/apis", self._groups)
        for version in {kind.api_version for kind in KINDS}:
            start = "apis" if "/" in version else "api"
            app.router.add_get(f"/{start}/{version}", self._resources)
        for kind in KINDS:
            root = f"/{'apis' if kind.group else 'api'}/{kind.api_version}"
            inside = f"{root}/namespaces/{{namespace}}/{kind.plural}"
            for all_of in (f"{root}/{kind.plural}", inside):
                app.router.add_get(all_of, self._bound(kind, self._all))
            app.router.add_post(inside, self._bound(kind, self._post))
            app.router.add_route("*", f"{inside}/{{name}}", self._bound(kind, self._one))
            app.router.add_patch(f"{inside}/{{name}}/status", self._bound(kind, self._status))
        return app

    def _bound(self, kind: Kind, handler: Any) -> Any:
        async def answer(request: web.Request) -> web.StreamResponse:
            if kind == CONSUMER_GROUP and not self.has_kind:
                return _refusal(404, "NotFound", "the server could not find the resource")
            try:
                answered: web.StreamResponse = await handler(kind, request)
            except NotThere as problem:
                return _refusal(404, "NotFound", str(problem), name="x")
            except Conflict as problem:
                return _refusal(409, "Conflict", str(problem))
            return answered

        return answer

    async def _versions(self, _: web.Request) -> web.Response:
        return web.json_response({"versions": ["v1"]})

    async def _groups(self, _request: web.Request) -> web.Response:
        groups = []
        for group_version in sorted({kind.api_version for kind in KINDS if kind.group}):
            name, _, number = group_version.partition("/")
            one = {"version": number, "groupVersion": group_version}
            groups.append({"name": name, "versions": [one], "preferredVersion": one})
        return web.json_response({"groups": groups})

    async def _resources(self, request: web.Request) -> web.Response:
        version = request.path.split("/", 2)[2]
        found = [
            {
                "name": kind.plural,
                "singularName": kind.name.lower(),
                "kind": kind.name,
                "namespaced": kind not in (_CRD, _NAMESPACE),
                "verbs": ["get", "list", "watch", "create", "patch", "update", "delete"],
            }
            for kind in KINDS
            if kind.api_version == version
        ]
        return web.json_response({"resources": found})

    async def _all(self, kind: Kind, request: web.Request) -> web.StreamResponse:
        namespace = request.match_info.get("namespace")
        if request.query.get("watch") == "true":
            return await self._watch(kind, request)
        label = request.query.get("labelSelector", "").partition("=")
        items = [
            found
            for name, found in self.objects.items()
            if name.kind == kind
            and namespace in (None, name.namespace)
            and _has(found, label[0], label[2])
        ]
        return web.json_response(
            {"kind": f"{kind.name}List", "apiVersion": kind.api_version,
             "metadata": {"resourceVersion": str(self._version)}, "items": items}
        )  # fmt: skip

    async def _watch(self, kind: Kind, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        stream = _Stream(kind)
        since = int(request.query["resourceVersion"])
        int(request.query["timeoutSeconds"])  # the API server takes whole seconds alone
        for version, told, event in self._told:
            if told == kind and version > since:
                stream.events.put_nowait(event)
        self._streams.add(stream)
        self.opened += 1
        try:
            await response.prepare(request)
            while True:
                event = await stream.events.get()
                if event["type"] == "END":
                    return response
                if not stream.is_silent:
                    await response.write(json.dumps(event).encode() + b"\n")
        finally:
            self._streams.discard(stream)

    async def _post(self, _: Kind, request: web.Request) -> web.Response:
        document = await request.json()
        kind = next(each for each in KINDS if each.name == document["kind"])
        metadata = document["metadata"]
        name = ObjectName(kind, metadata["namespace"], metadata["name"])
        if name in self.objects:
            return _refusal(409, "AlreadyExists", f"{name} already exists")
        return web.json_response(self._keep(name, document), status=201)

    async def _one(self, kind: Kind, request: web.Request) -> web.Response:
        name = ObjectName(kind, request.match_info["namespace"], request.match_info["name"])
        if request.method == "GET":
            found = self.objects.get(name)
            if found is None:
                raise NotThere(f"{name} is not there")
            return web.json_response(found)
        body = await request.json()
        if request.method == "PATCH" and "apply" in request.content_type:
            return web.json_response(await self.apply(body))
        fences = {"resourceVersion": "", "uid": ""}
        if request.method == "DELETE":
            fences["uid"] = body["preconditions"]["uid"]
            await self.delete(kind, name.namespace, name.name, uid=fences["uid"])
            return web.json_response({"kind": "Status", "status": "Success"})
        metadata = body.setdefault("metadata", {})
        version = metadata.pop("resourceVersion", None)
        live = self.objects.get(name)
        if live is None:
            raise NotThere(f"{name} is not there")
        if version not in (None, live["metadata"]["resourceVersion"]):
            raise Conflict(f"{name} has changed")
        if request.method == "PUT":
            kept = {**body, "metadata": {**live["metadata"], **metadata}}
            return web.json_response(self._keep(name, kept))
        return web.json_response(await self.patch(kind, name.namespace, name.name, body))

    async def _status(self, kind: Kind, request: web.Request) -> web.Response:
        name = ObjectName(kind, request.match_info["namespace"], request.match_info["name"])
        steps = await request.json()
        if name not in self.objects:
            raise NotThere(f"{name} is not there")
        metadata = self.objects[name]["metadata"]
        for test in steps[:-1]:
            if metadata[test["path"].rpartition("/")[2]] != test["value"]:
                return _refusal(422, "Invalid", "the server rejected our request")
        return web.json_response(
            self._keep(name, {**self.objects[name], "status": steps[-1]["value"]})
        )


def _has(document: Document, label: str, value: str) -> bool:
    labels = document["metadata"].get("labels") or {}
    return not label or (label in labels and value in ("", labels[label]))


def _refusal(status: int, reason: str, message: str, name: str = "") -> web.Response:
    details = {"details": {"name": name}} if name else {}
    return web.json_response({"reason": reason, "message": message, **details}, status=status)


@asynccontextmanager
async def small_api() -> AsyncIterator[SmallApi]:
    """One that answers while the block lasts."""
    api = SmallApi()
    runner = web.AppRunner(api.app(), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield api
    finally:
        api.end_streams()
        await runner.cleanup()
