"""The activity of homes, minute by minute, in plain Python: what pipeline.py does with Spark.

Both count the same readings the same way into the same blobs, so that members of the two kinds can
take partitions from each other in the middle of a minute. The blobs are in the storage account of
the connection string in STORAGE; docs/slices.md says how a page reads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from tidegate.ledger.access import BlobSettings
from tidegate.slices.blobs import SliceBlobs
from tidegate.slices.counting import Slices
from tidegate.slices.shape import Shape

SHAPE = Shape(
    key="home",
    kinds=("kind",),
    sums=("count", "alarms", "total"),
    least=("least",),
    most=("most", "alarm_at", "last_at"),
    last=("last",),
    flag="alarms",
)
NAME = re.compile(r"[ -~]{1,64}")
LARGEST = 1_000_000_000
DAY_S = 86_400

_opened: list[SliceBlobs] = []


def activity() -> Slices:
    """The slices of all homes, in container `slices` as the pipeline's are."""
    if not _opened:
        settings = BlobSettings("slices", connection_string=os.environ["STORAGE"], create=True)
        _opened.append(SliceBlobs(settings, "home-security/activity"))
    return Slices("activity", SHAPE, _opened[0])


async def handle(events: Sequence[Any], context: Any) -> None:
    """Counts the readings of a batch."""
    counts = await activity().of(context, events)
    for event in events:
        reading = reading_of(event)
        if reading is not None:
            home, kind, value, at, alarm = reading
            at_ms = int(at * 1000)
            values = (1, int(alarm), value, value, value, at_ms if alarm else None, at_ms, value)
            counts.add(event, at, (home, kind), values)
    await counts.write()


def reading_of(event: Any) -> tuple[str, str, int, float, bool] | None:
    """Home, kind, value, time and alarm; None where something of it cannot be."""
    reading = event.body_as_json()
    home, kind = reading.get("home"), reading.get("kind")
    value, at = reading.get("value"), reading.get("at")
    if not (isinstance(home, str) and isinstance(kind, str)):
        return None
    if not (isinstance(value, int) and isinstance(at, int | float)):
        return None
    is_usable = (
        NAME.fullmatch(home)
        and NAME.fullmatch(kind)
        and abs(value) <= LARGEST
        # A sensor whose clock is far off would open slices of another day.
        and event.enqueued_at - DAY_S <= at <= event.enqueued_at + DAY_S
    )
    return (home, kind, value, at, reading.get("alarm") is True) if is_usable else None


async def on_time(context: Any) -> None:
    """Removes what newer blobs have replaced."""
    await activity().tidy(context)


async def on_stop() -> None:
    """Lets go of connections."""
    while _opened:
        await _opened.pop().close()
