"""The port that the operator asks the Kubernetes API through, over the objects of this process.

Rules: it answers as `kube.Kube` does, with the same errors; the contract suite runs on both. What
the watches tell comes without a delay and without a gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tidegate_operator.cache import WATCHED
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.kinds import CONSUMER_GROUP, Document, Kind, ObjectName
from tidegate_operator.kube_errors import NotThere
from tidegate_operator.local.store import Store
from tidegate_operator.objects import FIELD_MANAGER, Documents, Heard, Watch
from tidegate_operator.settings import OperatorSettings


class LocalApi:
    """See the module."""

    def __init__(self, store: Store, manager: str = FIELD_MANAGER) -> None:
        self._store = store
        self._manager = manager

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
        found = self._store.get(_named(kind, namespace, name))
        return _metadata(found) if metadata_only else found

    async def metadata_of(self, kind: Kind, namespace: str, name: str) -> Document | None:
        return await self.find(kind, namespace, name, metadata_only=True)

    async def apply(self, document: Document) -> Document:
        return self._store.apply(document, self._manager)

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
        return self._store.patch(_named(kind, namespace, name), changes, resource_version, uid)

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, status: Mapping[str, Any], *,
        uid: str, resource_version: str | None = None,
    ) -> Document:  # fmt: skip
        there = _named(kind, namespace, name)
        return self._store.write_status(there, status, uid, resource_version)

    async def create(self, document: Document) -> Document:
        return self._store.create(document)

    async def replace(self, document: Document) -> Document:
        return self._store.replace(document)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> bool:
        return self._store.delete(_named(kind, namespace, name), uid)

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> Documents:
        found = self._store.list(kind, namespace, labels, fields)
        return [_metadata(each) for each in found] if metadata_only else found


def watching(store: Store) -> Watch:
    """What is there, and then every change, until it is cancelled."""

    async def watch(settings: OperatorSettings, heard: Heard) -> None:
        def hear(kind: Kind, document: Mapping[str, Any], is_gone: bool) -> None:
            metadata = document["metadata"]
            if settings.namespaces and metadata["namespace"] not in settings.namespaces:
                return
            if kind in WATCHED and (
                kind == CONSUMER_GROUP or GROUP_LABEL in (metadata.get("labels") or {})
            ):
                heard(kind, document, is_gone)

        end = store.listen(hear)
        try:
            for kind in WATCHED:
                for found in store.list(kind):
                    hear(kind, found, is_gone=False)
            await asyncio.Event().wait()
        finally:
            end()

    return watch


def _named(kind: Kind, namespace: str, name: str) -> ObjectName:
    if not namespace or not name:
        raise ValueError(f"one of the {kind.plural} was asked for without its name")
    return ObjectName(kind, namespace, name)


def _metadata(document: Document) -> Document:
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": document["metadata"],
    }
