"""The loads that a member announces for its partitions. Pure.

Rules:
- A partition that has just come here keeps the load that it was known to have, until it has been
  measured here: as a partition without load it would be given company, and moved again.
- One that went elsewhere is announced until its new owner states it, so that it is never unknown.
- A load of 0 is stated as well: what nobody states is not known. Of very many partitions those with
  the highest loads are stated: a member's blob holds 8 KB, and what it wants must fit as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tidegate.balance import Snapshot, load_to_announce
from tidegate.model import Listing, MemberName, PartitionId

# Of 12 bytes each.
_MOST = 200


class Loads:
    """See the module."""

    def __init__(self, name: MemberName) -> None:
        self._name = name
        self.announced: Mapping[PartitionId, float] = {}
        self._is_first = True

    def measured(self, loads: Iterable[tuple[PartitionId, float]]) -> None:
        """What some partitions cost here."""
        known = self.announced
        new = {id: load_to_announce(load, known.get(id)) for id, load in loads}
        self._state({**known, **new})

    def begin(self, owned: Collection[PartitionId], known: Snapshot) -> None:
        """Takes over what was known of partitions that have come here."""
        came = {
            facts.id: facts.load
            for facts in known.partitions
            if facts.load is not None and facts.id in owned and facts.id not in self.announced
        }
        if came:
            self._state({**self.announced, **came})

    def _state(self, loads: Mapping[PartitionId, float]) -> None:
        known = self.announced
        if len(loads) > _MOST:
            first = sorted(loads, key=lambda id: (-loads[id], id not in known, id))[:_MOST]
            loads = {id: loads[id] for id in first}
        if loads != known:
            self.announced = loads

    def see(self, listing: Listing, owned: Collection[PartitionId]) -> None:
        """Leaves to others what they state themselves; goes on from what our last life stated."""
        mine = listing.members.get(self._name)
        if self._is_first and mine is not None:
            self.announced = {**mine.loads, **self.announced}
        self._is_first = False
        left = [
            id
            for id in self.announced
            if id not in owned and self._is_stated_by_another(listing, id)
        ]
        if left:
            self.announced = {id: load for id, load in self.announced.items() if id not in left}

    def _is_stated_by_another(self, listing: Listing, partition: PartitionId) -> bool:
        row = listing.ownerships.get(partition)
        if row is None or row.owner is None or row.owner.name == self._name:
            return False
        presence = listing.members.get(row.owner.name)
        return presence is not None and partition in presence.loads
