"""The Kubernetes API as the operator asks it: a few verbs on JSON documents, without blocking.

Rules:
- Requests are made by the official client's ApiClient, which knows kubeconfigs, tokens and their
  renewal, on a few threads that keep their connections. Nothing is tried twice here: whoever asked
  decides, and what was cancelled may still be done.
- Bodies are never logged and never in an error, for one may be a Secret.
- Acts that depend on what was seen name its resourceVersion or uid, and are refused as Conflict
  where it is not so any more.
- Every error is a KubeError with words for people.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import config
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException

from tidegate_operator.facts import trimmed
from tidegate_operator.kinds import POD, Document, Kind, name_of
from tidegate_operator.kube_answers import checked, dict_in, document_in, items_in, words_of
from tidegate_operator.kube_errors import Conflict, Denied, Invalid, NotThere, refusal, silence
from tidegate_operator.objects import FIELD_MANAGER, Documents
from tidegate_operator.wording import stopped

# The client's own types are not complete; here they are only passed on.
_config: Any = config

_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_STEPS = "application/json-patch+json"
# JSON in ASCII has a character beyond 16 bits as two escapes, of its two halves.
_HALVES = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
# A page is held whole while it is read, and with it who wrote which field of each object.
_PAGE = 100
# A list that grew too old on the way is begun again; a list of ours is read in seconds.
_LISTED_AT_MOST = 3


class Kube:
    """See the module. `threads` bounds the requests that are under way."""

    def __init__(
        self,
        api: ApiClient,
        *,
        threads: int = 8,
        timeout_s: float = 10.0,
        field_manager: str = FIELD_MANAGER,
    ) -> None:
        self._api: Any = api
        self._timeout_s = timeout_s
        self._manager = {"fieldManager": field_manager}
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="kubernetes")

    async def find(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document | None:
        """An object, or None where it is not there."""
        try:
            return await self.get(kind, namespace, name, metadata_only=metadata_only)
        except NotThere:
            return None

    async def get(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document:
        """An object. Raises NotThere."""
        accept = _METADATA.format("") if metadata_only else _JSON
        what = f"read {kind.name} {namespace}/{name}"
        found = await self._ask(what, "GET", kind.path(namespace, name), accept=accept)
        return checked(what, found)

    async def metadata_of(self, kind: Kind, namespace: str, name: str) -> Document | None:
        """An object's metadata alone, without what is in it; None where it is not there."""
        return await self.find(kind, namespace, name, metadata_only=True)

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> Documents:
        """All objects of a namespace, or of all of them, that have the labels and fields."""
        asked = {"labelSelector": labels, "fieldSelector": fields}
        query = {name: said for name, said in asked.items() if said}
        what = f"list {kind.resource} of {namespace or 'all namespaces'}"
        accept = _METADATA.format("List") if metadata_only else _JSON
        for _ in range(_LISTED_AT_MOST):
            try:
                return await self._listed(what, kind.list_path(namespace), query, accept)
            except Conflict as problem:
                too_old = problem
        raise too_old

    async def apply(self, document: Document) -> Document:
        """What we want of an object, as our field manager: server-side apply.

        A resourceVersion in its metadata is that of the object that was seen.
        """
        name = name_of(document)
        query = {**self._manager, "force": "true"}
        path = name.kind.path(name.namespace, name.name)
        body = yaml_of(document)
        return await self._written(f"apply {name}", "PATCH", path, query, body, _APPLY)

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        changes: Mapping[str, Any],
        *,
        resource_version: str | None = None,
        uid: str | None = None,
    ) -> Document:
        """Changes fields (null takes one away), of the very object that was seen where it says."""
        fences = {"resourceVersion": resource_version, "uid": uid}
        fence = {key: value for key, value in fences.items() if value is not None}
        body = {**changes}
        if fence:
            body["metadata"] = {**body.get("metadata", {}), **fence}
        what, path = f"change {kind.name} {namespace}/{name}", kind.path(namespace, name)
        return await self._written(what, "PATCH", path, self._manager, body, _MERGE)

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, status: Mapping[str, Any], *,
        uid: str, resource_version: str | None = None,
    ) -> Document:  # fmt: skip
        """Replaces the whole status. Raises Conflict where the object is another by now."""
        seen = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        steps: list[Document] = [
            {"op": "test", "path": f"/metadata/{key}", "value": said} for key, said in seen.items()
        ]
        steps.append({"op": "add", "path": "/status", "value": status})
        what = f"write the status of {kind.name} {namespace}/{name}"
        path = kind.path(namespace, name, "status")
        try:
            return await self._written(what, "PATCH", path, self._manager, steps, _STEPS)
        except Invalid as problem:
            if problem.flaws:
                raise
            # A test that fails is told as any other object that cannot be taken.
            raise Conflict(f"{what}: it is another object by now. {problem}") from problem

    async def create(self, document: Document) -> Document:
        """Makes an object. Raises AlreadyThere."""
        name = name_of(document)
        path = name.kind.list_path(name.namespace)
        return await self._written(f"create {name}", "POST", path, self._manager, document)

    async def replace(self, document: Document) -> Document:
        """Writes a whole object, of the resourceVersion in it. Raises Conflict, NotThere."""
        name = name_of(document)
        path = name.kind.path(name.namespace, name.name)
        return await self._written(f"replace {name}", "PUT", path, self._manager, document)

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document:
        """What the API server says to a question of access: a status, of which nothing is kept."""
        body = {"apiVersion": kind.api_version, "kind": kind.name, "spec": dict(spec)}
        what = f"ask for a {kind.name}"
        answer = await self._ask(what, "POST", kind.list_path(), None, body)
        return dict_in(what, answer.get("status"))

    async def through(
        self, namespace: str, pod: str, port: int, verb: str, path: str, body: Any = None
    ) -> Document:
        """What a pod answers at a port of its own, with JSON both ways. Raises KubeError."""
        url = POD.path(namespace, f"{pod}:{port}", "proxy") + path
        return await self._ask(f"ask pod {namespace}/{pod} for {path}", verb, url, None, body)

    async def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, grace_s: int | None = None
    ) -> bool:
        """Deletes the very object that was seen, and then what it owns; whether it was there.

        `grace_s`: a pod's time to end, 0 by force. Raises Conflict where it is another one by now.
        """
        grace = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        body = {
            **grace,
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        }
        what, path = f"delete {kind.name} {namespace}/{name}", kind.path(namespace, name)
        try:
            await self._ask(what, "DELETE", path, {}, body)
        except NotThere:
            return False
        return True

    async def close(self) -> None:
        """Waits for what is under way, and ends the connections."""
        await asyncio.to_thread(self._pool.shutdown)
        self._api.close()

    async def _written(self, what: str, *request: Any) -> Document:
        """The object as it is after a write."""
        return checked(what, await self._ask(what, *request), is_read=False)

    async def _listed(self, what: str, path: str, query: dict[str, str], accept: str) -> Documents:
        found: Documents = []
        going_on = ""
        while True:
            page = {**query, "limit": str(_PAGE)}
            if going_on:
                page["continue"] = going_on
            answer = await self._ask(what, "GET", path, page, accept=accept)
            items, before = items_in(what, answer), going_on
            found += [trimmed(each) for each in items]
            going_on = str((answer.get("metadata") or {}).get("continue") or "")
            if not going_on:
                return found
            if going_on == before:
                raise silence(what, "its list begins again and again")

    async def _ask(
        self,
        what: str,
        verb: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = _JSON,
        *,
        accept: str = _JSON,
    ) -> Document:
        url = self._api.configuration.host + path + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": accept, "User-Agent": self._manager["fieldManager"]}
        if body is not None:
            headers["Content-Type"] = content
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._request, what, verb, url, headers, body)

    def _request(
        self, what: str, verb: str, url: str, headers: dict[str, str], body: Any
    ) -> Document:
        """On one of the threads."""
        try:
            self._api.update_params_for_auth(headers, [], ["BearerToken"], "", verb, None)
            response = self._api.call_api(
                verb, url, headers, body, _request_timeout=self._timeout_s
            )
            answer: bytes = response.read()
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as problem:
            raise silence(what, words_of(problem)) from problem
        except config.ConfigException as problem:
            raise Denied(f"{what}: there are no credentials: {problem}. Renew them.") from problem
        except Exception as problem:
            # An answer that the client itself cannot read: a header, a redirect, an encoding.
            raise silence(what, f"its answer is none: {words_of(problem)}") from problem
        if not 200 <= response.status <= 299:
            raise refusal(what, response.status, answer, response.headers, time.time())
        return document_in(what, answer)


