"""The ledger in Azure Blob Storage, over the official SDK.

Rules:
- An operation is one request, but for Join, which makes the member's blob where it is missing, and
  for RecordSource, which looks at the records before it writes one, and after.
- Lease calls carry If-Match; writes carry a lease or a condition; a checkpoint is one Put Blob, or
  one Set Blob Metadata where its body stays as it is.
- A ledger belongs to one event loop: who works on two loops has two of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ResourceExistsError
from azure.storage.blob.aio import BlobClient, BlobLeaseClient

from tidegate.ledger import blob_reads, layout, members
from tidegate.ledger.access import STATE_LIMIT, BlobSettings, open_container
from tidegate.ledger.containers import Container
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.ledger.listing_xml import read_page
from tidegate.ledger.packing import Unfit, Unreadable
from tidegate.ledger.refusals import Spot, is_missing_container, refusal_of
from tidegate.ledger.relisting import Relisting
from tidegate.model import Checkpoint, Listing, Ownership, SourceRecord
from tidegate.ports import (
    Acquire,
    Announce,
    Break,
    Change,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    LedgerError,
    List,
    Operation,
    Read,
    ReadCheckpoint,
    ReadOwnership,
    RecordSource,
    Refusal,
    Release,
    Renew,
    RenewPresence,
    Reply,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

LeaseOperation = Acquire | Renew | Change | Release | Break
Condition = dict[str, Any]

ABSENT: Condition = {"match_condition": MatchConditions.IfMissing}
ROSTER = Place(Kind.ROSTER)


def unchanged(etag: str) -> Condition:
    """If-Match. An ETag has quotes on the wire and none in our values."""
    return {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified}


def place_of(operation: Operation) -> Place | None:
    """The blob that an operation is about; None for a listing, and for records of sources."""
    if isinstance(operation, List | RecordSource):
        return None
    if isinstance(operation, WriteRoster):
        return ROSTER
    if isinstance(operation, Announce):
        return Place(Kind.MEMBER, operation.presence.name)
    if isinstance(operation, Join | RenewPresence | Leave | Forget):
        return Place(Kind.MEMBER, operation.name)
    if isinstance(operation, ReadCheckpoint | WriteCheckpoint):
        return Place(Kind.CHECKPOINT, operation.partition)
    return Place(Kind.OWNERSHIP, operation.partition)


class BlobLedger:
    """One group's ledger in a container."""

    def __init__(
        self, settings: BlobSettings, names: GroupNames, client: Container | None = None
    ) -> None:
        """A client that is given is shared with other groups, and closed by whoever made it."""
        self._settings = settings.checked()
        self._names = names
        self._client = client
        self._owns_client = client is None
        self.relisting = Relisting(names)

    async def perform(self, operation: Operation) -> Reply:
        """The reply, or a LedgerError; within the time limit of the settings."""
        name = ""
        try:
            place = place_of(operation)
            name = self._names.of(place) if place else ""
            async with asyncio.timeout(self._settings.timeout_s):
                try:
                    return await self._do(operation, name)
                except AzureError as problem:
                    if not (self._settings.create and is_missing_container(problem)):
                        raise
                await self._create_container()
                return await self._do(operation, name)
        except Unfit as problem:
            raise LedgerError(Refusal.INVALID, f"not written: {problem}") from None
        except Unreadable as problem:
            assert place is not None
            message = layout.flaw(place, name, problem).problem
            raise LedgerError(Refusal.INVALID, message) from None
        except LedgerError:
            raise
        except Exception as problem:
            # Whatever an answer was, it ends this operation and nothing else. None of the texts of
            # these is safe to show, so none is kept as a cause.
            raise self._refused(problem, name, is_read=isinstance(operation, Read)) from None

    async def close(self) -> None:
        if self._client is not None and self._owns_client:
            await self._client.close()
            self._client = None

    def _container(self) -> Container:
        if self._client is None:
            self._client = open_container(self._settings)
        return self._client

    def _refused(self, problem: BaseException, name: str, *, is_read: bool = False) -> LedgerError:
        return refusal_of(problem, Spot.of(self._settings, name), is_read=is_read)

    async def _create_container(self) -> None:
        try:
            await self._container().create_container()
        except ResourceExistsError as problem:
            # Another member was quicker. While it is being deleted the SDK raises the same.
            if self._refused(problem, "").refusal is Refusal.BUSY:
                raise

    async def _do(self, operation: Operation, name: str) -> Reply:
        match operation:
            case List():
                return await self._list()
            case Acquire() | Renew() | Change() | Release() | Break():
                await self._lease(operation, name)
            case CreateOwnership():
                return await self._put(name, layout.ownership_metadata(None, 0, ""), ABSENT)
            case WriteOwnership():
                return await self._set_metadata(
                    name,
                    layout.ownership_metadata(operation.owner, operation.epoch, operation.nonce),
                    operation.lease_id,
                    unchanged(operation.etag),
                )
            case ReadOwnership():
                return await self._read_ownership(operation, name)
            case ReadCheckpoint():
                return await self._read_checkpoint(operation, name)
            case WriteCheckpoint():
                return await self._write_checkpoint(operation, name)
            case Join():
                await self._join(operation, name)
            case RenewPresence():
                await BlobLeaseClient(self._blob(name), operation.lease_id).renew()
            case Announce():
                metadata = members.presence_metadata(operation.presence)
                return await self._set_metadata(name, metadata, operation.lease_id, {})
            case Leave():
                await self._delete(name, {"lease": operation.lease_id})
            case Forget():
                await self._delete(name, unchanged(operation.etag))
            case WriteRoster():
                condition = unchanged(operation.etag) if operation.etag else ABSENT
                return await self._put(name, members.roster_metadata(operation.roster), condition)
            case RecordSource():
                return await self._record_source(operation)
        return None

    async def _record_source(self, operation: RecordSource) -> tuple[SourceRecord, ...]:
        host = self._names.host.lower()
        found = await self._source_records()
        others = [each for each in found if each.host != host]
        others = [each for each in others if each.identity == operation.identity]
        own = [each for each in found if each.host == host]
        if others and not operation.takes_over:
            return found
        if not others and own and own[0].identity == operation.identity:
            return found
        metadata = layout.source_metadata(self._names, operation.identity)
        await self._put(self._names.source_name, metadata, {})
        for each in others:
            await self._delete(f"{self._names.source_prefix}{each.host}", {})
        return await self._source_records()

    async def _source_records(self) -> tuple[SourceRecord, ...]:
        rows, _ = await blob_reads.list_blobs(
            self._container(), self._names.source_prefix, self._settings.page_size, read_page
        )
        return tuple(layout.read_source(row) for row in rows)

    async def _list(self) -> Listing:
        relisting = self.relisting
        relisting.begin()
        entries, server_time = await blob_reads.list_blobs(
            self._container(), self._names.prefix, self._settings.page_size, relisting.page
        )
        relisting.finish()
        return layout.listing_of(entries, server_time)

    async def _lease(self, operation: LeaseOperation, name: str) -> None:
        condition = unchanged(operation.etag)
        blob = self._blob(name)
        match operation:
            case Acquire(lease_id=lease_id):
                await BlobLeaseClient(blob, lease_id).acquire(self._settings.lease_s, **condition)
            case Renew(lease_id=lease_id):
                await BlobLeaseClient(blob, lease_id).renew(**condition)
            case Change(lease_id=lease_id, new_lease_id=new_lease_id):
                await BlobLeaseClient(blob, lease_id).change(new_lease_id, **condition)
            case Release(lease_id=lease_id):
                await BlobLeaseClient(blob, lease_id).release(**condition)
            case Break():
                await BlobLeaseClient(blob).break_lease(0, **condition)

    async def _join(self, operation: Join, name: str) -> None:
        lease = BlobLeaseClient(self._blob(name), operation.lease_id)
        try:
            await lease.acquire(self._settings.lease_s)
        except AzureError as problem:
            if self._refused(problem, name).refusal is not Refusal.MISSING:
                raise
        else:
            return
        # EXISTS: another process of this name was quicker, and one of the two gets the lease.
        with contextlib.suppress(LedgerError):
            await self._put(name, members.name_metadata(operation.name), ABSENT)
        await lease.acquire(self._settings.lease_s)

    async def _read_ownership(self, operation: ReadOwnership, name: str) -> Ownership | None:
        try:
            row = await blob_reads.read_properties(self._blob(name), name, operation.lease_id)
        except AzureError as problem:
            self._raise_unless_missing(problem, name)
            return None
        return layout.read_ownership(operation.partition, row)

    async def _read_checkpoint(self, operation: ReadCheckpoint, name: str) -> Checkpoint | None:
        version = self._settings.api_version
        try:
            row, body = await blob_reads.read_whole(self._blob(name), name, version)
        except AzureError as problem:
            self._raise_unless_missing(problem, name)
            return None
        return layout.read_checkpoint(operation.partition, row, body)

    async def _write_checkpoint(self, operation: WriteCheckpoint, name: str) -> str:
        condition = ABSENT if operation.etag is None else unchanged(operation.etag)
        metadata = layout.checkpoint_metadata(
            operation.position,
            operation.epoch,
            operation.nonce,
            operation.enqueued_at,
            operation.rewound_by,
            operation.begun_at,
        )
        if operation.keeps_body:
            return await self._set_metadata(name, metadata, None, condition)
        body = layout.body_of(operation.position, operation.state)
        if len(body) > STATE_LIMIT:
            raise Unfit(
                f"the state of partition '{operation.partition}' has {len(body)} bytes, and one "
                f"Put Blob takes {STATE_LIMIT}. Keep less in it."
            )
        return await self._put(name, metadata, condition, body)

    def _raise_unless_missing(self, problem: AzureError, name: str) -> None:
        if self._refused(problem, name).refusal is not Refusal.MISSING:
            raise problem

    def _blob(self, name: str) -> BlobClient:
        return self._container().get_blob_client(name)

    async def _put(
        self, name: str, metadata: dict[str, str], condition: Condition, body: bytes = b""
    ) -> str:
        """One Put Blob. `overwrite` leaves the condition to us."""
        try:
            written = await self._blob(name).upload_blob(
                body, length=len(body), overwrite=True, metadata=metadata, **condition
            )
        except AzureError as problem:
            refused = self._refused(problem, name)
            if condition is ABSENT and refused.refusal in (Refusal.EXISTS, Refusal.CHANGED):
                # The blob that must not be there is; some services name its lease instead.
                raise LedgerError(Refusal.EXISTS, str(refused)) from None
            raise
        return blob_reads.bare(str(written["etag"] or ""))

    async def _set_metadata(
        self, name: str, metadata: dict[str, str], lease_id: str | None, condition: Condition
    ) -> str:
        written = await self._blob(name).set_blob_metadata(metadata, lease=lease_id, **condition)
        return blob_reads.bare(str(written["etag"] or ""))

    async def _delete(self, name: str, conditions: Condition) -> None:
        try:
            await self._blob(name).delete_blob(**conditions)
        except AzureError as problem:
            self._raise_unless_missing(problem, name)
