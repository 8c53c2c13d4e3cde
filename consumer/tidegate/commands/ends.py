"""Asks the source now and then how far our partitions have come, so that lag can be told."""

from __future__ import annotations

import asyncio
import time

from tidegate.ops.observer import EndKnown, Observer
from tidegate.ports import SourceError
from tidegate.runtime import Runtime
from tidegate.sources.choose import EndingSource

EVERY_S = 5.0


async def tell_ends(source: EndingSource, runtime: Runtime, observer: Observer) -> None:
    """For ever. What cannot be asked is not told."""
    while True:
        for partition in sorted(runtime.member.tenures):
            try:
                end = await source.end(partition)
            except SourceError:
                break  # the reader of the partition says why
            observer.hear(EndKnown(time.monotonic(), partition, end.sequence, end.enqueued_at))
        await asyncio.sleep(EVERY_S)
