"""Removes the ledger of a group that is gone, where its ConsumerGroup asks for that.

Rules:
- While a lease holds any of its blobs nothing is removed: somebody still reads by it.
- Only blobs whose names are those of a ledger's are removed, each as it was seen.
- Doing it twice is fine; what was removed meanwhile is removed.
"""

from __future__ import annotations

import asyncio

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError

from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob_reads import list_blobs
from tidegate.ledger.containers import Container
from tidegate.ledger.layout import GroupNames, Row
from tidegate.ledger.listing_xml import read_page
from tidegate.ledger.refusals import Spot, refusal_of

_AT_ONCE = 8
_TIMES = 10


async def erase(client: Container, blobs: BlobSettings, names: GroupNames) -> int:
    """How many blobs of the ledger are left. Raises LedgerError."""
    try:
        async with asyncio.timeout(blobs.timeout_s):
            rows, _ = await list_blobs(client, names.prefix, blobs.page_size, read_page)
            records, _ = await list_blobs(client, names.source_name, blobs.page_size, read_page)
        ours = [row for row in rows if names.place(row.name) is not None]
        ours += [row for row in records if row.name == names.source_name]
        if any(row.lease.is_held for row in ours):
            return len(ours)
        room = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.timeout(blobs.timeout_s * _TIMES):
            gone = await asyncio.gather(*(_remove(client, row, room) for row in ours))
    except Exception as problem:
        # Whatever an answer was, it ends this and nothing else. None of the texts of these is safe
        # to show, so none is kept as a cause.
        raise refusal_of(problem, Spot.of(blobs, names.prefix), is_read=False) from None
    return gone.count(False)


async def _remove(client: Container, row: Row, room: asyncio.Semaphore) -> bool:
    """Whether it is gone; one that has changed since it was seen is left for the next time."""
    async with room:
        try:
            await client.get_blob_client(row.name).delete_blob(
                etag=f'"{row.etag}"', match_condition=MatchConditions.IfNotModified
            )
        except HttpResponseError as problem:
            if problem.status_code == 404:
                return True
            if problem.status_code in (409, 412):
                return False
            raise
        return True
