"""Writes Kubernetes Events about groups, as `kubectl describe` and `kubectl get events` show them.

Rules:
- What is said again within ten minutes is the same Event with a higher count.
- An Event that cannot be written is counted, and told in the log where the words are new. It holds
  nothing up: nothing is decided by Events. Written again with the same time it is the same Event.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from tidegate.bounded import cut
from tidegate_operator.drift import fingerprint
from tidegate_operator.kinds import EVENT, Document, Kind
from tidegate_operator.kube_errors import AlreadyThere, KubeError, NotThere
from tidegate_operator.objects import FIELD_MANAGER
from tidegate_operator.untold import Untold

_log = logging.getLogger("tidegate.operator.events")

_SAME_S = 600.0
_REMEMBERED = 4096
# The API takes no longer message.
_LONGEST = 1024


class Writer(Protocol):
    """What is asked of kube.Kube here."""

    async def create(self, document: Document) -> Document: ...

    async def patch(
        self, kind: Kind, namespace: str, name: str, changes: Mapping[str, Any]
    ) -> Document: ...


@dataclass(frozen=True, slots=True)
class _Said:
    """An Event that was written: its name, when it was said last, and how often."""

    name: str
    last_at: float
    count: int


class Herald:
    """See the module. `wall` is the clock on the wall; `identity` is this operator's."""

    def __init__(
        self,
        kube: Writer,
        wall: Callable[[], float],
        identity: str,
        untold: Untold | None = None,
    ) -> None:
        self._untold = untold if untold is not None else Untold()
        # Why the last one could not be written.
        self._trouble = ""
        self._kube = kube
        self._wall = wall
        self._identity = identity
        self._said: dict[tuple[str, str, str, str], _Said] = {}

    async def tell(self, regarding: Document, *, kind: str, reason: str, note: str) -> bool:
        """Of the object; kind is Normal or Warning. Whether it is written."""
        try:
            await self.write(regarding, kind, reason, note, self._wall())
        except KubeError as problem:
            self.failed(regarding, problem)
            return False
        return True

    async def write(
        self, regarding: Document, kind: str, reason: str, note: str, at: float
    ) -> None:
        """The same, of something that happened then. Raises KubeError."""
        note = cut(note, _LONGEST)
        key = (regarding["metadata"]["uid"], kind, reason, note)
        said = self._said.get(key)
        if said is None or at - said.last_at > _SAME_S:
            said = await self._begin(regarding, key, at)
        else:
            said = await self._repeat(regarding, key, said, at)
        # The last to be said is the last to be forgotten.
        self._said.pop(key, None)
        self._said[key] = said
        while len(self._said) > _REMEMBERED:
            del self._said[next(iter(self._said))]
        if self._trouble:
            self._trouble = ""
            _log.info("Events are written again")

    def failed(self, regarding: Document, problem: KubeError) -> None:
        """An Event of the object could not be written."""
        self._untold.events_failed += 1
        # Without what was tried: every Event has a name of its own.
        words = str(problem).partition(": ")[2] or str(problem)
        if words != self._trouble:
            _log.warning("Events of %s: %s", regarding["metadata"]["name"], problem)
        self._trouble = words

    async def _begin(
        self, regarding: Document, key: tuple[str, str, str, str], now: float
    ) -> _Said:
        _, kind, reason, note = key
        metadata = regarding["metadata"]
        name = f"{metadata['name']}.{fingerprint([*key, now, self._identity])}"
        involved = {
            "apiVersion": regarding["apiVersion"],
            "kind": regarding["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        }
        event: Document = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "involvedObject": involved,
            "type": kind,
            "reason": reason,
            "message": note,
            "count": 1,
            "firstTimestamp": _written(now),
            "lastTimestamp": _written(now),
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
            "reportingInstance": self._identity,
        }
        # One of this name is this one, of which the answer was lost.
        with contextlib.suppress(AlreadyThere):
            await self._kube.create(event)
        return _Said(name, now, 1)

    async def _repeat(
        self, regarding: Document, key: tuple[str, str, str, str], said: _Said, now: float
    ) -> _Said:
        changes = {"count": said.count + 1, "lastTimestamp": _written(now)}
        try:
            await self._kube.patch(EVENT, regarding["metadata"]["namespace"], said.name, changes)
        except NotThere:  # Events do not stay for long
            return await self._begin(regarding, key, now)
        return _Said(said.name, now, said.count + 1)


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
