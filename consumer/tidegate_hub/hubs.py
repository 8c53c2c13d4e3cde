"""The hubs, their partitions and groups, and who waits at which partition.

A hub's partitions only ever grow. Names are compared without regard to case, as the service does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tidegate_hub.conditions import entity_not_found, partition_out_of_range
from tidegate_hub.config import DEFAULT_GROUP
from tidegate_hub.storage.retention import KEEP_FOR_EVER

if TYPE_CHECKING:
    from tidegate_hub.faults import Allowance
    from tidegate_hub.feed import Feed
    from tidegate_hub.links import HubLink
    from tidegate_hub.storage.log import PartitionLog


class Partition:
    """One partition: its log, its receivers by group, and those of them that wait for events."""

    def __init__(self, hub: Hub, number: int, log: PartitionLog) -> None:
        self.hub = hub
        self.id = str(number)
        self.log = log
        self.feeds: defaultdict[str, list[Feed]] = defaultdict(list)
        self.waiting: set[Feed] = set()

    def wake(self) -> None:
        """There is something new: every receiver that waits gets a turn."""
        if self.waiting:
            woken, self.waiting = self.waiting, set()
            for feed in woken:
                feed.schedule()

    def all_feeds(self) -> list[Feed]:
        return [feed for feeds in self.feeds.values() for feed in feeds]


class Hub:
    """One event hub."""

    def __init__(self, name: str, groups: Iterable[str], created_ms: int) -> None:
        self.name = name
        self.created_ms = created_ms
        self.partitions: list[Partition] = []
        # Lower-cased name -> name as it was given.
        self.groups = {group.lower(): group for group in (DEFAULT_GROUP, *groups)}
        self.retention = KEEP_FOR_EVER
        self.deliveries_placed = 0
        # All links to this hub, of publishers and receivers.
        self.links: set[HubLink] = set()
        # What throttle faults still allow, by the fault's id.
        self.allowances: dict[str, Allowance] = {}

    def partition(self, partition_id: str) -> Partition:
        """The partition of this id. Raises HubError."""
        if partition_id.isascii() and partition_id.isdigit():
            number = int(partition_id)
            if number < len(self.partitions) and str(number) == partition_id:
                return self.partitions[number]
        raise partition_out_of_range(len(self.partitions))

    def group(self, name: str, address: str) -> str:
        """The group's name as it was declared. Raises HubError."""
        declared = self.groups.get(name.lower())
        if declared is None:
            raise entity_not_found(address)
        return declared


class Hubs:
    """All hubs by name."""

    def __init__(self) -> None:
        self._hubs: dict[str, Hub] = {}

    def __iter__(self) -> Iterator[Hub]:
        return iter(self._hubs.values())

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._hubs

    def add(self, hub: Hub) -> None:
        self._hubs[hub.name.lower()] = hub

    def get(self, name: str, address: str | None = None) -> Hub:
        """The hub of this name. Raises HubError with the address that was asked for."""
        hub = self._hubs.get(name.lower())
        if hub is None:
            raise entity_not_found(address or name)
        return hub
