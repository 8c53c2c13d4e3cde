"""What applying asks of the Kubernetes API: the verbs of kube.Kube that it needs, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tidegate_operator.kinds import Document, Kind


class Objects(Protocol):
    """See the module."""

    async def find(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    async def metadata_of(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    async def apply(self, document: Document) -> Document: ...

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        changes: Mapping[str, object],
        *,
        resource_version: str | None = None,
    ) -> Document: ...

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> bool: ...