def yaml_of(document: Document) -> bytes:
    """An object as JSON that is YAML, too: YAML has no escapes of halves of a character."""
    text = json.dumps(document)
    return _HALVES.sub(lambda halves: str(json.loads(f'"{halves[0]}"')), text).encode()


# What the reader of kubeconfigs raises for a file that is none: it trusts each value's type.
NO_KUBECONFIG = (
    config.ConfigException,
    *(OSError, yaml.YAMLError, RecursionError),
    *(AttributeError, LookupError, TypeError, ValueError),
)


def connect(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    threads: int = 8,
    field_manager: str = FIELD_MANAGER,
) -> Kube:
    """The cluster that this process is in, else that of KUBECONFIG or ~/.kube/config.

    Raises Denied where neither is there.
    """
    settings = Configuration()
    try:
        _load(settings, kubeconfig, context)
    except NO_KUBECONFIG as problem:
        raise Denied(
            f"there is no cluster to connect to: {type(problem).__name__}: "
            f"{stopped(str(problem))} Run in a pod with a ServiceAccount, or set KUBECONFIG."
        ) from problem
    # Whoever asks tries again; a thread that does so by itself would hold up the others.
    settings.retries = False
    settings.connection_pool_maxsize = threads
    return Kube(ApiClient(settings), threads=threads, field_manager=field_manager)


def _load(settings: Configuration, kubeconfig: str | None, context: str | None) -> None:
    if kubeconfig is None and context is None:
        try:
            _config.load_incluster_config(client_configuration=settings)
        except config.ConfigException:
            _config.load_kube_config(client_configuration=settings)
    else:
        _config.load_kube_config(kubeconfig, context, settings)


@asynccontextmanager
async def connected(make: Callable[[], Kube] = connect) -> AsyncIterator[Kube]:
    """One connection for as long as it is needed."""
    kube = make()
    try:
        yield kube
    finally:
        await kube.close()
