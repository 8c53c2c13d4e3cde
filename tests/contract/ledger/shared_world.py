"""A group of ours that shares its leases with hosts of another processor, in any dialect.

Rules: what the service has is split there, and leases are named by what it says then, so
that nothing is learnt for the ledger under test.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from contract.ledger.worlds import listed, new_id
from support.foreign_host import ForeignHost
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.dialects import Dialect
from tidegate.ledger.cosmos.leases import Processor
from tidegate.ledger.cosmos.positions import position_of
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.cosmos.shared import SharedLedger
from tidegate.ledger.cosmos.tokens import named
from tidegate.ledger.layout import GroupNames
from tidegate.model import Owner, PartitionId, Position
from tidegate.ports import Acquire, CreateOwnership, Ledger, List, WriteOwnership
from tidegate.sources.cosmos.places import place_of
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange, range_of
from tidegate_cosmos.testing import RunningCosmos

# Dialects, and the partition keys of their lease containers: Java has none but /id.
KINDS = (
    *((dialect, "/id") for dialect in Dialect),
    (Dialect.NET_EPK, "/partitionKey"),
    (Dialect.NET_V0, "/partitionKey"),
)
ME, OTHER = Owner("m1", "a"), Owner("m2", "b")
PARTITION = WHOLE.id


@dataclass
class Shared:
    """See the module."""

    cosmos: RunningCosmos
    processor: Processor
    ledger: SharedLedger
    host: ForeignHost
    items: LeaseContainer
    stack: AsyncExitStack
    # The ids of the service's ranges, those that were split among them.
    ids: dict[FeedRange, str] = field(default_factory=dict)

    @property
    def rid(self) -> str:
        return self.ledger._leases.rid

    @property
    def door(self) -> str:
        """What the lease of the one partition is called."""
        return self.token(PARTITION)

    def token(self, partition: PartitionId) -> str:
        range = range_of(partition)
        assert range is not None
        return named(range) if self.processor.dialect.is_by_range else self.ids[range]

    def look(self) -> None:
        for id, (low, high) in self.cosmos.ranges("d", "monitored").items():
            self.ids[FeedRange(low, high)] = id

    def split(self, partition: PartitionId = PARTITION) -> tuple[PartitionId, PartitionId]:
        """Splits it at the service, and gives what it is then."""
        range = range_of(partition)
        assert range is not None
        parts = self.cosmos.split("d", "monitored", self.ids[range])
        self.look()
        ranges = self.cosmos.ranges("d", "monitored")
        first, second = (FeedRange(*ranges[part]).id for part in parts)
        return first, second

    def parts(self) -> list[PartitionId]:
        """The service's ranges now."""
        return [FeedRange(*each).id for each in self.cosmos.ranges("d", "monitored").values()]

    def at(self, lsn: int, into: tuple[PartitionId, ...] = ()) -> Position:
        here = position_of(f'"{lsn}"', WHOLE, self.rid)
        return replace(place_of(here, PARTITION), into=into).position

    def documents(self) -> dict[str, object]:
        """All that stands in the lease container."""
        return {str(item["id"]): item for item in self.cosmos.items("d", "leases")}

    def another(self, *, is_member: bool = True) -> SharedLedger:
        settings = CosmosSettings("d", "leases", connection_string=self.cosmos.connection_string)
        names = GroupNames("h", "d", "g")
        ledger = SharedLedger(settings, names, self.processor, is_member=is_member)
        self.stack.push_async_callback(ledger.close)
        return ledger


@asynccontextmanager
async def open_shared(cosmos: RunningCosmos, dialect: Dialect, key: str) -> AsyncIterator[Shared]:
    """A new one, whose monitored container has one range; `key` is the lease container's."""
    cosmos.add_container("d", "leases", key)
    cosmos.add_container("d", "monitored", "/home", ranges=1)
    settings = CosmosSettings("d", "leases", connection_string=cosmos.connection_string)
    processor = Processor(dialect, replace(settings, container="monitored"), "jv")
    async with AsyncExitStack() as stack:
        ledger = SharedLedger(settings, GroupNames("h", "d", "g"), processor)
        stack.push_async_callback(ledger.close)
        await ledger.perform(List())
        items = LeaseContainer(settings)
        stack.push_async_callback(items.close)
        await items.below("none")
        host = ForeignHost(
            items, ledger._leases.of, dialect, "jv", gives_keys=key == "/partitionKey"
        )
        shared = Shared(cosmos, processor, ledger, host, items, stack)
        shared.look()
        yield shared


async def taken(
    ledger: Ledger, partition: PartitionId = PARTITION, owner: Owner = ME
) -> tuple[str, str]:
    """A partition that is free, up to the epoch: its ETag and the lease's id."""
    row = (await listed(ledger)).ownerships.get(partition)
    etag = row.etag if row is not None else str(await ledger.perform(CreateOwnership(partition)))
    lease_id = new_id()
    await ledger.perform(Acquire(partition, lease_id, etag))
    epoch = (row.epoch if row is not None else 0) + 1
    write = WriteOwnership(partition, lease_id, etag, owner, epoch, "n")
    return str(await ledger.perform(write)), lease_id
