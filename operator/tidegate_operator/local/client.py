"""Asks the running `tidegate up`, as `kube.Kube` asks a cluster: for those who look and change.

Rules: it has the verbs of `objects.Groups`, and its errors are those of the Kubernetes API, by the
same reader. One that does not answer has ended: NotRunningError's words say what to do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tidegate_operator.kinds import Document, Kind
from tidegate_operator.kube_errors import NotThere, Unreachable, refusal
from tidegate_operator.local.state import Served
from tidegate_operator.objects import Documents

_TIMEOUT = aiohttp.ClientTimeout(total=10.0)


class Client:
    """See the module."""

    def __init__(self, session: aiohttp.ClientSession, served: Served) -> None:
        self._session = session
        self._url = served.url
        self._headers = {"Authorization": f"Bearer {served.token}"}

    async def find(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document | None:
        try:
            return await self.get(kind, namespace, name, metadata_only=metadata_only)
        except NotThere:
            return None

    async def get(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document:
        what = f"read {kind.name} {namespace}/{name}"
        found = await self._ask(what, "GET", kind.path(namespace, name))
        return {"metadata": found["metadata"]} if metadata_only else found

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
        fences = {"resourceVersion": resource_version, "uid": uid}
        fence = {key: value for key, value in fences.items() if value is not None}
        body = {**changes, "metadata": fence} if fence else dict(changes)
        what = f"change {kind.name} {namespace}/{name}"
        return await self._ask(what, "PATCH", kind.path(namespace, name), body=body)

    async def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Raises NotThere."""
        what = f"delete {kind.name} {namespace}/{name}"
        await self._ask(what, "DELETE", kind.path(namespace, name))

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> Documents:
        what = f"list {kind.resource} of {namespace or 'all namespaces'}"
        selectors = {"labelSelector": labels, "fieldSelector": fields}
        query = {name: value for name, value in selectors.items() if value}
        answer = await self._ask(what, "GET", kind.list_path(namespace), query=query)
        found: Documents = answer["items"]
        return [{"metadata": each["metadata"]} for each in found] if metadata_only else found

    async def _ask(
        self,
        what: str,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Document | None = None,
    ) -> Document:
        try:
            async with self._session.request(
                verb,
                self._url + path,
                params=query,
                json=body,
                headers=self._headers,
                timeout=_TIMEOUT,
            ) as answer:
                text = await answer.read()
                if answer.status >= 300:
                    raise refusal(what, answer.status, text)
                found: Document = await answer.json()
                return found
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise Unreachable(
                f"{what}: `tidegate up` does not answer any more ({type(problem).__name__}). "
                "Look at the terminal in which it runs, or start it again."
            ) from problem


@asynccontextmanager
async def asking(served: Served) -> AsyncIterator[Client]:
    """A connection to the one that runs."""
    async with aiohttp.ClientSession() as session:
        yield Client(session, served)
