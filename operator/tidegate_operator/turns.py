"""How many groups at once get new pods because the operator is another one. Pure.

Rules:
- A change of the pods that the user has made, in the ConsumerGroup, in a Secret or in the handler's
  ConfigMap, goes ahead at once. One that an upgrade of the operator brings waits for its turn;
  until then the group stays whole as it is, and only its size is changed.
- A turn lasts until the rollout is over. One that does not get on gives its turn away after
  `LONGEST_S`: its old pods read on.
- Which is which is said by two marks on the Deployment: what its pods were made from, and what the
  user had asked for then. A group without pods needs no turn, and neither does a new one.
- A leader that begins counts every rollout that it finds as one that has its turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate_operator.cache import Cache
from tidegate_operator.engines.inputs import ASKED, TEMPLATE
from tidegate_operator.kinds import DEPLOYMENT, Document
from tidegate_operator.model import GroupKey

LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class _Turn:
    """Since when, and the mark of what the pods were made from before."""

    since: float
    before: str


class Turns:
    """See the module."""

    def __init__(self) -> None:
        self._taken: dict[GroupKey, _Turn] = {}
        self._has_begun = False

    def forget(self) -> None:
        """Another operator leads."""
        self._taken.clear()
        self._has_begun = False

    def is_next(
        self, cache: Cache, key: GroupKey, manifests: Collection[Document], now: float, most: int
    ) -> bool:
        """Whether these may be applied now; where that takes a turn, it is taken."""
        live = cache.known(key).deployment
        wanted = next((each for each in manifests if each["kind"] == DEPLOYMENT.name), None)
        if live is None or wanted is None or not _is_our_change(live, wanted):
            return True
        if not self._has_begun:
            self._has_begun = True
            self._taken = {
                each: _Turn(now, "") for each in cache.groups() if _is_rolling(cache, each)
            }
        if key in self._taken:
            return True
        self._taken = {
            each: turn for each, turn in self._taken.items() if not _is_over(cache, each, turn)
        }
        # A clock that was set back gives a turn away early; nothing is lost by it.
        counted = sum(0 <= now - turn.since < LONGEST_S for turn in self._taken.values())
        if counted >= most:
            return False
        self._taken[key] = _Turn(now, mark_of(live, TEMPLATE))
        return True


def mark_of(document: Mapping[str, Any], name: str) -> str:
    return str((document["metadata"].get("annotations") or {}).get(name, ""))


def _is_our_change(live: Mapping[str, Any], wanted: Document) -> bool:
    """Whether pods that are there would be replaced, and the user has asked for nothing new."""
    return (
        mark_of(live, TEMPLATE) != mark_of(wanted, TEMPLATE)
        and mark_of(live, ASKED) in ("", mark_of(wanted, ASKED))
        and bool(live["spec"].get("replicas"))
    )


def _is_over(cache: Cache, key: GroupKey, turn: _Turn) -> bool:
    live = cache.known(key).deployment
    if live is None:
        return True
    return mark_of(live, TEMPLATE) != turn.before and not _is_rolling(cache, key)


def _is_rolling(cache: Cache, key: GroupKey) -> bool:
    """Whether pods of a Deployment are being replaced, or are yet to be."""
    live = cache.known(key).deployment
    if live is None:
        return False
    status, replicas = live.get("status") or {}, live["spec"].get("replicas", 1)
    generation = live["metadata"].get("generation") or 0
    is_observed = (status.get("observedGeneration") or 0) >= generation
    names = ("updatedReplicas", "replicas", "availableReplicas")
    return not is_observed or any((status.get(name) or 0) != replicas for name in names)
