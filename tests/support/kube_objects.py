"""Objects of a cluster in memory, as far as applying them needs it; for tests without an API.

Rules: server-side apply gives the fields that are said, takes away those that the same manager
said before and says no more, and leaves the others. A resourceVersion or uid that is not the
object's is a Conflict. Every request is counted.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tidegate_operator.kinds import Document, Kind, ObjectName, name_of
from tidegate_operator.kube_errors import Conflict, NotThere


class KubeObjects:
    """See the module."""

    def __init__(self) -> None:
        self.objects: dict[ObjectName, Document] = {}
        self.asked: list[str] = []
        # Is raised by the next write.
        self.fails: Exception | None = None
        self._said: dict[ObjectName, Document] = {}
        self._version = 0

    async def find(self, kind: Kind, namespace: str, name: str) -> Document | None:
        self.asked.append(f"find {kind.name}")
        return copy.deepcopy(self.objects.get(ObjectName(kind, namespace, name)))

    async def metadata_of(self, kind: Kind, namespace: str, name: str) -> Document | None:
        self.asked.append(f"metadata {kind.name}")
        found = self.objects.get(ObjectName(kind, namespace, name))
        return None if found is None else {"metadata": copy.deepcopy(found["metadata"])}

    async def apply(self, document: Document) -> Document:
        name = name_of(document)
        self._begin(f"apply {name.kind.name}")
        live = self.objects.get(name)
        said = copy.deepcopy(document)
        version = said["metadata"].pop("resourceVersion", None)
        if version is not None and (live is None or live["metadata"]["resourceVersion"] != version):
            raise Conflict(f"apply {name}: somebody else has changed it")
        found = _without(live or {}, self._said.get(name, {}), said)
        found = _over(found, said)
        self._said[name] = said
        return self._keep(name, found)

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        changes: Mapping[str, Any],
        *,
        resource_version: str | None = None,
    ) -> Document:
        self._begin(f"patch {kind.name}")
        there = ObjectName(kind, namespace, name)
        live = self.objects.get(there)
        if live is None:
            raise NotThere(f"{there} is not there")
        if resource_version not in {None, live["metadata"]["resourceVersion"]}:
            raise Conflict(f"{there} has changed")
        return self.edit(there, changes)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> bool:
        self._begin(f"delete {kind.name}")
        there = ObjectName(kind, namespace, name)
        live = self.objects.get(there)
        if live is None:
            return False
        if live["metadata"]["uid"] != uid:
            raise Conflict(f"{there} is another one")
        self.take(there)
        return True

    def edit(self, name: ObjectName, changes: Mapping[str, Any]) -> Document:
        """Somebody changes it."""
        return self._keep(name, _over(self.objects[name], changes))

    def take(self, name: ObjectName) -> None:
        """Somebody deletes it."""
        del self.objects[name]
        self._said.pop(name, None)

    def put(self, document: Document) -> None:
        """Somebody makes it."""
        self._keep(name_of(document), copy.deepcopy(document))

    def _begin(self, what: str) -> None:
        self.asked.append(what)
        if self.fails is not None:
            fails, self.fails = self.fails, None
            raise fails

    def _keep(self, name: ObjectName, found: Document) -> Document:
        live = self.objects.get(name)
        metadata = found["metadata"]
        if live is None:
            self._version += 1
            found = _over(
                {"spec": {"replicas": 1}} if name.kind.name == "Deployment" else {}, found
            )
            metadata = found["metadata"]
            metadata |= {"uid": f"uid-{self._version}", "generation": 1}
            metadata["resourceVersion"] = str(self._version)
        elif found != live:
            self._version += 1
            metadata["resourceVersion"] = str(self._version)
            metadata["generation"] += found.get("spec") != live.get("spec")
        self.objects[name] = found
        return copy.deepcopy(found)


def _over(live: Any, said: Any) -> Any:
    """Maps are merged, all else is replaced; null takes away."""
    if not isinstance(said, Mapping):
        return copy.deepcopy(said)
    found = dict(live) if isinstance(live, Mapping) else {}
    for key, value in said.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _over(found.get(key), value)
    return found


def _without(live: Any, before: Any, now: Any) -> Any:
    """What was said before and is said no more is gone."""
    if not all(isinstance(value, Mapping) for value in (live, before, now)):
        return live
    return {
        key: _without(value, before.get(key), now.get(key))
        for key, value in live.items()
        if not (key in before and key not in now)
    }
