"""Whether the watches tell the truth: what they told is compared with what the API lists.

Rules:
- The first comparison says when all that there is has been told; before that nobody acts on it.
- Then it is done now and then, by metadata alone. What differs and has still not been told a few
  seconds later, the watch has kept to itself: it is silent. It is then read and told from here, so
  that an operator with a silent watch is slow, and not blind.
- Deletions that no watch tells, as after a stream that broke for long, are found in this way too.
- An API server that does not answer is not a silent watch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegate_operator.cache import WATCHED, Cache, Place, Version, differing, missed
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.kinds import CONSUMER_GROUP, Document, Kind
from tidegate_operator.kube_errors import KubeError, silence
from tidegate_operator.objects import Api, Heard
from tidegate_operator.settings import OperatorSettings

_log = logging.getLogger("tidegate.operator.watching")

# A watch has told within this, or it has not.
GRACE_S = 5.0
_SOON_S = 0.1
_TRY_AGAIN_S = 2.0


@dataclass(slots=True)
class Watch:
    """What is known of the watch of one kind."""

    # When it was last seen to have told everything, and since when it has not.
    good_at: float
    silent_since: float | None = None


class Watches:
    """See the module. `now` is monotonic; `heard` takes what is told from here."""

    def __init__(
        self,
        kube: Api,
        cache: Cache,
        settings: OperatorSettings,
        now: Callable[[], float],
        heard: Heard,
    ) -> None:
        self._kube = kube
        self._cache = cache
        self._settings = settings
        self._now = now
        self._heard = heard
        self.watches = {kind: Watch(now()) for kind in WATCHED}
        self.complete = asyncio.Event()
        # Why it cannot be compared, in words; '' where it can.
        self.trouble = ""

    def age_s(self, kind: Kind) -> float:
        """How long ago the watch was last seen to tell everything."""
        return max(self._now() - self.watches[kind].good_at, 0.0)

    async def run(self) -> None:
        """For ever."""
        while not self.complete.is_set():
            if await self._is_complete():
                self.complete.set()
            else:
                await asyncio.sleep(_TRY_AGAIN_S)
        while True:
            await asyncio.sleep(self._settings.compare_every_s)
            for kind in WATCHED:
                await self._compare(kind)

    async def _is_complete(self) -> bool:
        """Whether everything that is listed has been told of."""
        for kind in WATCHED:
            listed = await self._listed(kind)
            if listed is None:
                return False
            deadline = self._now() + GRACE_S
            while not self._has_told(kind, listed):
                if self._now() > deadline:
                    return False
                await asyncio.sleep(_SOON_S)
            self.watches[kind].good_at = self._now()
        return True

    def _has_told(self, kind: Kind, listed: Mapping[Place, Version]) -> bool:
        known = self._cache.versions(kind)
        return all(
            place in known and known[place].uid == version.uid for place, version in listed.items()
        )

    async def _compare(self, kind: Kind) -> None:
        asked_at = self._now()
        # Taken before the list is asked for: where it differs, the list is the newer of the two.
        known = dict(self._cache.versions(kind))
        listed = await self._listed(kind)
        if listed is None:
            return
        then = differing(known, listed)
        if then:
            await asyncio.sleep(GRACE_S)
        silent = missed(then, self._cache.versions(kind))
        watch = self.watches[kind]
        if not silent:
            if watch.silent_since is not None:
                _log.warning("the watch of %s tells again", kind.resource)
            watch.good_at, watch.silent_since = asked_at, None
            return
        if watch.silent_since is None:
            watch.silent_since = asked_at
            _log.error(
                "the watch of %s is silent: it has not told of %d objects, such as %s. They are "
                "read without it; if it stays silent this process is ended, to begin anew",
                kind.resource,
                len(silent),
                "/".join(min(silent)),
            )
        for place in sorted(silent):
            await self._tell(kind, place)

    async def _tell(self, kind: Kind, place: Place) -> None:
        """What the watch has not told."""
        known = self._cache.versions(kind).get(place)
        try:
            found = await self._kube.find(kind, place.namespace, place.name)
        except KubeError as problem:
            _log.warning("%s", problem)
            return
        if found is not None:
            self._heard(kind, found, False)
        elif known is not None:
            self._heard(kind, _gone(place, known), True)

    async def _listed(self, kind: Kind) -> dict[Place, Version] | None:
        try:
            listed = await list_versions(self._kube, self._settings.namespaces, kind)
        except KubeError as problem:
            if str(problem) != self.trouble:
                _log.warning("what the watches tell cannot be compared: %s", problem)
            self.trouble = str(problem)
            return None
        self.trouble = ""
        return listed


async def list_versions(kube: Api, namespaces: Sequence[str], kind: Kind) -> dict[Place, Version]:
    """What the API lists of our objects of a kind: of these namespaces, or of all if none is named.

    Raises KubeError.
    """
    labels = "" if kind == CONSUMER_GROUP else GROUP_LABEL
    found: list[Document] = []
    for namespace in namespaces or (None,):
        found += await kube.list(kind, namespace, labels=labels, metadata_only=True)
    try:
        return {
            Place(each["metadata"]["namespace"], each["metadata"]["name"]): Version(
                each["metadata"]["uid"], each["metadata"]["resourceVersion"]
            )
            for each in found
        }
    except KeyError as lacking:
        raise silence(f"list {kind.resource}", f"an object has no {lacking}") from lacking


def _gone(place: Place, known: Version) -> Document:
    metadata = {"namespace": place.namespace, "name": place.name, "uid": known.uid}
    return {"metadata": metadata}
