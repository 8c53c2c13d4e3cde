"""How far a group is behind, asked by anybody: no member need live, and nothing is changed.

    estimate = await tidegate.estimate("group.yaml")
    print(estimate.total.lag.events, estimate.partitions)

Rules:
- One listing of the ledger, and of the source what waits behind each checkpoint. In a Cosmos
  container that is one small request a range, at a bounded rate; no lease is taken.
- What cannot be asked of a partition is unknown, and only that. There is no number that means
  something else.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tidegate.commands import wiring
from tidegate.lag import (
    UNKNOWN_LAG,
    Lag,
    TotalLag,
    in_feed,
    lag_from_start,
    lag_of,
    rough,
    total,
)
from tidegate.model import BEGINNING, Checkpoint, Listing, PartitionEnd, PartitionId
from tidegate.ports import List, SourceError
from tidegate.ports.lineage import FLAT, place_in
from tidegate.sources.choose import EndingSource
from tidegate.sources.start import Start

_UNITS_PER_S = 20.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is still to be handled."""

    partitions: Mapping[PartitionId, Lag]
    total: TotalLag
    # What asking has cost, where the source counts that.
    request_units: float = 0.0


async def estimate(
    file: str | Path | wiring.Setup, environment: Mapping[str, str] | None = None
) -> Estimate:
    """The lag of the group of a group file. Raises SettingsError, LedgerError and SourceError."""
    setup = file if isinstance(file, wiring.Setup) else _set_up(file, environment)
    async with AsyncExitStack() as stack:
        ledger = wiring.new_ledger(setup, is_member=False)
        stack.push_async_callback(ledger.close)
        listing = await ledger.perform(List())
        assert isinstance(listing, Listing)
        source = await wiring.open_source(setup, stack, lambda _: None)
        stack.push_async_callback(source.close)
        budget = getattr(source, "budget", None)
        if budget is not None:
            budget.bound(_UNITS_PER_S)
        spec = setup.group.spec.source
        tiling = spec.lineage.tiling(await source.partitions(), listing)
        lags: dict[PartitionId, Lag] = {}
        for partition in tiling.partitions:
            place = place_in(spec.lineage, tiling, listing, partition)
            lag = await _lag(source, partition, place, spec.start)
            if partition in tiling.unsettled:
                lag = rough(lag)
            lags[partition] = lag if spec.lineage is FLAT else in_feed(lag)
            if budget is not None:
                await asyncio.sleep(budget.wait_s(time.monotonic()))
        return Estimate(lags, total(lags.values()), budget.spent if budget is not None else 0.0)


def _set_up(file: str | Path, environment: Mapping[str, str] | None) -> wiring.Setup:
    known = os.environ if environment is None else environment
    return wiring.set_up(Path(file), known, runs_code=False)


async def _lag(
    source: EndingSource, partition: PartitionId, place: Checkpoint | None, start: Start
) -> Lag:
    try:
        end = await _end(source, partition, place, start)
    except SourceError:
        return UNKNOWN_LAG
    now = time.time()
    if place is None:
        return lag_from_start(
            start,
            end=end.sequence,
            begins_at=end.begins_at,
            end_enqueued_at=end.enqueued_at,
            now=now,
        )
    return lag_of(
        handled=place.position.sequence,
        end=end.sequence,
        begins_at=end.begins_at,
        handled_enqueued_at=place.enqueued_at,
        end_enqueued_at=end.enqueued_at,
        now=now,
    )


async def _end(
    source: EndingSource, partition: PartitionId, place: Checkpoint | None, start: Start
) -> PartitionEnd:
    """How far the partition has come; a container is asked behind a position."""
    ask = getattr(source, "end_behind", None)
    if ask is None:
        return await source.end(partition)
    behind = place.position if place is not None else None
    if behind is None and start.kind != "latest":
        behind = BEGINNING
    found = await ask(partition, behind)
    assert isinstance(found, PartitionEnd)
    return found
