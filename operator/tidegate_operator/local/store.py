"""Objects as the API server keeps them, in memory: versions, fences, deletion and what hangs on it.

Rules:
- Pure but for what it is given: a clock, and names for what is new. Whoever listens is told of each
  change when it has been made.
- Every change gives a new resourceVersion, a change of anything but metadata and status a new
  generation; what changes nothing is no change.
- A write that names a resourceVersion or a uid is refused as Conflict where it is another by now.
- What has finalizers is only marked when it is deleted, and so is a pod, which its kubelet ends.
  What is gone takes with it what it owns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tidegate_operator.kinds import EVENT, POD, Document, Kind, ObjectName, name_of
from tidegate_operator.kube_errors import AlreadyThere, Conflict, NotThere
from tidegate_operator.local.merging import applied, patched
from tidegate_operator.objects import Heard

# What stands of an object as it is to be; the other one is as it is, if any. Raises Invalid.
Admit = Callable[[Document, Document | None], Document]

_EVENTS_KEPT = 1000
# What a manifest cannot say of an object.
_OURS = ("creationTimestamp", "deletionTimestamp", "generation", "resourceVersion", "uid")
_NO_GENERATION = ("metadata", "status")


class Store:
    """See the module. `wall` is the time of day, `new_uid` gives a uid that nothing else has."""

    def __init__(self, wall: Callable[[], float], new_uid: Callable[[], str], admit: Admit) -> None:
        self._wall = wall
        self._new_uid = new_uid
        self._admit = admit
        self._objects: dict[ObjectName, Document] = {}
        # What each manager applied last.
        self._applied: dict[tuple[ObjectName, str], Document] = {}
        self._version = 0
        self._listeners: list[Heard] = []

    def listen(self, heard: Heard) -> Callable[[], None]:
        """From now on; what is given back ends it."""
        self._listeners.append(heard)
        return lambda: self._listeners.remove(heard)

    # --- reading

    def find(self, name: ObjectName) -> Document | None:
        return copy.deepcopy(self._objects.get(name))

    def get(self, name: ObjectName) -> Document:
        return copy.deepcopy(self._there(name, f"read {name}"))

    def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> list[Document]:
        """Selectors are as kubectl takes them: 'a=b', of labels also 'a', with commas between."""
        return [
            copy.deepcopy(found)
            for name, found in sorted(self._objects.items())
            if name.kind == kind and namespace in (None, name.namespace)
            if _has(found, labels) and _says(found, fields)
        ]

    # --- writing

    def create(self, document: Document) -> Document:
        name = name_of(document)
        what = f"create {name}"
        if name in self._objects:
            raise AlreadyThere(f"{what}: an object of this name is there already.")
        return self._keep(name, copy.deepcopy(document))

    def apply(self, document: Document, manager: str) -> Document:
        name = name_of(document)
        live, said = self._objects.get(name), copy.deepcopy(document)
        self._check(f"apply {name}", live, said["metadata"].pop("resourceVersion", None), None)
        found = applied(live, self._applied.get((name, manager)), said)
        kept = self._keep(name, found)
        self._applied[name, manager] = said
        return kept

    def patch(
        self,
        name: ObjectName,
        changes: Mapping[str, Any],
        resource_version: str | None = None,
        uid: str | None = None,
    ) -> Document:
        what = f"change {name}"
        live = self._there(name, what)
        self._check(what, live, resource_version, uid)
        kept = self._keep(name, patched(live, copy.deepcopy(dict(changes))))
        self._let_go(name)
        return kept

    def replace(self, document: Document) -> Document:
        name = name_of(document)
        what = f"replace {name}"
        live, metadata = self._there(name, what), document["metadata"]
        self._check(what, live, metadata.get("resourceVersion"), metadata.get("uid"))
        kept = self._keep(name, copy.deepcopy(document))
        self._let_go(name)
        return kept

    def write_status(
        self,
        name: ObjectName,
        status: Mapping[str, Any],
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Document:
        what = f"write the status of {name}"
        live = self._there(name, what)
        self._check(what, live, resource_version, uid)
        return self._keep(name, {**live, "status": copy.deepcopy(dict(status))})

    def delete(self, name: ObjectName, uid: str | None = None) -> bool:
        """Whether it was there."""
        live = self._objects.get(name)
        if live is None:
            return False
        self._check(f"delete {name}", live, None, uid)
        if name.kind != POD and not live["metadata"].get("finalizers"):
            self._remove(name)
        elif "deletionTimestamp" not in live["metadata"]:
            metadata = {**live["metadata"], "deletionTimestamp": _written(self._wall())}
            self._keep(name, {**live, "metadata": metadata}, is_marked=True)
        return True

    def end_pod(self, name: ObjectName, uid: str) -> None:
        """Its kubelet has ended it."""
        live = self._objects.get(name)
        if live is not None and live["metadata"]["uid"] == uid:
            self._remove(name)

    # --- what is below

    def _there(self, name: ObjectName, what: str) -> Document:
        found = self._objects.get(name)
        if found is None:
            raise NotThere(f"{what}: it is not there.")
        return found

    def _check(
        self, what: str, live: Document | None, version: str | None, uid: str | None
    ) -> None:
        metadata = live["metadata"] if live is not None else {}
        if uid not in (None, metadata.get("uid")):
            raise Conflict(f"{what}: it is another object by now.")
        if version not in (None, metadata.get("resourceVersion")):
            raise Conflict(f"{what}: somebody else has changed it: look at it again.")

    def _keep(self, name: ObjectName, found: Document, *, is_marked: bool = False) -> Document:
        """The object stands as this from now on."""
        live = self._objects.get(name)
        found["metadata"] = self._metadata(found["metadata"], live, is_marked=is_marked)
        found = self._admit(found, live)
        if live is not None and live == found:
            return copy.deepcopy(live)
        self._version += 1
        metadata = found["metadata"]
        metadata["resourceVersion"] = str(self._version)
        metadata["generation"] = _generation(found, live)
        self._objects[name] = found
        self._tell(name.kind, found, is_gone=False)
        if name.kind == EVENT and live is None:
            self._forget_events()
        return copy.deepcopy(found)

    def _metadata(
        self, said: Mapping[str, Any], live: Document | None, *, is_marked: bool
    ) -> dict[str, Any]:
        kept = {key: value for key, value in said.items() if key not in _OURS}
        if live is None:
            at = _written(self._wall())
            return {**kept, "uid": self._new_uid(), "creationTimestamp": at}
        before = live["metadata"]
        kept |= {key: before[key] for key in _OURS if key in before}
        if is_marked:
            kept["deletionTimestamp"] = said["deletionTimestamp"]
        return kept

    def _let_go(self, name: ObjectName) -> None:
        """What waited for its last finalizer only."""
        metadata = self._objects[name]["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            if name.kind != POD:
                self._remove(name)

    def _remove(self, name: ObjectName) -> None:
        gone = self._objects.pop(name)
        for applied_by in [each for each in self._applied if each[0] == name]:
            del self._applied[applied_by]
        self._tell(name.kind, gone, is_gone=True)
        uid = gone["metadata"]["uid"]
        for owned in [each for each in self._objects if uid in self._owners(each)]:
            self.delete(owned)

    def _owners(self, name: ObjectName) -> Iterator[str]:
        # What was removed with another one is not there any more.
        metadata = self._objects.get(name, {}).get("metadata", {})
        return (str(each.get("uid")) for each in metadata.get("ownerReferences") or ())

    def _forget_events(self) -> None:
        """Events do not stay for ever."""
        names = [name for name in self._objects if name.kind == EVENT]
        for name in names[: max(len(names) - _EVENTS_KEPT, 0)]:
            self._remove(name)

    def _tell(self, kind: Kind, document: Document, *, is_gone: bool) -> None:
        for heard in list(self._listeners):
            heard(kind, copy.deepcopy(document), is_gone)


def _generation(found: Document, live: Document | None) -> int:
    if live is None:
        return 1
    before: int = live["metadata"]["generation"]
    keys = (found.keys() | live.keys()).difference(_NO_GENERATION)
    return before + any(found.get(key) != live.get(key) for key in keys)


def _has(document: Document, labels: str) -> bool:
    its = document["metadata"].get("labels") or {}
    for each in filter(None, labels.split(",")):
        key, sign, value = each.partition("=")
        if key not in its or (sign and its[key] != value):
            return False
    return True


def _says(document: Document, fields: str) -> bool:
    for each in filter(None, fields.split(",")):
        path, _, value = each.partition("=")
        found: Any = document
        for key in path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found != value:
            return False
    return True


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
