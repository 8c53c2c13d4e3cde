"""Readings of homes, counted and written by the scenario's own handler: slices as they really are.

Rules: each partition goes on where it stood, as a member's does, so that what is written later adds
to what was written before. A home's partition follows from its name.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import activity
from support.slice_store import MemoryBlobs
from tidegate.delivery.state import State
from tidegate.model import Position
from tidegate.slices.blobs import SliceBlobs

_STATE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor said."""

    home: str
    kind: str
    value: int
    at: float
    alarm: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """It as an event of a partition, as the handler sees it."""

    reading: Reading
    sequence_number: int

    @property
    def enqueued_at(self) -> float:
        return self.reading.at

    def body_as_json(self) -> Any:
        each = self.reading
        told = {"home": each.home, "kind": each.kind, "value": each.value}
        return json.loads(json.dumps(told | {"alarm": each.alarm, "at": each.at}))


class ActivityWriter:
    """See the module. It writes to the account of a connection string, or to blobs in memory."""

    def __init__(self, place: str | MemoryBlobs, partitions: int = 4) -> None:
        self._place = place
        self._contexts = [
            SimpleNamespace(
                partition=str(number),
                position=Position("-1", -1),
                checkpointed=Position("-1", -1),
                state=State(str(number), None, _STATE_BYTES),
                memory={},
            )
            for number in range(partitions)
        ]

    def partition_of(self, home: str) -> int:
        return zlib.crc32(home.encode()) % len(self._contexts)

    def write(self, readings: Iterable[Reading]) -> None:
        """Readings in the order of their times."""
        asyncio.run(self.put(list(readings)))

    async def put(self, readings: Sequence[Reading]) -> None:
        """The same, where a loop runs already."""
        if isinstance(self._place, str):
            os.environ["STORAGE"] = self._place
        else:
            activity._opened[:] = [cast(SliceBlobs, self._place)]
        shares: dict[int, list[Reading]] = {}
        for each in readings:
            shares.setdefault(self.partition_of(each.home), []).append(each)
        try:
            async with asyncio.TaskGroup() as tasks:
                for partition, share in shares.items():
                    tasks.create_task(self._handle(self._contexts[partition], share))
        finally:
            await activity.on_stop()

    async def _handle(self, context: Any, readings: Sequence[Reading]) -> None:
        begin = context.position.sequence + 1
        events = [Received(each, begin + at) for at, each in enumerate(readings)]
        await activity.handle(events, context)
        number = events[-1].sequence_number
        context.position = context.checkpointed = Position(str(number), number)
        context.state.commit()
        await activity.on_time(context)
