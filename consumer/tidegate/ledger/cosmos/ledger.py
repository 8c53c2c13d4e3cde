"""The ledger in a container of Cosmos DB, over the official SDK.

Rules:
- Cosmos DB has no leases: each is part of its document, and every deed on one is a replace of the
  very version that it was decided on (If-Match). Where another was quicker the document is read and
  the deed is decided again, so two can never both be done on one version.
- A document that was seen before need not be read again before a deed. Nothing is refused by what
  was seen before: what would be is read first.
- A ledger belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from tidegate.ledger import layout
from tidegate.ledger.blob import place_of
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.charges import Charges
from tidegate.ledger.cosmos.deeds import Deed, content_of, do
from tidegate.ledger.cosmos.documents import (
    Content,
    blob_of,
    document_of,
    row_of,
)
from tidegate.ledger.cosmos.ids import Ids
from tidegate.ledger.cosmos.refusals import Spot, refusal_of
from tidegate.ledger.cosmos.requests import Item, LeaseContainer
from tidegate.ledger.cosmos.states import States
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.ledger.packing import Unfit, Unreadable
from tidegate.model import Checkpoint, Listing, Ownership, SourceRecord
from tidegate.ports import (
    CreateOwnership,
    LedgerError,
    List,
    Operation,
    Read,
    ReadCheckpoint,
    ReadOwnership,
    RecordSource,
    Refusal,
    Reply,
    WriteCheckpoint,
    WriteRoster,
)

# So often a deed is decided again because another was quicker.
_TRIES = 8
_ERASING_TIMES = 10


class CosmosLedger:
    """One group's ledger in a lease container."""

    def __init__(
        self, settings: CosmosSettings, names: GroupNames, charges: Charges | None = None
    ) -> None:
        self._settings = settings.checked()
        self._ids = Ids(names)
        self._names = names
        self._items = LeaseContainer(self._settings, charges)
        self._states = States(self._items, self._ids)
        # Documents as they were last seen.
        self._seen: dict[str, Item] = {}

    @property
    def charges(self) -> Charges:
        """What the lease container has cost."""
        return self._items.charges

    async def perform(self, operation: Operation) -> Reply:
        """The reply, or a LedgerError; within the time limit of the settings."""
        name = ""
        try:
            place = place_of(operation)
            name = self._ids.of(place) if place else ""
            async with asyncio.timeout(self._settings.timeout_s):
                return await self._do(operation, name)
        except Unfit as problem:
            raise LedgerError(Refusal.INVALID, f"not written: {problem}") from None
        except Unreadable as problem:
            message = f"the group cannot be listed: {problem}. Nothing was overwritten."
            if place is not None:
                message = layout.flaw(place, name, problem).problem
            raise LedgerError(Refusal.INVALID, message) from None
        except LedgerError:
            raise
        except Exception as problem:
            # Whatever an answer was, it ends this operation and nothing else. None of the texts of
            # these is safe to show, so none is kept as a cause.
            spot, is_read = Spot.of(self._settings, name), isinstance(operation, Read)
            raise refusal_of(problem, spot, is_read=is_read) from None

    async def erase(self) -> int:
        """Removes the group's documents, where no lease holds any; how many are left.

        Leases that are shared with another processor are that one's, and stay. Raises LedgerError.
        """
        try:
            async with asyncio.timeout(self._settings.timeout_s * _ERASING_TIMES):
                items = await self._items.below(self._ids.prefix)
                if any(self._is_held(item) for item in items):
                    return len(items)
                items += await self._items.below(self._ids.states_prefix)
                items += [
                    item
                    for item in await self._items.below(self._ids.source_prefix)
                    if item["id"] == self._ids.source
                ]
                gone = [await self._items.delete(item) for item in items]
        except LedgerError:
            raise
        except Exception as problem:
            spot = Spot.of(self._settings, self._ids.prefix)
            raise refusal_of(problem, spot, is_read=False) from None
        return gone.count(False)

    def _is_held(self, item: Item) -> bool:
        try:
            return blob_of(item).state(self._items.ages.of(item)).is_held
        except Unreadable:
            return False

    async def close(self) -> None:
        await self._items.close()

    async def _do(self, operation: Operation, name: str) -> Reply:
        match operation:
            case List():
                return await self._list()
            case ReadOwnership():
                return await self._read_ownership(operation, name)
            case ReadCheckpoint():
                return await self._read_checkpoint(operation, name)
            case RecordSource():
                return await self._record_source(operation)
        return await self._write(operation, name)

    # --- sources

    async def _record_source(self, operation: RecordSource) -> tuple[SourceRecord, ...]:
        items = await self._items.below(self._ids.source_prefix)
        own = next((each for each in items if each["id"] == self._ids.source), None)
        others = [each for each in items if each is not own]
        others = [each for each in others if each.get("identity") == operation.identity]
        if others and not operation.takes_over:
            return _records_of(items)
        if not others and own is not None and own.get("identity") == operation.identity:
            return _records_of(items)
        said = {"host": self._names.host.lower(), "identity": operation.identity}
        if own is None:
            await self._items.create({"id": self._ids.source, **said})
        else:
            await self._items.replace({**own, **said})
        for each in others:
            await self._items.delete(each)
        # Where another was quicker, what it wrote is what counts.
        return _records_of(await self._items.below(self._ids.source_prefix))

    # --- reading

    async def _list(self) -> Listing:
        items = await self._items.below(self._ids.prefix)
        self._seen = {str(item["id"]): item for item in items}
        entries = [self._entry(item) for item in items]
        return layout.listing_of(entries, self._items.server_time)

    def _entry(self, item: Item) -> layout.Entry | None:
        place = self._ids.place(str(item["id"]))
        if place is None:
            return None
        shown = self._names.of(place)
        try:
            age = self._items.ages.of(item)
            row = row_of(shown, blob_of(item), age)
        except Unreadable as problem:
            return layout.flaw(place, shown, problem)
        return layout.read_row(self._names, row)

    async def _fetch(self, name: str) -> Item | None:
        item = await self._items.read(name)
        if item is None:
            self._seen.pop(name, None)
        else:
            self._seen[name] = item
        return item

    async def _read_ownership(self, operation: ReadOwnership, name: str) -> Ownership | None:
        item = await self._fetch(name)
        if item is None:
            return None
        age = self._items.ages.of(item)
        blob = blob_of(item)
        if operation.lease_id is not None:
            blob.authorise(operation.lease_id, age)
        return layout.read_ownership(operation.partition, row_of(name, blob, age))

    async def _read_checkpoint(self, operation: ReadCheckpoint, name: str) -> Checkpoint | None:
        place = Place(Kind.CHECKPOINT, operation.partition)
        for _ in range(_TRIES):
            item = await self._fetch(name)
            if item is None:
                return None
            age = self._items.ages.of(item)
            blob = blob_of(item)
            body = await self._states.body_of(place, blob.content)
            if body is not None:
                return layout.read_checkpoint(operation.partition, row_of(name, blob, age), body)
        raise LedgerError(Refusal.BUSY, f"{name} is being written again and again: try later")

    # --- writing

    async def _write(self, operation: Operation, name: str) -> Reply:
        """Carries an operation out; a long state is written before it, and the one before after."""
        tag = uuid.uuid4().hex
        content = content_of(operation, tag)
        if not isinstance(operation, WriteCheckpoint):
            return (await self._insist(operation, name, content, tag))[0]
        place = Place(Kind.CHECKPOINT, operation.partition)
        if content is not None and content.parts:
            content = await self._states.put(place, content)
        try:
            reply, was = await self._insist(operation, name, content, tag)
        except LedgerError:
            # Only where it is certain that it was not done: other errors leave the parts.
            if content is not None:
                await self._states.drop(place, content)
            raise
        if was is not None and not operation.keeps_body:
            await self._states.drop(place, was)
        if content is not None and content.parts:
            await self._states.sweep(place, content)
        return reply

    async def _insist(
        self, operation: Operation, name: str, content: Content | None, tag: str
    ) -> tuple[Reply, Content | None]:
        """Decides the deed on the document as it is, until it was done on that very document.

        The reply, and what the document said before.
        """
        creates = _creates(operation)
        item, is_fresh = self._seen.get(name), False
        if item is None and not creates:
            item, is_fresh = await self._fetch(name), True
        for _ in range(_TRIES):
            try:
                deed, was = self._decide(operation, name, item, content, tag)
            except (LedgerError, Unreadable):
                if is_fresh:
                    raise
                # It was refused by what was seen before.
                item, is_fresh = await self._fetch(name), True
                continue
            if await self._carry_out(deed, name, item):
                return deed.reply, was
            item, is_fresh = await self._fetch(name), True
            if item is not None and item.get("tag") == tag:
                return tag, None  # done, and its reply was lost on the way
        raise LedgerError(Refusal.BUSY, f"{name} is being written again and again: try later")

    def _decide(
        self,
        operation: Operation,
        name: str,
        item: Item | None,
        content: Content | None,
        tag: str,
    ) -> tuple[Deed, Content | None]:
        """What to do, and what the document says before it."""
        if item is None:
            return do(operation, name, None, content, tag, self._settings.lease_s, 0.0), None
        age = self._items.ages.of(item)
        try:
            blob = blob_of(item)
        except Unreadable:
            if _creates(operation):
                raise LedgerError(Refusal.EXISTS, f"{name} is there already") from None
            raise
        was = blob.content
        assert isinstance(was, Content)
        return do(operation, name, blob, content, tag, self._settings.lease_s, age), was

    async def _carry_out(self, deed: Deed, name: str, item: Item | None) -> bool:
        """Whether the deed was done on that very document."""
        written: Item | None
        if deed.deletes:
            assert item is not None
            self._seen.pop(name, None)
            return await self._items.delete(item)
        if deed.blob is None:
            return True
        age = self._items.ages.of(item) if item is not None else 0.0
        document: dict[str, Any] = document_of(deed.blob, age, item)
        if item is None:
            written = await self._items.create(document)
        else:
            written = await self._items.replace(document)
        if written is None:
            return False
        self._seen[name] = written
        return True


def _creates(operation: Operation) -> bool:
    """Whether it is meant for where there is nothing yet."""
    match operation:
        case CreateOwnership() | WriteCheckpoint(etag=None) | WriteRoster(etag=""):
            return True
    return False


def _records_of(items: list[Item]) -> tuple[SourceRecord, ...]:
    return tuple(
        SourceRecord(
            str(item.get("host") or ""),
            str(item.get("identity") or ""),
            float(item.get("_ts") or 0.0),
        )
        for item in items
    )
