"""The leases of a change feed processor in a lease container: listed, made, changed, removed.

Rules:
- A lease is changed only over the version that the change was decided on (If-Match), and every
  document that we write carries our mark and the time of the service.
- Nothing is written where the leases are of another dialect than was said, or cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from azure.cosmos.exceptions import CosmosHttpResponseError

from tidegate.ledger.cosmos.access import CosmosSettings, open_client
from tidegate.ledger.cosmos.dialects import (
    Boundary,
    Dialect,
    Document,
    Found,
    OtherProcessorError,
    base_of,
    lease_id,
    new_lease,
    read_lease,
    stamped,
    survey,
)
from tidegate.ledger.cosmos.leases_seen import Leases
from tidegate.ledger.cosmos.marks import marked
from tidegate.ledger.cosmos.range_ids import RangeIds
from tidegate.ledger.cosmos.refusals import Spot, is_missing, refusal_of
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.cosmos.sharing import EXPIRY_S
from tidegate.ledger.cosmos.tokens import Monitored, named
from tidegate.ledger.packing import Unreadable
from tidegate.model import Flaw, PartitionId
from tidegate.ports import LedgerError, Refusal
from tidegate.sources.cosmos.ranges import range_of

# So often a lease is changed again because another was quicker.
_TRIES = 8
_REMEDY = "Nothing was overwritten. Correct it, or remove it if its range may start anew"


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor whose leases are shared, and the container that it reads."""

    dialect: Dialect
    monitored: CosmosSettings = field(repr=False)
    # Its name: `leasePrefix` in Java, `processorName` in .NET.
    prefix: str = ""
    # After so long without a renewal its hosts take a lease from its owner.
    expiry_s: float = EXPIRY_S


