"""A ledger whose partitions are shared with hosts of a change feed processor of Microsoft's.

Rules:
- A member reads a partition only while it is the owner in the processor's lease as well: that is
  claimed after the epoch and before the first checkpoint, and looked at with every renewal.
- Our own checkpoint is written first, and the processor's lease after it: where the second is
  lacking, another host reads a little again, and nothing is passed over.
- What another host takes by its own rules is let go; what it has is taken by those rules alone.
- New leases have their position from the beginning; an old one goes when the new ones are there.
- Only members make and remove leases: who looks at the group from outside changes nothing by that.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.charges import Charges
from tidegate.ledger.cosmos.dialects import Boundary, Document, with_etag, with_owner
from tidegate.ledger.cosmos.leases import Processor, ProcessorLeases
from tidegate.ledger.cosmos.leases_seen import Leases
from tidegate.ledger.cosmos.ledger import CosmosLedger
from tidegate.ledger.cosmos.marks import foreign_owner, mark_of
from tidegate.ledger.cosmos.positions import parts_of, stand_of
from tidegate.ledger.cosmos.shared_view import (
    SharedView,
    covers_all,
    ends_to_finish,
    foreign_row,
    is_of,
    is_theirs,
    least_of,
    shared_view,
    standing,
)
from tidegate.ledger.cosmos.sharing import RENEW_S
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.model import Listing, Owner, Ownership, PartitionId
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    LedgerError,
    List,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    Release,
    Renew,
    Reply,
    WriteCheckpoint,
    WriteOwnership,
)
from tidegate.sources.cosmos.places import PlaceError
from tidegate.sources.cosmos.ranges import range_of


class SharedLedger(CosmosLedger):
    """See the module."""

    def __init__(
        self,
        settings: CosmosSettings,
        names: GroupNames,
        processor: Processor,
        charges: Charges | None = None,
        *,
        is_member: bool = True,
    ) -> None:
        super().__init__(settings, names, charges)
        self._is_member = is_member
        self._leases = ProcessorLeases(self._items, processor)
        self._expiry_s = processor.expiry_s
        # How old a stamp may be before a renewal writes it again.
        self._stamp_s = min(RENEW_S, processor.expiry_s / 3)
        self._may_take: PartitionId | None = None
        self._opening = asyncio.Lock()

    async def _do(self, operation: Operation, name: str) -> Reply:
        async with self._opening:
            await self._leases.open()
        match operation:
            case List():
                return (await self._view()).listing
            case CreateOwnership(partition=partition):
                await self._make_door(partition)
            case Acquire(partition=partition):
                await self._refuse_foreign(partition, Refusal.HELD)
            case WriteOwnership(partition=partition, owner=owner):
                reply = await super()._do(operation, name)
                await (self._claim(partition, owner.name) if owner else self._let_go(partition))
                return reply
            case Renew(partition=partition):
                await super()._do(operation, name)
                await self._keep(partition, name)
                return None
            case Release(partition=partition):
                await super()._do(operation, name)
                await self._let_go(partition)
                return None
            case ReadOwnership():
                return await self._read_shared_ownership(operation, name)
            case ReadCheckpoint(partition=partition):
                own = await super()._read_checkpoint(operation, name)
                lease = await self._leases.read(partition)
                if lease is None:
                    return own
                return standing(own, lease, partition, self._leases.rid)
            case WriteCheckpoint():
                return await self._write_shared(operation, name)
        return await super()._do(operation, name)

    # --- looking

    async def _view(self) -> SharedView:
        own = await self._list()
        leases = await self._leases.all()
        if self._is_member:
            leases = await self._brought_on(own, leases)
        rid, age = self._leases.rid, self._leases.age
        view = shared_view(own, leases, rid, age, self._expiry_s)
        self._may_take = view.may_take
        return view

    async def _brought_on(self, own: Listing, leases: Leases) -> Leases:
        """The leases, once they are what the partitions are now."""
        if await self._finish_ends(own, leases):
            leases = await self._leases.all()
        if not leases.is_complete and not leases.is_being_made and covers_all(leases):
            await self._leases.make_info()
        return leases

    async def _finish_ends(self, own: Listing, leases: Leases) -> bool:
        """Makes the leases of what partitions went on as, and removes those of what ended."""
        due = ends_to_finish(own, leases)
        gone: dict[PartitionId, set[PartitionId]] = {}
        for part, parents in due.items():
            if part not in leases.by_partition:
                await self._leases.make(part, least_of(part, parents, self._leases.rid))
            for row in parents:
                gone.setdefault(row.partition, set()).add(part)
        for partition, made in gone.items():
            lease = leases.by_partition.get(partition)
            ended = own.checkpoints[partition]
            whole = parts_of(ended.position, partition, self._leases.rid).keys()
            if lease is not None and whole <= made and mark_of(lease.document).is_ours:
                await self._leases.remove(lease)
        return bool(due)

    async def _read_shared_ownership(self, operation: ReadOwnership, name: str) -> Ownership | None:
        row = await super()._read_ownership(operation, name)
        lease = await self._leases.read(operation.partition)
        owner = self._foreign(operation.partition, lease)
        if owner is None or lease is None:
            return row
        if operation.lease_id is not None:
            raise _taken(operation.partition, owner, Refusal.CHANGED)
        at = self._items.server_time - self._leases.age(lease)
        return foreign_row(operation.partition, row, owner, at)

    def _foreign(self, partition: PartitionId, lease: Boundary | None) -> str | None:
        """The living owner that is none of ours, and whose lease is not ours to take."""
        if lease is None or partition == self._may_take:
            return None
        return foreign_owner(lease, self._leases.age(lease), self._expiry_s)

    async def _refuse_foreign(self, partition: PartitionId, refusal: Refusal) -> None:
        owner = self._foreign(partition, await self._leases.read(partition))
        if owner is not None:
            raise _taken(partition, owner, refusal)

    # --- the door of a partition

    async def _make_door(self, partition: PartitionId) -> None:
        """The processor's lease of a partition that is new to it as well."""
        leases = await self._leases.all()
        if partition in leases.by_partition:
            return
        for flaw in leases.flaws:
            # One that is of nobody knows which keys may be of these.
            if flaw.partition in (partition, None):
                raise LedgerError(Refusal.INVALID, flaw.problem)
        range = range_of(partition)
        others = leases.overlapping(range) if range is not None else ()
        if others or leases.is_being_made:
            which = ", ".join(others) or "all"
            raise LedgerError(
                Refusal.BUSY,
                f"partition {partition} has no lease yet, and those of {which} are being changed: "
                "try later",
            )
        await self._leases.make(partition, None)

    async def _claim(self, partition: PartitionId, owner: str) -> None:
        """Makes us the owner in the processor's lease. Raises LedgerError."""

        def decide(lease: Boundary) -> Document | None:
            living = foreign_owner(lease, self._leases.age(lease), self._expiry_s)
            if living is not None and partition != self._may_take:
                raise _taken(partition, living, Refusal.CHANGED)
            if lease.owner == owner and mark_of(lease.document).is_ours:
                return None
            taken_at = self._items.server_time if living is not None else 0.0
            return self._leases.written(with_owner(lease.document, owner), taken_at)

        if await self._leases.change(partition, decide) is None:
            raise _gone(partition)
        if self._may_take == partition:
            self._may_take = None

    async def _keep(self, partition: PartitionId, name: str) -> None:
        """Renews the processor's lease, where it is time to. Raises LedgerError."""
        owner = self._owner(name)

        def decide(lease: Boundary) -> Document | None:
            living = foreign_owner(lease, self._leases.age(lease), self._expiry_s)
            if living is not None:
                raise _taken(partition, living, Refusal.CHANGED)
            is_fresh = self._leases.age(lease) < self._stamp_s
            if owner is None or (lease.owner == owner.name and is_fresh):
                return None
            return self._leases.written(with_owner(lease.document, owner.name))

        if await self._leases.change(partition, decide) is None and owner is not None:
            raise _gone(partition)

    async def _let_go(self, partition: PartitionId) -> None:
        """Leaves the processor's lease to whoever comes, where it is ours."""

        def decide(lease: Boundary) -> Document | None:
            if lease.owner is None or not mark_of(lease.document).is_ours:
                return None
            return self._leases.written(with_owner(lease.document, None))

        await self._leases.change(partition, decide)

    def _owner(self, name: str) -> Owner | None:
        """Who owns a partition by our own document, as it was last seen."""
        item = self._seen.get(name)
        entry = self._entry(item) if item is not None else None
        return entry.owner if isinstance(entry, Ownership) else None

    # --- checkpoints

    async def _write_shared(self, operation: WriteCheckpoint, name: str) -> Reply:
        partition = operation.partition
        lease = await self._leases.read(partition)
        if lease is None:
            raise _gone(partition)
        living = foreign_owner(lease, self._leases.age(lease), self._expiry_s)
        if living is not None:
            raise _taken(partition, living, Refusal.CHANGED)
        reply = await self._write(await self._over_theirs(operation, name, lease), name)
        try:
            stand = stand_of(operation.position, partition, self._leases.rid)
        except PlaceError as problem:
            raise LedgerError(Refusal.INVALID, str(problem)) from None
        owner = self._owner(self._ids.of(Place(Kind.OWNERSHIP, partition)))
        dialect, of = self._leases.processor.dialect, self._leases.of

        def decide(lease: Boundary) -> Document | None:
            living = foreign_owner(lease, self._leases.age(lease), self._expiry_s)
            if living is not None:
                raise _taken(partition, living, Refusal.CHANGED)
            name = owner.name if owner is not None else lease.owner
            document = with_owner(with_etag(lease.document, dialect, stand.etag, of), name)
            return self._leases.written(document, writes_token=True)

        if await self._leases.change(partition, decide) is None:
            raise _gone(partition)
        return reply

    async def _over_theirs(
        self, operation: WriteCheckpoint, name: str, lease: Boundary
    ) -> WriteCheckpoint:
        """The write over our own document where what was seen is the processor's position."""
        if not is_theirs(operation.etag):
            return operation
        assert operation.etag is not None
        item = await self._fetch(name)
        if not is_of(operation.etag, lease):
            raise LedgerError(
                Refusal.CHANGED, f"another host has read on in partition {operation.partition}"
            )
        if item is None:
            return replace(operation, etag=None, keeps_body=False)
        return replace(operation, etag=str(item["tag"]))


def _taken(partition: PartitionId, owner: str, refusal: Refusal) -> LedgerError:
    return LedgerError(refusal, f"the lease of partition {partition} is of host '{owner}'")


def _gone(partition: PartitionId) -> LedgerError:
    return LedgerError(
        Refusal.CHANGED, f"the lease of partition {partition} is gone: its range was split"
    )
