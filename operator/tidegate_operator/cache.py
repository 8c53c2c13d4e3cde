"""What the watches have told, by group: its ConsumerGroup, its Deployment, its pods. Pure.

Rules: nothing here asks anybody. What is told replaces what was known of the same object. Of pods
only the facts that decide something are kept; of other objects not who wrote which field, and what
one has in common with the last of its kind is kept once: nobody changes a document but here. How a
pod ended is kept also when it is gone, until a round has taken it in: end and deletion may be told
together, before anybody looked.
Versions are kept as they came, to be compared with what the API lists: see watching.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidegate.model import MemberName
from tidegate_operator.alike import Alike
from tidegate_operator.facts import (
    group_of,
    group_signs,
    key_of,
    pod_facts,
    trimmed,
    workload_signs,
)
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, POD, Document, Kind
from tidegate_operator.model import GroupKey, PodFacts

WATCHED = (CONSUMER_GROUP, DEPLOYMENT, POD)
# Where nobody takes them in, as under another leader, the oldest are forgotten.
_GONE_AT_MOST = 32


class Place(NamedTuple):
    """Where an object is."""

    namespace: str
    name: str


class Version(NamedTuple):
    """Which object stands there, and at which of its versions."""

    uid: str
    resource_version: str


@dataclass(slots=True)
class Known:
    """All that is known of one group."""

    document: Document | None = None
    # The status that this operator wrote last: a document that says the same has this one, not
    # another one like it. With its partitions it is the largest part of what is kept of a group.
    told: Document | None = None
    deployment: Document | None = None
    pods: dict[MemberName, PodFacts] = field(default_factory=dict)
    # Pods that are gone, whose container had ended, as they were last; see `taken_in`.
    gone: dict[MemberName, PodFacts] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.document is None and self.deployment is None and not self.pods


class Cache:
    """See the module."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, Known] = {}
        self._versions: dict[Kind, dict[Place, Version]] = {kind: {} for kind in WATCHED}
        # Which group an object was of when it was last told of: its labels may change.
        self._owners: dict[tuple[Kind, Place], GroupKey] = {}
        self._alike = Alike()

    def hear(self, kind: Kind, document: Mapping[str, Any], *, is_gone: bool) -> set[GroupKey]:
        """Something was told of an object; the groups that are worth a look because of it."""
        metadata = document["metadata"]
        place = Place(metadata["namespace"], metadata["name"])
        version = Version(metadata.get("uid", ""), metadata.get("resourceVersion", ""))
        before = self._owners.get((kind, place))
        if is_gone:
            return self._forget(kind, place, version, document)
        key = key_of(document) if kind == CONSUMER_GROUP else group_of(document)
        touched = {each for each in (before, key) if each is not None}
        if key is None:  # it has lost its label: it is no longer of any group
            self._versions[kind].pop(place, None)
            self._let_go(kind, place)
            return touched
        if before != key:
            self._let_go(kind, place)
        self._versions[kind][place] = version
        self._owners[kind, place] = key
        return touched if self._keep(kind, key, document) else touched - {key}

    def _keep(self, kind: Kind, key: GroupKey, document: Mapping[str, Any]) -> bool:
        """Whether it says something that matters and was not known."""
        known = self._groups.setdefault(key, Known())
        if kind == CONSUMER_GROUP:
            old, known.document = known.document, self._resource(document, known.told)
            return old is None or group_signs(old) != group_signs(document)
        if kind == POD:
            facts = pod_facts(document)
            before = known.pods.get(facts.name)
            known.pods[facts.name] = facts
            known.gone.pop(facts.name, None)
            return before != facts
        if document["metadata"]["name"] != key.name:
            return False
        old = known.deployment
        known.deployment = self._alike.of(kind, trimmed(document))
        return old is None or workload_signs(old) != workload_signs(document)

    def _resource(self, document: Mapping[str, Any], told: Document | None) -> Document:
        """A ConsumerGroup. Its status, most of it, has little in common with any but its own."""
        bare = trimmed(document)
        status = bare.pop("status", None)
        kept: Document = {**self._alike.of(CONSUMER_GROUP, bare)}
        if status is not None:
            kept["status"] = status
        return _shared(kept, told)

    def _forget(
        self, kind: Kind, place: Place, version: Version, document: Mapping[str, Any]
    ) -> set[GroupKey]:
        known = self._versions[kind].get(place)
        if known is not None and known.uid != version.uid and version.uid:
            return set()  # another object of this name stands there by now
        self._versions[kind].pop(place, None)
        owner = self._owners.get((kind, place))
        if kind == POD and owner is not None:
            self._remember(owner, place.name, document)
        self._let_go(kind, place)
        return {owner} if owner is not None else set()

    def _remember(self, key: GroupKey, name: MemberName, document: Mapping[str, Any]) -> None:
        """How a pod ended. Its deletion says so itself, but where it was missed and found later."""
        known = self._groups[key]
        last = pod_facts(document) if "status" in document else known.pods.get(name)
        if last is None or last.container.running is not None or last.container.last_end is None:
            return
        known.gone[name] = last
        for oldest in list(known.gone)[:-_GONE_AT_MOST]:
            del known.gone[oldest]

    def taken_in(self, key: GroupKey, gone: Iterable[PodFacts]) -> None:
        """A round has decided on how these ended, and remembers it as long as it matters."""
        known = self.known(key)
        for pod in tuple(gone):
            if known.gone.get(pod.name) is pod:
                del known.gone[pod.name]

    def _let_go(self, kind: Kind, place: Place) -> None:
        """An object is no longer of the group that it was of."""
        key = self._owners.pop((kind, place), None)
        known = self._groups.get(key) if key is not None else None
        if key is None or known is None:
            return
        if kind == CONSUMER_GROUP:
            known.document = known.told = None
        elif kind == POD:
            known.pods.pop(place.name, None)
        elif place.name == key.name:
            known.deployment = None
        if known.is_empty:
            del self._groups[key]

    def tell(self, key: GroupKey, status: Document) -> None:
        """This operator wrote it as the status of a group."""
        known = self._groups.get(key)
        if known is not None and known.document is not None:
            known.told = status
            _shared(known.document, status)

    def known(self, key: GroupKey) -> Known:
        return self._groups.get(key) or Known()

    def groups(self) -> frozenset[GroupKey]:
        """The groups that have a ConsumerGroup."""
        return frozenset(key for key, known in self._groups.items() if known.document is not None)

    def documents(self) -> Iterator[tuple[GroupKey, Document]]:
        for key, known in self._groups.items():
            if known.document is not None:
                yield key, known.document

    def versions(self, kind: Kind) -> Mapping[Place, Version]:
        return self._versions[kind]


def _shared(document: Document, told: Document | None) -> Document:
    """It has the very status that was told from now on, where that says the same."""
    if told is not None and document.get("status") == told:
        document["status"] = told
    return document


def differing(
    known: Mapping[Place, Version], listed: Mapping[Place, Version]
) -> dict[Place, Version | None]:
    """Where what was known is not what was listed then, with what was known there, if anything."""
    places = known.keys() | listed.keys()
    return {place: known.get(place) for place in places if known.get(place) != listed.get(place)}


def missed(
    differing_then: Mapping[Place, Version | None], known_now: Mapping[Place, Version]
) -> set[Place]:
    """Of what differed a while ago: where the watch has told nothing since."""
    return {place for place, then in differing_then.items() if known_now.get(place) == then}