class ProcessorLeases:
    """See the module. For one event loop."""

    def __init__(self, items: LeaseContainer, processor: Processor) -> None:
        self._items = items
        self.processor = processor
        self._of: Monitored | None = None
        self._base = ""
        # Where leases are named by ids of ranges.
        self._ids = RangeIds()

    @property
    def of(self) -> Monitored:
        """The monitored container, once it was opened."""
        assert self._of is not None, "the leases are not open"
        return self._of

    @property
    def rid(self) -> str:
        return self.of.container_rid

    async def open(self) -> None:
        """Finds what the leases are named by, and refuses those of another dialect."""
        if self._base:
            return
        processor = self.processor
        found = await self.survey()
        if found.dialect is not None and found.dialect is not processor.dialect:
            raise LedgerError(
                Refusal.INVALID,
                f"the leases of '{found.base}' are in the dialect {found.dialect}, and the group "
                f"is to share leases in {processor.dialect}. Set ledger.cosmos.dialect to "
                f"{found.dialect}, or another prefix. Nothing was overwritten.",
            )
        self._base = base_of(self.of, processor.prefix, processor.dialect)

    async def survey(self) -> Found:
        """What the processor has in the container, in whatever dialect. Raises LedgerError."""
        prefix = self.processor.prefix
        self._of = await self._look(self.processor.monitored)
        try:
            return survey(await self._items.below(prefix), prefix, self._of)
        except OtherProcessorError as problem:
            raise LedgerError(Refusal.INVALID, str(problem)) from None

    async def _look(self, settings: CosmosSettings) -> Monitored:
        """The monitored container's ids, and its ranges where leases are named by them.

        Raises LedgerError, in which it is that container which is named.
        """
        try:
            return await self._asked(settings)
        except CosmosHttpResponseError as problem:
            if not is_missing(problem):
                raise refusal_of(problem, Spot.of(settings), is_read=True) from None
            raise LedgerError(
                Refusal.INVALID,
                f"the monitored {Spot.of(settings)} is not there: check source.cosmos.database and "
                "container",
            ) from None
        except LedgerError:
            raise
        except Exception as problem:
            raise refusal_of(problem, Spot.of(settings), is_read=True) from None

    async def _asked(self, settings: CosmosSettings) -> Monitored:
        client = open_client(settings)
        try:
            database = client.get_database_client(settings.database)
            container = database.get_container_client(settings.container)
            of_database, of_container = await database.read(), await container.read()
            if not self.processor.dialect.is_by_range:
                link = f"dbs/{settings.database}/colls/{settings.container}"
                # The SDK has no public way to the ids of ranges.
                ranges = client.client_connection._ReadPartitionKeyRanges(link)
                self._ids.learn([each async for each in ranges])
        finally:
            await client.close()
        return Monitored(
            host=settings.host.partition(":")[0],
            database=settings.database,
            container=settings.container,
            database_rid=str(of_database["_rid"]),
            container_rid=str(of_container["_rid"]),
        )

    async def all(self) -> Leases:
        """The leases as they stand, and what cannot be read of them."""
        items = await self._items.below(f"{self._base}.")
        names = {str(item["id"]) for item in items}
        found: dict[PartitionId, Boundary] = {}
        flaws: list[Flaw] = []
        if not self.processor.dialect.is_by_range:
            await self._learn(items)
        for item in items:
            if not str(item["id"]).startswith(f"{self._base}.."):
                continue
            try:
                lease = self._read(item)
                partition = self._partition(lease)
            except Unreadable as problem:
                flaws.append(self._flaw(item, problem))
                continue
            found[partition] = lease
        return Leases(
            found, tuple(flaws), f"{self._base}.info" in names, f"{self._base}.lock" in names
        )

    async def _learn(self, items: list[dict[str, Any]]) -> None:
        tokens = {str(item.get("LeaseToken")) for item in items if item.get("LeaseToken")}
        if any(self._ids.range(token) is None for token in tokens):
            await self._look(self.processor.monitored)

    def _read(self, item: Document) -> Boundary:
        return read_lease(item, self.processor.dialect, self.of)

    def _partition(self, lease: Boundary) -> PartitionId:
        range = lease.range or self._ids.range(lease.token)
        if range is None:
            raise Unreadable(f"the monitored container has no range {lease.token!r} any more")
        return range.id

    def _flaw(self, item: Document, problem: Unreadable) -> Flaw:
        text = f"lease '{item['id']}' cannot be read: {problem}. {_REMEDY}."
        token = str(item.get("LeaseToken") or "")
        range = range_of(token.lower()) or self._ids.range(token)
        return Flaw(str(item["id"]), text, range.id if range is not None else None)

    async def _name(self, partition: PartitionId) -> str:
        return lease_id(self._base, await self.token(partition))

    async def token(self, partition: PartitionId) -> str:
        """What the lease of a partition is named by. Raises Unreadable."""
        range = range_of(partition)
        if range is None:
            raise Unreadable(f"{partition!r} is no feed range")
        if self.processor.dialect.is_by_range:
            return named(range)
        token = self._ids.id(range)
        if token is None:
            # Ranges are split while a ledger is open.
            await self._look(self.processor.monitored)
            token = self._ids.id(range)
        if token is None:
            raise Unreadable(f"the monitored container has no range {named(range)} of its own")
        return token

    async def unfit(self, partitions: Iterable[PartitionId]) -> dict[PartitionId, str]:
        """Those of which no lease is to be made where there is none yet, and why."""
        found: dict[PartitionId, str] = {}
        for partition in partitions:
            try:
                token = await self.token(partition)
            except Unreadable as problem:
                found[partition] = str(problem)
                continue
            if not self.processor.dialect.is_by_range and not self._ids.has_now(token):
                found[partition] = f"the service has split its range {token!r} since"
        return found

    async def read(self, partition: PartitionId) -> Boundary | None:
        """One lease. Raises Unreadable."""
        item = await self._items.read(await self._name(partition))
        return self._read(item) if item is not None else None

    def age(self, lease: Boundary) -> float:
        """How long its last write has stood, at least."""
        return self._items.ages.of(lease.document)

    async def make(self, partition: PartitionId, etag: str | None) -> None:
        """A lease that nobody owns; nothing where it is there already."""
        token = await self.token(partition)
        made = new_lease(self._base, self.processor.dialect, token, etag, self.of)
        await self._items.create(marked(self._stamped(made), writes_token=True))

    async def make_info(self) -> None:
        """Says that all leases were made: no other processor makes any then."""
        await self._items.create({"id": f"{self._base}.info"})

    async def change(
        self, partition: PartitionId, decide: Callable[[Boundary], Document | None]
    ) -> Boundary | None:
        """Writes what is decided on the lease as it stands; None of it leaves it alone.

        Gives the lease as it stands then; None where there is none. What `decide` raises ends it.
        """
        for _ in range(_TRIES):
            lease = await self.read(partition)
            if lease is None:
                return None
            document = decide(lease)
            if document is None:
                return lease
            written = await self._items.replace(document)
            if written is not None:
                return self._read(written)
        raise LedgerError(
            Refusal.BUSY, f"the lease of {partition} is being written again and again: try later"
        )

    async def remove(self, lease: Boundary) -> bool:
        return await self._items.delete(lease.document)

    def written(self, document: Document, taken_at: float = 0.0, **mark: bool) -> Document:
        """A document of ours as it is to be written now."""
        return marked(self._stamped(document), taken_at, **mark)

    def _stamped(self, document: Document) -> Document:
        now = self._items.server_time or datetime.now(UTC).timestamp()
        return stamped(document, now)
