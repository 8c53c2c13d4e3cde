"""What is asked of the Kubernetes API: the verbs, whoever answers them, a cluster or this process.

Rules: `kube.Kube` has them all, over HTTP; `local.api.LocalApi` has them over objects in memory.
Whoever asks names the part that it needs, and no more. What cannot be done is a KubeError.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from tidegate_operator.kinds import Document, Kind
from tidegate_operator.settings import OperatorSettings

# Who writes the fields that are the operator's, as `kubectl get --show-managed-fields` says it.
FIELD_MANAGER = "tidegate-operator"

Documents = list[Document]
# Told of: a kind, the object, whether it is gone.
Heard = Callable[[Kind, Mapping[str, Any], bool], None]
# Tells of everything that is watched, until it is cancelled.
Watch = Callable[[OperatorSettings, Heard], Coroutine[Any, Any, None]]


class Finds(Protocol):
    """One object by its name."""

    async def find(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document | None:
        """An object, or None where it is not there."""


class Objects(Protocol):
    """What applying asks."""

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


class Groups(Finds, Protocol):
    """What people ask who look at groups and change them."""

    async def get(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document:
        """An object. Raises NotThere."""

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

    # Last: below it `list` is this verb, and no more Python's own word.
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


class Api(Groups, Protocol):
    """All of it, as the operator needs it."""

    async def metadata_of(self, kind: Kind, namespace: str, name: str) -> Document | None:
        """An object's metadata alone, without what is in it; None where it is not there."""

    async def apply(self, document: Document) -> Document:
        """What we want of an object, as our field manager: server-side apply."""

    async def patch_status(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        status: Mapping[str, Any],
        *,
        uid: str,
        resource_version: str | None = None,
    ) -> Document:
        """Replaces the whole status. Raises Conflict where the object is another by now."""

    async def create(self, document: Document) -> Document:
        """Makes an object. Raises AlreadyThere."""

    async def replace(self, document: Document) -> Document:
        """Writes a whole object, of the resourceVersion in it. Raises Conflict, NotThere."""

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> bool:
        """Deletes the very object that was seen, and then what it owns; whether it was there."""
