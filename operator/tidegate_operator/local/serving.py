"""Answers those who ask the running `tidegate up`: `tidegate get`, `explain`, `pause` and the like.

Rules: on loopback alone, and to whoever has the token of the state folder alone, in the Kubernetes
API's own paths and words, so that one client reads the errors of both. Objects are only read, but
for a ConsumerGroup, whose spec may be changed, and which may be deleted.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Middleware

from tidegate_operator.kinds import ALL, CONSUMER_GROUP, Document, Kind, ObjectName
from tidegate_operator.kube_errors import Conflict, Invalid, KubeError, NotThere
from tidegate_operator.local.state import Served
from tidegate_operator.local.store import Store

_CHANGED = ("metadata", "spec")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(store: Store, token: str) -> AsyncIterator[Served]:
    """While the block lasts."""
    app = web.Application(middlewares=[_guard(token)])
    for kind in ALL:
        app.router.add_get(kind.list_path(), _lists(store, kind))
        inside = kind.list_path().replace(
            kind.api_version, f"{kind.api_version}/namespaces/{{namespace}}"
        )
        app.router.add_get(inside, _lists(store, kind))
        app.router.add_get(f"{inside}/{{name}}", _reads(store, kind))
        if kind == CONSUMER_GROUP:
            app.router.add_patch(f"{inside}/{{name}}", _changes(store, kind))
            app.router.add_delete(f"{inside}/{{name}}", _deletes(store, kind))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Served(f"http://127.0.0.1:{runner.addresses[0][1]}", token)
    finally:
        await runner.cleanup()


def _guard(token: str) -> Middleware:
    """Nobody else is answered, and what is wrong is answered as the API server does."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), token.encode()):
            return _refusal(401, "Unauthorized", "the token is not that of this state folder")
        try:
            return await handler(request)
        except NotThere as problem:
            return _refusal(404, "NotFound", str(problem), request.match_info.get("name", ""))
        except Conflict as problem:
            return _refusal(409, "Conflict", str(problem))
        except Invalid as problem:
            causes = [{"field": flaw.field, "message": flaw.message} for flaw in problem.flaws]
            return _refusal(422, "Invalid", str(problem), causes=causes)
        except KubeError as problem:
            return _refusal(500, problem.reason, str(problem))

    return guard


def _refusal(
    status: int, reason: str, message: str, name: str = "", causes: list[Document] | None = None
) -> web.Response:
    details: Document = {"name": name} if name else {}
    if causes:
        details["causes"] = causes
    body = {"kind": "Status", "reason": reason, "message": message, "details": details}
    return web.json_response(body, status=status)


def _lists(store: Store, kind: Kind) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        namespace = request.match_info.get("namespace")
        selectors = (request.query.get(each, "") for each in ("labelSelector", "fieldSelector"))
        found = store.list(kind, namespace, *selectors)
        body = {"apiVersion": kind.api_version, "kind": f"{kind.name}List", "items": found}
        return web.json_response(body)

    return answer


def _name(kind: Kind, request: web.Request) -> ObjectName:
    return ObjectName(kind, request.match_info["namespace"], request.match_info["name"])


def _reads(store: Store, kind: Kind) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(store.get(_name(kind, request)))

    return answer


def _changes(store: Store, kind: Kind) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            changes = await request.json()
        except json.JSONDecodeError:
            return _refusal(400, "BadRequest", "the body is no JSON")
        if not isinstance(changes, dict) or not changes.keys() <= set(_CHANGED):
            return _refusal(403, "Forbidden", "only the spec of a group can be changed here")
        seen = changes.pop("metadata", None) or {}
        name = _name(kind, request)
        version, uid = seen.get("resourceVersion"), seen.get("uid")
        return web.json_response(store.patch(name, changes, version, uid))

    return answer


def _deletes(store: Store, kind: Kind) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        name = _name(kind, request)
        store.delete(name, store.get(name)["metadata"]["uid"])
        return web.json_response({"kind": "Status", "status": "Success"})

    return answer
