"""What a Cosmos container says of its partitions, for groups whose members cannot say it.

Rules:
- Which partitions there are the ledger says, with the ranges of the service: see ports/lineage.py.
- What waits in one is asked behind its checkpoint: one small request for each of its ranges, so
  that a look costs about a request unit a range, and over time no more than `UNITS_PER_S`.
"""

from __future__ import annotations

import asyncio
import time

from tidegate.model import BEGINNING, Listing, PartitionEnd, PartitionId
from tidegate.ports import SourceError, lost_position
from tidegate.ports.lineage import place_in
from tidegate.sources.cosmos.source import CosmosSource
from tidegate.sources.start import Start
from tidegate_operator.model import Ends

UNITS_PER_S = 20.0
_NOTHING = Listing({}, {}, {}, None, 0.0)


async def ends_of_container(
    source: CosmosSource, known: tuple[PartitionId, ...], listing: Listing | None, start: Start
) -> Ends:
    """One round of questions."""
    seen = listing or _NOTHING
    source.budget.bound(UNITS_PER_S)
    tiling = source.lineage.tiling(known, seen)
    turn = asyncio.Semaphore(1)
    lost: dict[PartitionId, str] = {}

    async def end(partition: PartitionId) -> PartitionEnd | None:
        begun = place_in(source.lineage, tiling, seen, partition)
        behind = begun.position if begun is not None else None
        if behind is None and start.kind != "latest":
            behind = BEGINNING
        async with turn:
            try:
                found = await source.end_behind(partition, behind)
            except SourceError as error:
                if words := lost_position(str(error)):
                    lost[partition] = words
                return None
            await asyncio.sleep(source.budget.wait_s(time.monotonic()))
            return found

    ends = await asyncio.gather(*map(end, tiling.partitions))
    return Ends(dict(zip(tiling.partitions, ends, strict=True)), known=known, lost=lost)
