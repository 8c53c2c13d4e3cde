"""Whose a ledger is, where two ConsumerGroups name the same one. Pure.

Rules:
- The pods of a second group would join the members of the first one and take its partitions: they
  would run another handler on them, and two rosters would be written over each other. So for a
  second group nothing is done, neither at the ledger nor in the cluster, until the first one has
  gone or has another ledger.
- What a second group has already stays as it is. It could be scaled away only on the word of this
  process about which of the two is the wrong one; a mistake in that would stop a group that reads,
  while leaving it alone harms no more than what was there before.
- Who came first keeps it, also over a start of the operator: a Deployment says which ledger its
  pods were made for, so its group goes before one that has none. Of two that have, the older one.
"""

from __future__ import annotations

from tidegate_operator.cache import Cache
from tidegate_operator.engines.inputs import LEDGER
from tidegate_operator.model import GroupKey

# Why nothing is done for a group.
SHARED = "LedgerShared"


def standing(cache: Cache, key: GroupKey) -> str:
    """The ledger that the group's pods were made for; '' where that is not known."""
    deployment = cache.known(key).deployment
    if deployment is None:
        return ""
    return str((deployment["metadata"].get("annotations") or {}).get(LEDGER, ""))


def message(first: GroupKey) -> str:
    """What the second group is told."""
    return (
        f"the ledger of this group is that of ConsumerGroup {first} too: the same hub, consumer "
        "group, account and container. Its pods would join that group's and take its partitions, "
        "so none are made; what this group has already is left as it is, neither changed nor "
        "scaled. Delete one of the two, which ends its pods, or make it anew with a consumer group "
        "of its own, or for a change feed with a ledger container of its own"
    )


class Claims:
    """See the module. A place is the text of where a ledger is."""

    def __init__(self) -> None:
        # Of each place, the group whose it is, and its uid.
        self._holders: dict[str, tuple[GroupKey, str]] = {}

    def whose(self, cache: Cache, key: GroupKey, place: str) -> GroupKey:
        """This group, whose ledger it is from now on, or the one that came first."""
        holder = self._holders.get(place)
        if holder == (key, _uid(cache, key)):
            return key
        # It names this ledger now, and no other.
        self._holders = {
            at: held for at, held in self._holders.items()
            if held[0] != key and held[1] == _uid(cache, held[0])
        }  # fmt: skip
        holder = self._holders.get(place)
        if holder is None:
            first = self._first(cache, key, place)
            holder = self._holders[place] = first, _uid(cache, first)
        return holder[0]

    def _first(self, cache: Cache, key: GroupKey, place: str) -> GroupKey:
        """Whose pods were made for it, and of those the oldest; this group, if nobody's were."""
        elsewhere = {held for held, _ in self._holders.values()}
        others = [
            other for other in cache.groups() - {key} - elsewhere
            if standing(cache, other) == place
        ]  # fmt: skip
        if standing(cache, key) != place and others:
            return min(others, key=lambda other: _age(cache, other))
        return min([key, *others], key=lambda other: _age(cache, other))


def _uid(cache: Cache, key: GroupKey) -> str:
    document = cache.known(key).document
    return str(document["metadata"].get("uid", "")) if document is not None else ""


def _age(cache: Cache, key: GroupKey) -> tuple[str, GroupKey]:
    document = cache.known(key).document
    return str(document["metadata"].get("creationTimestamp", "")) if document else "", key
